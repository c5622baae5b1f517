package repo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"pipe/internal/diag"
)

// None is the revision where there is no git, or no commit yet.
const None = "none"

// DirtyMark ends the revision of a tree with changes that are not committed.
const DirtyMark = "+dirty"

// Git is the git repository that a project lies in. Its methods are safe on a nil *Git, which stands for no repository.
type Git struct {
	top    string // the work tree's folder, absolute
	prefix string // the project's folder relative to top, with slashes; "" if they are one
	dir    string // .git, or the folder of a linked work tree
	common string // what all work trees share
	store  *filesystem.Storage
	root   string // the project's folder
}

// OpenGit finds the repository that root lies in; nil without an error if there is none. root must be free of symbolic links, as
// Layout.Root is. A repository in a format that cannot be read is an error with exit status 5: without its history, heads that were
// moved back by a revert would look like foreign ones.
func OpenGit(root string) (*Git, error) {
	for top := root; ; {
		dir, err := gitDir(top)
		if err != nil {
			return nil, broken(top, err)
		}
		if dir != "" {
			return openAt(root, top, dir)
		}
		up := filepath.Dir(top)
		if up == top {
			return nil, nil
		}
		top = up
	}
}

// gitDir gives the folder behind top's .git, which may be a file that names it (a linked work tree, a submodule); "" if top has none.
func gitDir(top string) (string, error) {
	path := filepath.Join(top, ".git")
	st, err := os.Stat(path)
	if err != nil {
		return "", nil
	}
	if !st.IsDir() {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
		if !ok {
			return "", nil
		}
		path = strings.TrimSpace(target)
		if !filepath.IsAbs(path) {
			path = filepath.Join(top, path)
		}
	}
	// A folder called .git that holds no repository is passed over, as git does.
	if !exists(filepath.Join(path, "HEAD")) {
		return "", nil
	}
	return path, nil
}

func openAt(root, top, dir string) (*Git, error) {
	common := dir
	if data, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		common = strings.TrimSpace(string(data))
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
	}
	prefix, err := filepath.Rel(top, root)
	if err != nil {
		return nil, broken(top, err)
	}
	if prefix == "." {
		prefix = ""
	}
	g := &Git{top: top, prefix: filepath.ToSlash(prefix), dir: dir, common: common, root: root}

	// The storage is used without go-git's Repository on top of it, whose opening refuses extensions that do not concern a reader:
	// partial clones, worktree-specific configuration.
	var files billy.Filesystem = osfs.New(dir)
	if common != dir {
		files = dotgit.NewRepositoryFilesystem(osfs.New(dir), osfs.New(common))
	}
	g.store = filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(32*cache.MiByte), filesystem.Options{
		KeepDescriptors: true, AlternatesFS: osfs.New("/"),
	})
	cfg, err := g.store.Config()
	if err != nil {
		return nil, broken(top, err)
	}
	if cfg.Raw.HasSection("extensions") {
		ext := cfg.Raw.Section("extensions")
		if f := ext.Options.Get("objectformat"); f != "" && f != "sha1" {
			return nil, unsupported(top, "objects named by "+f)
		}
		if f := ext.Options.Get("refstorage"); f != "" && f != "files" {
			return nil, unsupported(top, "refs stored as "+f)
		}
	}
	return g, nil
}

func broken(top string, err error) error {
	return (&diag.Error{Exit: diag.Broken, Msg: "the git repository in " + top + " is not readable: " + err.Error(), Err: err}).
		With("git -C %s fsck", quote(top))
}

func unsupported(top, what string) error {
	return (&diag.Error{Exit: diag.Broken, Msg: "the git repository in " + top + " has " + what + ", which pipe cannot read"}).
		With("clone it anew with --object-format=sha1 --ref-format=files")
}

// Close lets go of the open pack files.
func (g *Git) Close() error {
	if g == nil {
		return nil
	}
	return g.store.Close()
}

