package pipeline_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pipe/internal/diag"
	"pipe/pipeline"
)

var update = flag.Bool("update", false, "write what Load says into testdata")

// told gives errors as a user reads them.
func told(list diag.List) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.Error() + "\n")
		if s := e.Snippet(); s != "" {
			b.WriteString(s + "\n")
		}
		if e.Hint != "" {
			b.WriteString("hint: " + e.Hint + "\n")
		}
	}
	return b.String()
}

// TestErrors reads each testdata/errors/*.txtar: a project, and in "want" all that Load says of it, errors first, then warnings.
// A line "crlf" in the comment gives the files CRLF and a byte order mark.
func TestErrors(t *testing.T) {
	names, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			ar := txtar.Parse(data)
			fsys := fstest.MapFS{}
			want, at := "", -1
			for i, f := range ar.Files {
				if f.Name == "want" {
					want, at = string(f.Data), i
					continue
				}
				text := string(f.Data)
				if strings.Contains(string(ar.Comment), "crlf\n") {
					text = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
				}
				text = strings.ReplaceAll(text, "<NUL>", "\x00")
				text = strings.ReplaceAll(text, "<FF>", "\xff")
				fsys[f.Name] = &fstest.MapFile{Data: []byte(text)}
			}
			g, err := pipeline.Load(fsys, "pipeline.yaml")
			got := told(diag.All(err))
			if code := diag.ExitOf(err); err != nil && code != diag.Usage {
				t.Errorf("exit status %d, want 2", code)
			}
			if g != nil && len(g.Warn) > 0 {
				got += "warnings:\n" + told(g.Warn)
			}
			if *update {
				if at < 0 {
					ar.Files = append(ar.Files, txtar.File{Name: "want"})
					at = len(ar.Files) - 1
				}
				ar.Files[at].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
