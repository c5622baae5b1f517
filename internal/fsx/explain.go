package fsx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Two states of a path that the system reports in ways that differ between platforms.
var (
	errIsDir  = errors.New("a folder stands in its place")
	errNotDir = errors.New("a file stands in its place")
)

// fileError says what was done to which path and, in plain words, why it did not go; the cause is behind it for errors.Is.
type fileError struct {
	op, path string
	err      error
}

func (e *fileError) Error() string { return e.op + " " + e.path + ": " + words(e.err) }

func (e *fileError) Unwrap() error { return e.err }

func wrap(op, path string, err error) error {
	var already *fileError
	if errors.As(err, &already) {
		return err
	}
	return &fileError{op, path, err}
}

// Explain says in plain words why a file operation did not go: "no space is left on the disk". With a path, the words begin with it.
// An error that it does not know keeps the system's words, without the names of the call and of temporary files.
func Explain(err error, path string) string {
	if err == nil {
		return ""
	}
	if path == "" {
		return words(err)
	}
	return path + ": " + words(err)
}

func words(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "no space is left on the disk"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up"
	case errors.Is(err, syscall.EFBIG):
		return "the file would be larger than is allowed (ulimit -f, or the file system's limit)"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open (ulimit -n)"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "the name is too long for the file system"
	case errors.Is(err, syscall.ELOOP):
		return "the link leads back to itself"
	case errors.Is(err, syscall.EIO):
		return "the disk reports an input/output error"
	case errors.Is(err, syscall.ENOTDIR):
		return "a file stands where a folder is needed"
	case errors.Is(err, syscall.EISDIR):
		return "a folder stands in its place"
	case errors.Is(err, syscall.EBUSY):
		return "it is in use, or a file system is mounted on it"
	case errors.Is(err, syscall.EXDEV):
		return "it lies on another file system"
	case errors.Is(err, fs.ErrPermission):
		return "no permission"
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	}
	var known *fileError
	if errors.As(err, &known) {
		return words(known.err)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}
