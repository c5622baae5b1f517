package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pipe/internal/fsx"
)

// move renames a file, folder or link; nothing may stand at to. Between two file systems it copies, and then removes with remove:
// until to is whole, from is.
func (o *Observer) move(from, to string, remove func(string) error) error {
	err := o.rename(from, to)
	if err == nil || !errors.Is(err, syscall.EXDEV) {
		return err
	}
	temp := to + ".part" // a kill leaves it: it is removed here, or with the folder that it is in
	if err := removeAll(temp); err != nil {
		return err
	}
	if err := copyAll(from, temp); err != nil {
		_ = removeAll(temp)
		return err
	}
	if err := os.Rename(temp, to); err != nil {
		_ = removeAll(temp)
		return err
	}
	if err := fsx.SyncDir(filepath.Dir(to)); err != nil {
		return err
	}
	return remove(from)
}

// copyAll copies a file, link or folder durably, with permissions and times.
func copyAll(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		text, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(text, to)
	case info.IsDir():
		if err := copyFolder(from, to); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		if err := copyFile(from, to); err != nil {
			return err
		}
	default:
		return &fs.PathError{Op: "copy", Path: from, Err: errors.New("it is " + what(info.Mode()) + ", neither file nor folder")}
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func copyFolder(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyAll(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return fsx.SyncDir(to)
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}