// head gives HEAD's commit; zero on an unborn branch.
func (g *Git) head() (plumbing.Hash, error) {
	ref, err := g.store.Reference(plumbing.HEAD)
	for range 10 {
		if err != nil {
			if errors.Is(err, plumbing.ErrReferenceNotFound) {
				return plumbing.ZeroHash, nil
			}
			return plumbing.ZeroHash, broken(g.top, err)
		}
		if ref.Type() == plumbing.HashReference {
			return ref.Hash(), nil
		}
		ref, err = g.store.Reference(ref.Target())
	}
	return plumbing.ZeroHash, broken(g.top, errors.New("HEAD is a circle of symbolic refs"))
}

// Detached reports whether HEAD names a commit instead of a branch. While a rebase or a bisect is going on, it does.
func (g *Git) Detached() bool {
	if g == nil {
		return false
	}
	ref, err := g.store.Reference(plumbing.HEAD)
	return err == nil && ref.Type() == plumbing.HashReference
}

// Revision gives HEAD's commit as 40 hex digits, with DirtyMark behind it if a tracked file differs from it (pipeline.lock aside,
// which each run rewrites; files that git does not know do not count), or None.
func (g *Git) Revision() string {
	if g == nil {
		return None
	}
	head, err := g.head()
	if err != nil || head.IsZero() {
		return None
	}
	if g.dirty(head) {
		return head.String() + DirtyMark
	}
	return head.String()
}

// commit is what a walk needs of a commit.
type commit struct {
	tree    plumbing.Hash
	parents []plumbing.Hash
}

// object reads one object whole. The raw form is read by hand below: a walk over ten thousand commits would otherwise spend its
// time on authors, messages and entries that nobody asks for.
func (g *Git) object(kind plumbing.ObjectType, h plumbing.Hash) ([]byte, error) {
	o, err := g.store.EncodedObject(kind, h)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data := make([]byte, o.Size())
	if _, err := io.ReadFull(r, data); err != nil {
		_ = r.Close()
		return nil, err
	}
	return data, r.Close()
}

func (g *Git) commit(h plumbing.Hash) (commit, error) {
	data, err := g.object(plumbing.CommitObject, h)
	if err != nil {
		return commit{}, err
	}
	var c commit
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		key, value, _ := bytes.Cut(line, []byte{' '})
		switch string(key) {
		case "tree":
			c.tree = plumbing.NewHash(string(value))
		case "parent":
			c.parents = append(c.parents, plumbing.NewHash(string(value)))
		default:
			return c, nil // tree and parents come first
		}
		data = rest
	}
	return c, nil
}

// entry is one entry of a tree.
type entry struct {
	mode string
	name []byte
	hash plumbing.Hash
}

// entries calls yield for each entry of a tree object's content until it gives false.
func entries(tree []byte, yield func(entry) bool) {
	for len(tree) > 0 {
		mode, rest, ok := bytes.Cut(tree, []byte{' '})
		if !ok {
			return
		}
		name, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(rest) < 20 {
			return
		}
		e := entry{mode: string(mode), name: name, hash: plumbing.Hash(rest[:20])}
		if !yield(e) {
			return
		}
		tree = rest[20:]
	}
}

// find gives the hash of what lies at path below a tree; zero if nothing does.
func (g *Git) find(tree plumbing.Hash, path string) (plumbing.Hash, error) {
	for part := range strings.SplitSeq(path, "/") {
		data, err := g.object(plumbing.TreeObject, tree)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree = plumbing.ZeroHash
		entries(data, func(e entry) bool {
			if string(e.name) == part {
				tree = e.hash
				return false
			}
			return true
		})
		if tree.IsZero() {
			return tree, nil
		}
	}
	return tree, nil
}

// inTree gives the path of a project's file in the repository.
func (g *Git) inTree(name string) string {
	if g.prefix == "" {
		return name
	}
	return g.prefix + "/" + name
}

// merging reports whether a merge waits for its commit.
func (g *Git) merging() bool {
	_, err := os.Stat(filepath.Join(g.dir, "MERGE_HEAD"))
	return !errors.Is(err, fs.ErrNotExist)
}
