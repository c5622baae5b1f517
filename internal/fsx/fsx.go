// Package fsx writes files so that they are whole or absent after a crash or a power cut, keeps two processes apart, and says what
// the system's errors mean.
//
// It never decides what to write and never retries.
package fsx

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// tempPrefix begins the names of files in the making.
const tempPrefix = ".pipe-tmp-"

// IsTemp reports whether a file's base name is that of a file in the making, which a kill may leave behind.
func IsTemp(base string) bool { return strings.HasPrefix(base, tempPrefix) }

// WriteAtomic replaces or makes the file at path with data: at every instant, a power cut included, it is the old or the new one,
// and once WriteAtomic returned nil it is the new one. A new file gets perm less the umask, one that is replaced keeps its
// permissions, and a link is followed. An error says what is wrong in plain words, leaves the old file as it was and no other
// behind.
func WriteAtomic(path string, data []byte, perm fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := writeAtomic(path, data, perm); err != nil {
		return wrap("write", path, err)
	}
	return nil
}

func writeAtomic(path string, data []byte, perm fs.FileMode) (err error) {
	keep, err := os.Stat(path)
	switch {
	case err == nil && keep.IsDir():
		return errIsDir
	case err == nil:
		perm = keep.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Dir(path)
	temp := filepath.Join(dir, tempPrefix+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(temp)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if keep != nil { // past the umask, which made it a stricter file than the old one
		if err = f.Chmod(perm); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(dir)
}

// SyncDir makes the names in a folder durable: files made, renamed and removed there. On Windows, which has no such thing, it does
// nothing.
func SyncDir(dir string) error {
	if err := syncDir(dir); err != nil {
		return wrap("sync", dir, err)
	}
	return nil
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		_ = d.Close()
		return err
	}
	return d.Close()
}

// MkdirSynced makes a folder and those above it that are missing, durably.
func MkdirSynced(dir string, perm fs.FileMode) error {
	switch st, err := os.Stat(dir); {
	case err == nil && st.IsDir():
		return nil
	case err == nil:
		return wrap("make folder", dir, errNotDir)
	case !errors.Is(err, fs.ErrNotExist):
		return wrap("make folder", dir, err)
	}
	parent := filepath.Dir(dir)
	if err := MkdirSynced(parent, perm); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return wrap("make folder", dir, err)
	}
	return SyncDir(parent)
}

// RemoveSynced removes a file, or an empty folder, durably. That there is none is no error.
func RemoveSynced(path string) error {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return wrap("remove", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// RemoveTemps removes from a folder what calls of WriteAtomic left that were killed. Only for who knows that no other process writes
// there, as the holder of the project's mutex does.
func RemoveTemps(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return wrap("read", dir, err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && IsTemp(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return wrap("remove", filepath.Join(dir, e.Name()), err)
			}
		}
	}
	return nil
}
