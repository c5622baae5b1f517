package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pipe/internal/diag"
	"pipe/internal/repo"
)

func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// real gives a temporary folder by the name that the system itself uses.
func real(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func wantError(t *testing.T, err error, exit diag.Exit, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	e := diag.All(err)[0]
	if e.Exit != exit {
		t.Errorf("exit status %d, want %d", e.Exit, exit)
	}
	text := e.Error() + "\nhint: " + e.Hint
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("error %q does not say %q", text, p)
		}
	}
}

func TestRootIsFoundFromAFolderBelow(t *testing.T) {
	dir := real(t)
	write(t, "stages: {}\n", dir, "pipeline.yaml")
	below := filepath.Join(dir, "a", "b")
	write(t, "", below, "x")
	if got, err := repo.FindRoot(below); err != nil || got != dir {
		t.Fatalf("FindRoot = %q, %v; want %q", got, err, dir)
	}
}

func TestNoPipelineIsAUsageError(t *testing.T) {
	dir := real(t)
	_, err := repo.FindRoot(dir)
	wantError(t, err, diag.Usage, "no pipeline.yaml in "+dir, "pipe init")
}

func TestANamedFolderIsNotClimbedOutOf(t *testing.T) {
	dir := real(t)
	write(t, "stages: {}\n", dir, "pipeline.yaml")
	file := write(t, "", dir, "sub", "file")
	_, err := repo.RootAt(filepath.Join(dir, "sub"))
	wantError(t, err, diag.Usage, "no pipeline.yaml in ")
	_, err = repo.RootAt(filepath.Join(dir, "nowhere"))
	wantError(t, err, diag.Usage, "no such folder: ")
	_, err = repo.RootAt(file)
	wantError(t, err, diag.Usage, "is a file")
	if got, err := repo.RootAt(dir); err != nil || got != dir {
		t.Fatalf("RootAt = %q, %v", got, err)
	}
}

func open(t *testing.T, root string) repo.Layout {
	t.Helper()
	l, err := repo.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestObservingMakesNothing(t *testing.T) {
	dir := real(t)
	l := open(t, dir)
	if l.ID() != "" {
		t.Error("an id before there is a project")
	}
	if err := l.CheckMoved(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

func TestPrepareHidesTheFolderFromGitAndKeepsTheID(t *testing.T) {
	dir := real(t)
	l := open(t, dir)
	first, err := l.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 32 {
		t.Errorf("id %q, want 32 hex digits", first)
	}
	again, err := l.Prepare()
	if err != nil || again != first {
		t.Fatalf("second Prepare = %q, %v; want %q", again, err, first)
	}
	if data, err := os.ReadFile(filepath.Join(dir, ".pipe", ".gitignore")); err != nil || string(data) != "*\n" {
		t.Fatalf(".gitignore = %q, %v", data, err)
	}
	other, err := open(t, real(t)).Prepare()
	if err != nil || other == first {
		t.Fatalf("another project has the id %q, %v", other, err)
	}
}

func TestProcessesThatPrepareAtOnceAgreeOnTheID(t *testing.T) {
	dir := real(t)
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			id, err := open(t, dir).Prepare()
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("ids differ: %q", ids)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".pipe", "project.*"))
	if err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

func TestOneProjectThroughALinkIsNotMoved(t *testing.T) {
	dir := real(t)
	project := filepath.Join(dir, "project")
	write(t, "stages: {}\n", project, "pipeline.yaml")
	if _, err := open(t, project).Prepare(); err != nil {
		t.Fatal(err)
	}
	write(t, "", project, ".pipe", "catalog.db")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(project, link); err != nil {
		t.Fatal(err)
	}
	if err := open(t, link).CheckMoved(); err != nil {
		t.Fatal(err)
	}
}

func TestAMovedFolderSaysWhatToDo(t *testing.T) {
	dir := real(t)
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	write(t, "stages: {}\n", before, "pipeline.yaml")
	if _, err := open(t, before).Prepare(); err != nil {
		t.Fatal(err)
	}

	// Without tables nothing names the folder, so that a move costs nothing.
	if err := os.Rename(before, after); err != nil {
		t.Fatal(err)
	}
	if err := open(t, after).CheckMoved(); err != nil {
		t.Fatalf("moved before the first table: %v", err)
	}
	if err := os.Rename(after, before); err != nil {
		t.Fatal(err)
	}

	write(t, "", before, ".pipe", "catalog.db")
	if err := os.Rename(before, after); err != nil {
		t.Fatal(err)
	}
	err := open(t, after).CheckMoved()
	wantError(t, err, diag.Usage, "moved here from "+before, "ln -s "+after+" "+before)
	if _, err := open(t, after).Prepare(); err == nil {
		t.Fatal("Prepare took a moved folder over")
	}

	// The hint works.
	if err := os.Symlink(after, before); err != nil {
		t.Fatal(err)
	}
	if err := open(t, after).CheckMoved(); err != nil {
		t.Fatalf("after the hint: %v", err)
	}
}

func TestACopiedFolderSaysWhatToDo(t *testing.T) {
	dir := real(t)
	original, second := filepath.Join(dir, "original"), filepath.Join(dir, "second")
	write(t, "stages: {}\n", original, "pipeline.yaml")
	if _, err := open(t, original).Prepare(); err != nil {
		t.Fatal(err)
	}
	write(t, "", original, ".pipe", "catalog.db")
	if err := os.CopyFS(second, os.DirFS(original)); err != nil {
		t.Fatal(err)
	}
	wantError(t, open(t, second).CheckMoved(), diag.Usage, "copy of "+original, "rm -r "+second+"/.pipe")
	if err := open(t, original).CheckMoved(); err != nil {
		t.Fatalf("the original: %v", err)
	}
}

func TestAnUnwritableProjectIsABrokenEnvironment(t *testing.T) {
	dir := real(t)
	write(t, "a file in the folder's place\n", dir, ".pipe")
	_, err := open(t, dir).Prepare()
	wantError(t, err, diag.Broken, ".pipe")
}
