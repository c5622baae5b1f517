package iceberg

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	iceio "github.com/apache/iceberg-go/io"

	"pipe/internal/fsx"
)

const fileScheme = "file://"

// local gives the path that a location names. What follows the scheme is taken as it is: the library's own file system decodes
// percent signs, so that a partition value a+b would lie in another place than the manifest says, and no other engine finds it.
// file:/abs, with one slash, is how Hadoop writes the same.
func local(location string) string {
	if rest, ok := strings.CutPrefix(location, "file:"); ok {
		return "/" + strings.TrimLeft(rest, "/")
	}
	return location
}

// fileIO is the file system under the library: every file is synced, and so is its folder, before it is called written. The stock
// one syncs nothing, so that after a power cut the catalog could name files that are empty.
type fileIO struct{}

func (fileIO) Open(name string) (iceio.File, error) { return os.Open(local(name)) }

func (fileIO) ReadFile(name string) ([]byte, error) { return os.ReadFile(local(name)) }

func (fileIO) Remove(name string) error { return os.Remove(local(name)) }

func (x fileIO) Create(name string) (iceio.FileWriter, error) {
	f, err := x.create(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (fileIO) create(name string) (*syncedFile, error) {
	path := local(name)
	if err := fsx.MkdirSynced(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &syncedFile{File: f}, nil
}

func (x fileIO) WriteFile(name string, p []byte) error {
	f, err := x.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(p); err != nil {
		return errorsFirst(err, f.Close(), os.Remove(local(name)))
	}
	return f.Close()
}

// errorsFirst gives the error that began it, after what had to be done all the same.
func errorsFirst(err error, _ ...error) error { return err }

// syncedFile syncs itself and its folder when it is closed.
type syncedFile struct {
	*os.File
	once   sync.Once
	err    error
	failed func(error) // told of every error; may be nil
}

func (f *syncedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.note(err)
}

func (f *syncedFile) ReadFrom(r io.Reader) (int64, error) {
	n, err := f.File.ReadFrom(r)
	return n, f.note(err)
}

func (f *syncedFile) note(err error) error {
	if err != nil && f.failed != nil {
		f.failed(err)
	}
	return err
}

func (f *syncedFile) Close() error {
	f.once.Do(func() {
		f.err = f.File.Sync()
		if err := f.File.Close(); f.err == nil {
			f.err = err
		}
		if f.err == nil {
			f.err = fsx.SyncDir(filepath.Dir(f.File.Name()))
		}
		_ = f.note(f.err)
	})
	return f.err
}

// alias is the location of a table under which the library is made to write data files. It builds names from the location as from a
// URL, and would encode a space in the path of the project; so it gets a location that needs no encoding, and never sees the other.
const alias = "here:///table"

// placed gives the real location of a file that was named under the alias.
func placed(location, name string) string {
	if rest, ok := strings.CutPrefix(name, alias+"/"); ok {
		return location + "/" + rest
	}
	return name
}

// noted is the file system of one write: it knows where the table is, and remembers what it made, so that an abort can delete files
// that the library has already finished.
type noted struct {
	fileIO
	location string

	mu    sync.Mutex
	made  []string
	cause error
}

// first gives the first error of a file, or err. The library may hide it behind "writer is closed".
func (n *noted) first(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cause != nil {
		return n.cause
	}
	return err
}

func (n *noted) failed(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cause == nil {
		n.cause = err
	}
}

func (n *noted) Open(name string) (iceio.File, error) { return n.fileIO.Open(placed(n.location, name)) }

func (n *noted) Remove(name string) error { return n.fileIO.Remove(placed(n.location, name)) }

func (n *noted) Create(name string) (iceio.FileWriter, error) {
	name = placed(n.location, name)
	f, err := n.fileIO.create(name)
	if err != nil {
		n.failed(err)
		return nil, err
	}
	f.failed = n.failed
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made = append(n.made, local(name))
	return f, nil
}

func (n *noted) WriteFile(name string, p []byte) error {
	f, err := n.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(p); err != nil {
		return errorsFirst(err, f.Close())
	}
	return f.Close()
}

// mark gives how many files there are; removeFrom deletes those that were made after it.
func (n *noted) mark() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.made)
}

func (n *noted) removeFrom(mark int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var first error
	for _, path := range n.made[mark:] {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) && first == nil {
			first = err
		}
	}
	n.made = n.made[:mark]
	return first
}
