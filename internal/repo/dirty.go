package repo

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// dirty reports whether a tracked file, or what is staged, differs from the commit. go-git's own status hashes every file that it
// finds, tracked or not; this asks the file system only for what the index holds and reads only what looks touched. What cannot be
// read counts as different: a revision is called clean only when it is.
func (g *Git) dirty(head plumbing.Hash) bool {
	c, err := g.commit(head)
	if err != nil {
		return true
	}
	committed := map[string]entry{}
	if err := g.flatten(c.tree, "", committed); err != nil {
		return true
	}
	idx, err := g.store.Index()
	if err != nil {
		return true
	}
	lock := g.inTree(LockFile)
	delete(committed, lock)
	for _, e := range idx.Entries {
		if e.Name == lock {
			continue
		}
		was, ok := committed[e.Name]
		if !ok || e.Stage != 0 || e.IntentToAdd || was.hash != e.Hash || was.mode != fmt.Sprintf("%o", uint32(e.Mode)) {
			return true
		}
		delete(committed, e.Name)
		if !e.SkipWorktree && g.touched(e, idx) {
			return true
		}
	}
	return len(committed) > 0
}

// flatten collects the files of a tree by path.
func (g *Git) flatten(tree plumbing.Hash, prefix string, into map[string]entry) error {
	data, err := g.object(plumbing.TreeObject, tree)
	if err != nil {
		return err
	}
	entries(data, func(e entry) bool {
		path := prefix + string(e.name)
		if e.mode == "40000" {
			err = g.flatten(e.hash, path+"/", into)
			return err == nil
		}
		into[path] = e
		return true
	})
	return err
}

// touched reports whether the file differs from what the index holds. Its size and times decide where they can; git's racy rule
// holds: a file as young as the index itself is read.
func (g *Git) touched(e *index.Entry, idx *index.Index) bool {
	if e.Mode == filemode.Submodule {
		return false
	}
	path := filepath.Join(g.top, filepath.FromSlash(e.Name))
	st, err := os.Lstat(path)
	if err != nil {
		return true
	}
	if kindOf(st.Mode()) != kindOf(modeOf(e.Mode)) {
		return true
	}
	if st.Mode().IsRegular() && st.Mode().Perm()&0o100 != modeOf(e.Mode).Perm()&0o100 && g.fileModes() {
		return true
	}
	ctime, known := changed(st)
	if known && ctime.Equal(e.CreatedAt) && st.ModTime().Equal(e.ModifiedAt) && uint32(st.Size()) == e.Size &&
		e.ModifiedAt.Before(idx.ModTime) {
		return false
	}
	h, err := blobHash(path, st)
	return err != nil || h != e.Hash.String()
}

func (g *Git) fileModes() bool {
	cfg, err := g.store.Config()
	return err != nil || cfg.Raw.Section("core").Options.Get("filemode") != "false"
}

func modeOf(m filemode.FileMode) fs.FileMode {
	mode, err := m.ToOSFileMode()
	if err != nil {
		return 0
	}
	return mode
}

func kindOf(m fs.FileMode) fs.FileMode { return m.Type() }

// blobHash is the name that git gives to a file's content, or to a link's target.
func blobHash(path string, st fs.FileInfo) (string, error) {
	h := sha1.New()
	if st.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "blob %d\x00%s", len(target), filepath.ToSlash(target))
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	_, _ = fmt.Fprintf(h, "blob %d\x00", st.Size())
	switch n, err := io.Copy(h, f); {
	case err != nil:
		return "", err
	case n != st.Size():
		return "", errors.New("changed while it was read")
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
