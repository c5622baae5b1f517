package arch

// layers says, for each package of the module, which other packages of the module it may import. A package that is not here is
// an error: whoever adds one decides where it stands. Test files are held to layers plus testLayers.
var layers = map[string][]string{
	// What everything stands on.
	"internal/diag":      {},
	"internal/failpoint": {},
	"internal/fsx":       {"internal/diag"},

	// The definition, the two names and the record: pure.
	"pipeline/schema":      {"internal/diag"},
	"pipeline/fingerprint": {},
	"pipeline":             {"internal/diag", "pipeline/schema"},
	"lockfile":             {"internal/diag", "pipeline/fingerprint"},

	// Rows.
	"internal/tabledigest": {"pipeline/fingerprint", "pipeline/schema"},
	"internal/conform":     {"internal/diag", "pipeline/schema"},
	"internal/textio":      {"internal/diag", "pipeline/schema", "sinks"},

	// The world outside: files, git, tables.
	"internal/files": {"internal/diag", "internal/failpoint", "internal/fsx", "pipeline/fingerprint"},
	"internal/repo":  {"internal/diag", "internal/fsx", "lockfile", "pipeline/fingerprint", "pipeline/plan", "sinks"},
	"sinks":          {"internal/diag", "pipeline/fingerprint", "pipeline/schema"},
	"sinks/memory":   {"internal/diag", "pipeline/fingerprint", "pipeline/schema", "sinks"},
	"sinks/iceberg":  {"internal/diag", "internal/failpoint", "internal/fsx", "pipeline/fingerprint", "pipeline/schema", "sinks"},
	"sinks/sinktest": {"internal/tabledigest", "pipeline/fingerprint", "pipeline/schema", "sinks"},

	// Kinds of stages: they see a task, never the lock, a ref or a sink.
	"stages":          {"internal/diag", "pipeline", "pipeline/schema"},
	"stages/command":  {"internal/conform", "internal/diag", "internal/fsx", "internal/textio", "pipeline", "pipeline/schema", "stages"},
	"stages/generate": {"internal/diag", "pipeline", "pipeline/schema", "stages"},

	// Deciding (pure), then doing.
	"pipeline/plan": {"internal/diag", "lockfile", "pipeline", "pipeline/fingerprint", "pipeline/schema", "sinks"},
	"pipeline/run": {
		"internal/conform", "internal/diag", "internal/failpoint", "internal/files", "internal/fsx", "internal/tabledigest",
		"lockfile", "pipeline", "pipeline/fingerprint", "pipeline/plan", "pipeline/schema", "sinks", "stages",
	},

	// The face.
	"internal/view": {
		"internal/diag", "lockfile", "pipeline", "pipeline/fingerprint", "pipeline/plan", "pipeline/run", "pipeline/schema", "sinks",
		"internal/textio",
	},
	"internal/cli": {
		"internal/diag", "internal/files", "internal/fsx", "internal/repo", "internal/textio", "internal/view", "lockfile", "pipeline",
		"pipeline/fingerprint", "pipeline/plan", "pipeline/run", "pipeline/schema", "sinks", "sinks/iceberg", "sinks/memory", "stages",
		"stages/command", "stages/generate",
	},
	"cmd/pipe":     {"cmd/pipe/app", "internal/cli", "stages"},
	"cmd/pipe/app": {"internal/cli", "stages"},

	// Beside the program.
	"internal/arch": {},
	"examples":      {},
	"bench":         {},
	"bench/plain":   {},
	"bench/pqplain": {"bench/plain"},
	"bench/pqwrite": {"bench/plain", "internal/tabledigest", "pipeline", "sinks", "sinks/iceberg", "stages", "stages/generate"},
	"e2e/check":     {},
	"e2e/soak":      {},
}

// testLayers says what the test files of a package may import beside that.
var testLayers = map[string][]string{
	"internal/cli":         {"internal/failpoint", "internal/tabledigest", "sinks/sinktest", "cmd/pipe/app"},
	"internal/conform":     {"sinks"},
	"internal/files":       {"internal/failpoint"},
	"internal/tabledigest": {"sinks"},
	"internal/textio":      {"internal/tabledigest"},
	"pipeline/plan":        {"sinks/memory"},
	"pipeline/run":         {"internal/repo", "sinks/memory", "sinks/iceberg", "stages/command", "stages/generate"},
	"sinks/iceberg":        {"internal/tabledigest", "sinks/sinktest"},
	"sinks/memory":         {"sinks/sinktest"},
	"stages":               {"stages/generate"},
	"stages/command":       {"sinks"},
	"stages/generate":      {"internal/tabledigest", "sinks"},
}

