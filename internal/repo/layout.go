package repo

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/diag"
	"pipe/internal/fsx"
)

// Names of the files that make a project.
const (
	PipelineFile = "pipeline.yaml"
	LockFile     = "pipeline.lock"
	LocalFile    = "pipe.local.yaml"
	// Folder holds everything that git does not keep.
	Folder = ".pipe"
)

// FindRoot looks for pipeline.yaml in start and then in each folder above it, and gives the folder that holds it. start may be
// relative. The error, if none does, has exit status 2.
func FindRoot(start string) (string, error) {
	abs, err := filepath.Abs(start)
	if err != nil {
		return "", &diag.Error{Exit: diag.Broken, Msg: "the current folder is not readable: " + plain(err), Err: err}
	}
	for dir := abs; ; {
		if isFile(filepath.Join(dir, PipelineFile)) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", diag.Errorf(diag.Pos{}, "no %s in %s or in a folder above it", PipelineFile, abs).
				With("pipe init writes a small project to start from")
		}
		dir = up
	}
}

// RootAt gives dir as the root, without looking further up: dir was named by the user (-C, PIPE_DIR), and climbing from there could
// reach a project that was not meant.
func RootAt(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &diag.Error{Exit: diag.Broken, Msg: "the current folder is not readable: " + plain(err), Err: err}
	}
	switch st, err := os.Stat(abs); {
	case errors.Is(err, fs.ErrNotExist):
		return "", diag.Errorf(diag.Pos{}, "no such folder: %s", dir)
	case err != nil:
		return "", diag.Errorf(diag.Pos{}, "%s: %s", dir, plain(err))
	case !st.IsDir():
		return "", diag.Errorf(diag.Pos{}, "%s is a file, expected a project's folder", dir)
	}
	if !isFile(filepath.Join(abs, PipelineFile)) {
		return "", diag.Errorf(diag.Pos{}, "no %s in %s", PipelineFile, dir).With("pipe -C %s init writes a small project there", dir)
	}
	return abs, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

// Layout is a project's folder and the places inside it. Root is absolute and free of symbolic links, so that one project has one
// name, however it was reached.
type Layout struct {
	Root string
}

// Open gives the layout of the project in root. It creates nothing.
func Open(root string) (Layout, error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Layout{}, diag.Errorf(diag.Pos{}, "%s: %s", root, plain(err))
	}
	return Layout{Root: abs}, nil
}

// Dir is the .pipe folder.
func (l Layout) Dir() string { return filepath.Join(l.Root, Folder) }

// Catalog is the SQLite file of the default sink.
func (l Layout) Catalog() string { return filepath.Join(l.Dir(), "catalog.db") }

// Warehouse is the folder of the default sink's tables.
func (l Layout) Warehouse() string { return filepath.Join(l.Dir(), "warehouse") }

// Cache is the folder of what can be computed again: digests of files, tables' metadata, file outs by digest.
func (l Layout) Cache() string { return filepath.Join(l.Dir(), "cache") }

// SchemaFile is the JSON Schema of pipeline.yaml for editors.
func (l Layout) SchemaFile() string { return filepath.Join(l.Dir(), "pipeline.schema.json") }

func (l Layout) rootFile() string    { return filepath.Join(l.Dir(), "root") }
func (l Layout) projectFile() string { return filepath.Join(l.Dir(), "project") }

// CheckMoved reports, as an error with exit status 2, a project folder that was moved or copied since its tables were made: their
// metadata names files by absolute path. A link at the old place that leads to the new one is as good as not having moved.
func (l Layout) CheckMoved() error {
	data, err := os.ReadFile(l.rootFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &diag.Error{Exit: diag.Broken, Msg: l.rel(l.rootFile()) + ": " + plain(err), Err: err}
	}
	old := strings.TrimSuffix(string(data), "\n")
	if old == l.Root || !l.hasTables() {
		return nil
	}
	there, err := filepath.EvalSymlinks(old)
	if err == nil && there == l.Root {
		return nil
	}
	// A copy leaves the original with its .pipe; where only an empty or other folder is, the project was moved.
	if err == nil && exists(filepath.Join(old, Folder, "root")) {
		return diag.Errorf(diag.Pos{}, "this folder is a copy of %s, and the tables in its %s are still those of the original", old, Folder).
			With("rm -r %s makes it a project of its own, whose tables are made anew by pipe repro", quote(l.Dir()))
	}
	if err == nil {
		return diag.Errorf(diag.Pos{}, "this project was moved here from %s, and its tables name their files by that path", old).
			With("move it back (something else is at %s now), or rm -r %s to make its tables anew", old, quote(l.Dir()))
	}
	return diag.Errorf(diag.Pos{}, "this project was moved here from %s, and its tables name their files by that path", old).
		With("ln -s %s %s keeps them readable; or move the folder back", quote(l.Root), quote(old))
}

// hasTables tells whether anything in .pipe holds absolute paths: before the first table there is nothing to protect.
func (l Layout) hasTables() bool {
	return exists(l.Catalog()) || exists(l.Warehouse()) || exists(filepath.Join(l.Dir(), "delta"))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ID is the project's random name, "" before Prepare.
func (l Layout) ID() string {
	data, err := os.ReadFile(l.projectFile())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Prepare makes .pipe with what every run needs in it: the .gitignore that hides the folder from git, the record of the root, and
// the project's random id, which it returns. It may be called by two processes at once; both get the same id.
func (l Layout) Prepare() (id string, err error) {
	if err := l.CheckMoved(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(l.Dir(), 0o777); err != nil {
		return "", l.unwritable(err)
	}
	// First, so that git never sees the folder without it.
	ignore := filepath.Join(l.Dir(), ".gitignore")
	if !exists(ignore) {
		if err := fsx.WriteAtomic(ignore, []byte("*\n"), 0o666); err != nil {
			return "", l.unwritable(err)
		}
	}
	if data, err := os.ReadFile(l.rootFile()); err != nil || string(data) != l.Root+"\n" {
		if err := fsx.WriteAtomic(l.rootFile(), []byte(l.Root+"\n"), 0o666); err != nil {
			return "", l.unwritable(err)
		}
	}
	if id := l.ID(); id != "" {
		return id, nil
	}
	if err := l.makeID(); err != nil {
		return "", l.unwritable(err)
	}
	return l.ID(), nil
}

// makeID writes the id under a name of its own and links it into place: a link fails where another process was first, so that an id
// that was seen never changes.
func (l Layout) makeID() error {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return fmt.Errorf("random numbers: %w", err)
	}
	own := l.projectFile() + "." + hex.EncodeToString(raw)
	if err := fsx.WriteAtomic(own, []byte(hex.EncodeToString(raw)+"\n"), 0o666); err != nil {
		return err
	}
	defer func() { _ = os.Remove(own) }()
	if err := os.Link(own, l.projectFile()); err != nil && l.ID() == "" {
		// No links on this file system, or a torn file of old: the last one wins, which only a race could notice.
		return os.Rename(own, l.projectFile())
	}
	return fsx.SyncDir(l.Dir())
}

func (l Layout) unwritable(err error) error {
	return &diag.Error{Exit: diag.Broken, Msg: fsx.Explain(err, l.rel(l.Dir())), Err: err}
}

func (l Layout) rel(path string) string {
	if r, err := filepath.Rel(l.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}

// plain gives the reason of a file error without the operation and the path, which the caller says better.
func plain(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// quote makes a path safe to paste into a shell.
func quote(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,", r))
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
