package textio

import (
	"strings"

	"pipe/pipeline/schema"
)

// Format is a kind of text file.
type Format string

// The formats.
const (
	CSV   Format = "csv"   // RFC 4180, and what is told by Options
	JSONL Format = "jsonl" // one JSON object a line
)

// FormatOf gives the format that a file's name means: .csv, .tsv (CSV with tabs), .jsonl, .ndjson, each also with .gz or .zst
// behind it; "" if it is none.
func FormatOf(name string) Format {
	switch extension(name) {
	case ".csv", ".tsv":
		return CSV
	case ".jsonl", ".ndjson":
		return JSONL
	}
	return ""
}

// Options say how a file is to be read. The zero value reads what WriteCSV and WriteJSONL write, and infers every column.
type Options struct {
	Format Format // "": FormatOf the name

	// Columns are the declared ones, by name. A required one may not hold NULL.
	Columns schema.Schema
	// Infer says that Columns may be some of the file's: the others are inferred, and each of Columns must be there. Without it
	// they are all: any other is an error, and an optional one that the file lacks is NULL. Without any Columns it is always so.
	Infer bool

	// Null are the words that mean NULL. In CSV the nil slice means the empty field, and words count in fields without quotes
	// only, unless NullQuoted; where it is set, "" has to be in it to count. In JSON they are strings, beside null.
	Null       []string
	NullQuoted bool

	NoHeader  bool // CSV: the first record is a row; columns are Columns in their order, or column1, column2 ...
	Delimiter rune // CSV: 0 is a comma, or a tab where the name says .tsv
	Quote     rune // CSV: 0 is ", and NoQuote none at all
	Skip      int  // lines before the header, or before the first record

	BatchRows int    // rows of a batch at most; 0 is 65,536
	Threads   int    // goroutines that parse; 0 is the number of cores
	Scratch   string // folder for the copy of an input that must be read twice and cannot be; "" is the system's

	// Tests make these small; 0 is the constant below.
	chunk, record, memory int
}

// NoQuote is the Options.Quote of files in which quotes are letters as any other.
const NoQuote rune = -1

const (
	defaultBatchRows = 65_536
	chunkBytes       = 2 << 20  // text that one goroutine parses at a time; a batch never spans two
	recordBytes      = 64 << 20 // the longest record; a quote that is never closed stops here
	memoryBytes      = 64 << 20 // a copy of an input up to this stays in memory
)

// extension gives the suffix that names the format, the one before .gz and .zst, with its dot and in lower case.
func extension(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// nullWords are the words that mean NULL. Nearly every value is asked for, and most are told apart by their first byte.
type nullWords struct {
	words  map[string]bool
	starts [256]bool
	empty  bool
}

// newNullWords gives nil for nil, which has no words.
func newNullWords(list []string) *nullWords {
	if list == nil {
		return nil
	}
	w := &nullWords{words: make(map[string]bool, len(list))}
	for _, x := range list {
		if x == "" {
			w.empty = true
			continue
		}
		w.words[x], w.starts[x[0]] = true, true
	}
	return w
}

func (w *nullWords) has(s []byte) bool {
	switch {
	case w == nil:
		return false
	case len(s) == 0:
		return w.empty
	}
	return w.starts[s[0]] && w.words[string(s)]
}