// pure packages decide, name and record. They are given what they look at, so that a preview and a run cannot differ: none of them
// may import impure, not even for a type.
var pure = []string{"pipeline", "pipeline/schema", "pipeline/fingerprint", "pipeline/plan", "lockfile", "internal/tabledigest"}

// impure are packages of the standard library through which the world comes in; what lies below one counts too.
var impure = []string{"os", "net", "time", "syscall", "io/ioutil", "path/filepath", "math/rand", "crypto/rand", "log", "runtime/debug"}

// homes says in which package trees a third-party module may be named by code that is not a test. A module that is not here is an
// error: it has a price, and somebody should say where it is paid.
var homes = map[string][]string{
	"github.com/BurntSushi/toml":      {"pipeline"},
	"github.com/DataDog/zstd":         {"sinks/iceberg"},
	"github.com/apache/arrow-go":      {"sinks", "stages", "pipeline/run", "internal/cli", "internal/conform", "internal/tabledigest", "internal/textio", "internal/view", "bench"},
	"github.com/apache/iceberg-go":    {"sinks/iceberg"},
	"github.com/bmatcuk/doublestar":   {"internal/files", "internal/view", "pipeline"},
	"github.com/brianvoe/gofakeit":    {"stages/generate"},
	"github.com/go-git/go-billy":      {"internal/repo"},
	"github.com/go-git/go-git":        {"internal/repo"},
	"github.com/goccy/go-json":        {"internal/textio"},
	"github.com/gofrs/flock":          {"internal/fsx"},
	"github.com/google/uuid":          {"sinks/iceberg"},
	"github.com/klauspost/compress":   {"internal/textio", "stages/command"},
	"github.com/rs/zerolog":           {"internal/cli", "internal/view"},
	"github.com/spf13/cobra":          {"internal/cli"},
	"github.com/spf13/pflag":          {"internal/cli"},
	"github.com/zeebo/xxh3":           {"internal/tabledigest", "stages/generate"},
	"golang.org/x/sync":               {"internal/files", "internal/textio", "pipeline/run", "sinks/iceberg", "stages"},
	"golang.org/x/sys":                {"internal/files", "internal/fsx", "stages/command"},
	"golang.org/x/term":               {"internal/cli", "internal/view"},
	"gopkg.in/yaml.v3":                {"pipeline", "internal/cli"}, // cli: pipe.local.yaml
	"modernc.org/sqlite":              {"sinks/iceberg"},
	"github.com/uptrace/bun":          {"sinks/iceberg"},
	"github.com/google/go-cmp":        {"sinks/sinktest"}, // the rest is for tests
	"github.com/rogpeppe/go-internal": {},
	"pgregory.net/rapid":              {"sinks/sinktest"},
}

// exactHomes are homes that mean the package alone, not what lies below it.
var exactHomes = map[string]bool{"pipeline": true}

// inits are the files that may have a func init, and why nothing else will do.
var inits = map[string]string{
	"sinks/iceberg/codec_cgo.go": "Parquet's codecs are a map of the library's that is read without a lock",
}

// A ban is a name that only some packages may use.
type ban struct {
	pkg   string   // import path
	names []string // empty: the import itself
	in    []string // package trees that may
	why   string
}

var bans = []ban{
	{"fmt", []string{"Print", "Printf", "Println"}, []string{"cmd", "bench", "e2e"}, "print through the streams that internal/cli was given"},
	{"os", []string{"Exit"}, []string{"cmd/pipe", "bench", "e2e"}, "only main ends the process"},
	{"os", []string{"Stdout", "Stderr", "Stdin"}, []string{"cmd/pipe", "bench", "e2e"}, "only main names the process's streams"},
	{"log", nil, []string{"internal/cli", "bench", "e2e"}, "libraries return errors and emit events"},
	{"log/slog", nil, []string{"internal/cli"}, "libraries return errors and emit events"},
	{"time", []string{"Now", "Since", "Until"}, []string{"cmd/pipe", "internal/cli", "internal/view", "bench", "e2e"}, "the clock is a now field of the package's own"},
	{"context", []string{"Background", "TO" + "DO"}, []string{"cmd/pipe", "bench", "e2e"}, "only main makes a context"},
}
