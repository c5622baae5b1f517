package iceberg

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// A pipe cannot be synced, and a folder that is gone cannot be either: that Close fails shows that both are done, and that a sync
// that failed is told.
func TestFilesAreSyncedBeforeTheyCount(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux refuses to sync a pipe")
		return
	}
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end.Close() }()
	f, err := fileIO{}.Create("file://" + pipe)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err == nil {
		t.Error("Close did not sync the file")
	}
	if err := (fileIO{}).WriteFile("file://"+pipe, []byte("{}")); err == nil {
		t.Error("WriteFile did not sync the file")
	}
	if err := (&noted{}).WriteFile("file://"+pipe, []byte("{}")); err == nil {
		t.Error("WriteFile of a write did not sync the file")
	}
	gone := filepath.Join(dir, "a", "b")
	f, err = (&noted{}).Create("file:" + filepath.Join(gone, "data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err == nil {
		t.Error("Close did not sync the folder")
	}
}

func TestLocal(t *testing.T) {
	for location, want := range map[string]string{
		"file:///a/b c/ü":       "/a/b c/ü",
		"file:/a/b":             "/a/b",
		"/a/b":                  "/a/b",
		"file:///a/k=x%2Fy+z/f": "/a/k=x%2Fy+z/f",
	} {
		if got := local(location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}
