package repo

import (
	"bytes"
	"errors"
	"hash/maphash"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"pipe/lockfile"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

// History reads the locks of all commits in HEAD's history, as far as they concern the given tables. Each distinct lock is read
// once, and parsed only if an answer hangs on it. A shallow or partial clone knows less: what is not there names nothing.
func (g *Git) History(keys []plan.TableKey) (plan.History, error) {
	h := &history{git: g, commits: map[plumbing.Hash]bool{}}
	if g == nil {
		return h, nil
	}
	head, err := g.head()
	if err != nil || head.IsZero() {
		return h, err
	}
	h.wanted = map[string]bool{}
	for _, k := range keys {
		h.wanted[k.Table] = true
	}
	h.blobs = map[plumbing.Hash]*blob{}
	h.named = map[uint64][]*blob{}
	h.turned = map[uint64][]turn{}
	if err := h.walk(head); err != nil {
		return nil, err
	}
	return h, nil
}

// history implements plan.History.
//
// Ids are kept as hashes and are only candidates: each answer is confirmed by the parsed lock, so that a collision, or an id that
// stands for another table, costs time and never a wrong answer.
type history struct {
	git     *Git
	seed    maphash.Seed
	wanted  map[string]bool
	commits map[plumbing.Hash]bool
	blobs   map[plumbing.Hash]*blob
	named   map[uint64][]*blob
	turned  map[uint64][]turn
}

// blob is one distinct pipeline.lock.
type blob struct {
	hash plumbing.Hash
	text []byte // of the work tree's lock, which git does not have
	ids  map[uint64]int
	lock *lockfile.Lock
	read bool // lock is set, or there is none to have
}

// turn is a one-parent commit, or the work tree, whose lock names fewer snapshots than its parent's.
type turn struct{ from, to *blob }

// walk visits every commit once and compares its lock with those of its parents.
func (h *history) walk(head plumbing.Hash) error {
	h.seed = maphash.MakeSeed()
	locks := map[plumbing.Hash]plumbing.Hash{} // by commit
	trees := map[plumbing.Hash]plumbing.Hash{} // lock by root tree
	path := h.git.inTree(LockFile)

	type pair struct{ child, parent plumbing.Hash }
	var pairs []pair
	stack := []plumbing.Hash{head}
	h.commits[head] = true
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		c, err := h.git.commit(at)
		if err != nil {
			if at != head && errors.Is(err, plumbing.ErrObjectNotFound) {
				delete(h.commits, at) // beyond the edge of a shallow clone
				continue
			}
			return broken(h.git.top, err)
		}
		lock, ok := trees[c.tree]
		if !ok {
			lock, err = h.git.find(c.tree, path)
			if err != nil && !errors.Is(err, plumbing.ErrObjectNotFound) {
				return broken(h.git.top, err)
			}
			trees[c.tree] = lock
		}
		locks[at] = lock
		h.note(lock)
		for _, p := range c.parents {
			if !h.commits[p] {
				h.commits[p] = true
				stack = append(stack, p)
			}
		}
		if len(c.parents) == 1 {
			pairs = append(pairs, pair{at, c.parents[0]})
		}
	}
	for _, p := range pairs {
		h.compare(h.blobs[locks[p.parent]], h.blobs[locks[p.child]])
	}
	h.workTree(h.blobs[locks[head]])
	for _, b := range h.blobs {
		b.ids = nil
	}
	return nil
}

// workTree compares the lock as it lies in the folder with HEAD's. While a merge waits for its commit, what was turned away was
// settled, not reverted.
func (h *history) workTree(head *blob) {
	if h.git.merging() {
		return
	}
	text, err := os.ReadFile(filepath.Join(h.git.root, LockFile))
	if err != nil {
		return
	}
	h.compare(head, &blob{text: text, ids: h.scan(text)})
}

// note reads a lock's ids, once.
func (h *history) note(hash plumbing.Hash) {
	if hash.IsZero() || h.blobs[hash] != nil {
		return
	}
	b := &blob{hash: hash}
	h.blobs[hash] = b
	text, err := h.git.object(plumbing.BlobObject, hash)
	if err != nil {
		return // a partial clone, or a folder of that name
	}
	b.ids = h.scan(text)
	for id := range b.ids {
		h.named[id] = append(h.named[id], b)
	}
}

func (h *history) compare(from, to *blob) {
	if from == nil || to == nil || from == to {
		return
	}
	for id, n := range from.ids {
		// Where an id stands several times, only the parsed locks can tell which table lost it.
		if m := to.ids[id]; m == 0 || n > 1 || m > 1 {
			h.turned[id] = append(h.turned[id], turn{from, to})
		}
	}
}

var (
	tableField    = []byte("- table: ")
	snapshotField = []byte("snapshot: \"")
)

// scan finds the ids of snapshots of wanted tables by the look of the lines, counted: a tenth of the cost of parsing.
func (h *history) scan(text []byte) map[uint64]int {
	var ids map[uint64]int
	wanted := false
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		line = bytes.TrimLeft(line, " ")
		if name, ok := bytes.CutPrefix(line, tableField); ok {
			wanted = h.wanted[string(bytes.Trim(bytes.TrimSuffix(name, []byte{'\r'}), `"`))]
			continue
		}
		if !wanted {
			continue
		}
		if value, ok := bytes.CutPrefix(line, snapshotField); ok {
			id, _, _ := bytes.Cut(value, []byte{'"'})
			if ids == nil {
				ids = map[uint64]int{}
			}
			ids[maphash.Bytes(h.seed, id)]++
			wanted = false
		}
	}
	return ids
}

// parsed gives the lock, or nil if it does not parse: a lock with conflict markers that somebody committed names nothing.
func (h *history) parsed(b *blob) *lockfile.Lock {
	if b.read {
		return b.lock
	}
	b.read = true
	text := b.text
	if text == nil {
		var err error
		if text, err = h.git.object(plumbing.BlobObject, b.hash); err != nil {
			return nil
		}
	}
	if lock, err := lockfile.Parse(LockFile, text); err == nil {
		b.lock = lock
	}
	return b.lock
}

// Names implements plan.History.
func (h *history) Names(key plan.TableKey, id sinks.SnapshotID) bool {
	for _, b := range h.named[h.hash(id)] {
		if lock := h.parsed(b); lock != nil && names(lock, key, id) {
			return true
		}
	}
	return false
}

// TurnedAway implements plan.History.
func (h *history) TurnedAway(stage string, key plan.TableKey, id sinks.SnapshotID) bool {
	for _, t := range h.turned[h.hash(id)] {
		from, to := h.parsed(t.from), h.parsed(t.to)
		if from != nil && to != nil && to.Stages[stage] != nil && names(from, key, id) && !names(to, key, id) {
			return true
		}
	}
	return false
}

func (h *history) hash(id sinks.SnapshotID) uint64 {
	if len(h.named) == 0 && len(h.turned) == 0 {
		return 0 // no seed was made
	}
	return maphash.String(h.seed, string(id))
}

func names(lock *lockfile.Lock, key plan.TableKey, id sinks.SnapshotID) bool {
	for _, e := range lock.Stages {
		for _, o := range e.Outs {
			if o.Table == key.Table && o.Sink == key.Sink && o.Snapshot == string(id) {
				return true
			}
		}
	}
	return false
}

// Contains implements plan.History. A dirty revision is contained in nothing.
func (h *history) Contains(revision string) bool {
	return len(revision) == 40 && h.commits[plumbing.NewHash(revision)]
}

// Revision implements plan.History.
func (h *history) Revision() string { return h.git.Revision() }
