// Package files observes what stages read and make: digests of files, folders and globs, remembered by what the file system tells
// of each file, and keeps the outs of the last run while a stage makes new ones.
//
// It never decides what is stale, and never moves or deletes what lies outside the project.
package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pipe/internal/fsx"
	"pipe/pipeline/fingerprint"
)

// Observer looks at files of one project. Safe for several goroutines.
type Observer struct {
	root   string // absolute
	now    func() time.Time
	rename func(from, to string) error // os.Rename; a test stands in for a second file system

	mu    sync.Mutex
	cache *cache
}

// Result is what was seen of a name.
type Result struct {
	Digest  fingerprint.Digest // "sha256:<hex>"; "" if Missing or Err
	Size    int64              // bytes of all files
	Files   int                // how many files the digest is over
	Missing bool               // no such file or folder; of a glob: no file matches
	Dir     bool
	Err     string // why it could not be read, in plain words that begin with the path unless it is the name itself
}

// Open gives an observer of the project at root, an absolute path. What it remembers is read from .pipe/cache/files; a cache that is
// missing or damaged costs hashing, nothing else.
func Open(root string, now func() time.Time) (*Observer, error) {
	switch st, err := os.Stat(root); {
	case err != nil:
		return nil, fmt.Errorf("open project: %s", fsx.Explain(err, root))
	case !st.IsDir():
		return nil, fmt.Errorf("open project: %s is no folder", root)
	}
	return &Observer{root: root, now: now, rename: os.Rename, cache: loadCache(filepath.Join(root, cacheFile))}, nil
}

// Observe looks at names: files, folders and globs, relative to the root with slashes, or absolute. A name with one of *?[{ in it is
// a glob unless a file of just that name exists. Each name has a Result; the error is for a broken .pipeignore (a diag.List) and for
// a ctx that ended.
//
// The digest of a file is over its bytes: permissions and times do not count. Those of folders and globs are over the sorted names
// and digests of the files inside; docs/fingerprint-inputs.md has them to the byte. A file that was remembered is hashed again
// unless size, times, inode and device are the same and none of its times was so near the moment of hashing that a later change
// could bear the same stamp. So a look after a stage ran sees every edit that was made meanwhile.
func (o *Observer) Observe(ctx context.Context, names []string) (map[string]Result, error) {
	return o.observe(ctx, names, false)
}

// Fresh is Observe for a second look soon after the first: it trusts no digest that was taken within the clock's granularity before
// it, so that a file system whose clock runs a little behind ours hides no edit.
func (o *Observer) Fresh(ctx context.Context, names []string) (map[string]Result, error) {
	return o.observe(ctx, names, true)
}

func (o *Observer) observe(ctx context.Context, names []string, fresh bool) (map[string]Result, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	w := &walker{root: o.root, ignore: &ignores{root: o.root}}
	targets := make([]*target, len(names))
	if err := inParallel(ctx, len(names), func(i int) { targets[i] = w.look(names[i]) }); err != nil {
		return nil, err
	}
	if err := w.ignore.err(); err != nil {
		return nil, err
	}
	var jobs []*file
	byPath := make(map[string]*file, len(names))
	for _, t := range targets {
		for i, f := range t.files {
			if known := byPath[f.path]; known != nil {
				t.files[i].job = known
				continue
			}
			byPath[f.path] = &t.files[i]
			jobs = append(jobs, &t.files[i])
		}
	}
	h := &hasher{o: o, fresh: fresh, began: o.now(), prefix: o.root + string(filepath.Separator)}
	if err := inParallel(ctx, len(jobs), func(i int) { h.digest(ctx, jobs[i]) }); err != nil {
		return nil, err
	}
	results := make(map[string]Result, len(names))
	for i, t := range targets {
		results[names[i]] = t.result()
	}
	return results, ctx.Err()
}

// Save writes what was learned to .pipe/cache/files, if anything was. Another process that saves at the same time costs hashing,
// nothing else.
func (o *Observer) Save() error {
	o.mu.Lock()
	data := o.cache.encode(o.now())
	o.mu.Unlock()
	if data == nil {
		return nil
	}
	path := filepath.Join(o.root, cacheFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder %s", fsx.Explain(err, filepath.Dir(path)))
	}
	return fsx.WriteAtomic(path, data, 0o644)
}

// target is what a name stands for.
type target struct {
	kind  targetKind
	files []file // sorted by label
	lines []line // links that lead nowhere or back
	err   string
}

type targetKind int

const (
	missing targetKind = iota
	single
	folder
	glob
)

// file is one file to be hashed.
type file struct {
	label string // its name in the digest of a folder or a glob
	path  string // absolute
	shown string // as an error names it; "" for the name itself
	info  fs.FileInfo
	job   *file // the same file under another name, which has the answer
	sum   [sha256.Size]byte
	size  int64
	err   string
}

// line is an entry that is no file.
type line struct{ label, text string }

func (t *target) result() Result {
	r := Result{Dir: t.kind == folder, Err: t.err, Missing: t.kind == missing && t.err == ""}
	for i := range t.files {
		f := t.files[i].done()
		if f.err != "" && r.Err == "" {
			r.Err = f.err
			if t.kind != single {
				r.Err = t.files[i].shown + ": " + f.err
			}
		}
		r.Size += f.size
	}
	r.Files = len(t.files)
	if r.Err != "" || r.Missing {
		return Result{Dir: r.Dir, Err: r.Err, Missing: r.Missing}
	}
	switch t.kind {
	case single:
		r.Digest = digestOf(t.files[0].done().sum)
	case folder:
		r.Digest = t.listing("pipe directory 1")
	case glob:
		r.Digest = t.listing("pipe glob 1")
		r.Missing = len(t.files) == 0
		if r.Missing {
			r.Digest = ""
		}
	}
	return r
}

func (f *file) done() *file {
	if f.job != nil {
		return f.job
	}
	return f
}

// listing is the digest over a heading and one line an entry.
func (t *target) listing(heading string) fingerprint.Digest {
	lines := slices.Clone(t.lines)
	for i := range t.files {
		lines = append(lines, line{t.files[i].label, string(digestOf(t.files[i].done().sum))})
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.label, b.label) })
	b := append(make([]byte, 0, 128*len(lines)+32), heading+"\n"...)
	for _, l := range lines {
		b = strconv.AppendQuoteToASCII(b, l.label)
		b = append(b, ' ')
		b = append(b, l.text...)
		b = append(b, '\n')
	}
	return digestOf(sha256.Sum256(b))
}

func digestOf(sum [sha256.Size]byte) fingerprint.Digest {
	const prefix = "sha256:"
	b := append(make([]byte, 0, len(prefix)+2*len(sum)), prefix...)
	return fingerprint.Digest(hex.AppendEncode(b, sum[:]))
}

// inParallel calls do for 0 to n-1 on as many goroutines as there are cores, and gives ctx's error if it ended first.
func inParallel(ctx context.Context, n int, do func(i int)) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if i%64 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				do(i)
			}
		})
	}
	return g.Wait()
}

// reason gives plain words for an error on a path.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it was removed while it was read"
	}
	return fsx.Explain(err, "")
}
