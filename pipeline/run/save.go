package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pipe/internal/diag"
	"pipe/internal/fsx"
	"pipe/lockfile"
)

// LockName is the lock's file name in the project's folder.
const LockName = "pipeline.lock"

// ReadLock reads the project's lock; an absent one is empty.
func ReadLock(root string) (*lockfile.Lock, error) {
	data, err := os.ReadFile(filepath.Join(root, LockName))
	if errors.Is(err, fs.ErrNotExist) {
		return &lockfile.Lock{Stages: map[string]*lockfile.Entry{}}, nil
	}
	if err != nil {
		return nil, &diag.Error{Exit: diag.Usage, Pos: diag.Pos{File: LockName}, Msg: fsx.Explain(err, ""), Err: err}
	}
	return lockfile.Parse(LockName, data)
}

// saver writes the lock behind the stages' backs, so that a thousand quick stages do not cost a thousand writes: after a write it
// rests four times as long as the write took. What is not yet written when the process dies is made again by the next run.
type saver struct {
	path string
	now  func() time.Time

	mu      sync.Mutex
	idle    *sync.Cond
	lock    *lockfile.Lock
	dirty   bool
	writing bool
	next    time.Time
	err     error
}

func newSaver(root string, lock *lockfile.Lock, now func() time.Time) *saver {
	s := &saver{path: filepath.Join(root, LockName), lock: lock, now: now}
	s.idle = sync.NewCond(&s.mu)
	return s
}

// set records an entry and starts a write if none was made lately.
func (s *saver) set(stage string, e *lockfile.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lock.Stages[stage] = e
	s.dirty = true
	if s.writing || s.now().Before(s.next) {
		return
	}
	s.writing = true
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.write()
		s.writing = false
		s.idle.Broadcast()
	}()
}

// hold records entries that belong together: they reach the file in one write, which flush makes.
func (s *saver) hold(entries []lockfile.JournalEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		s.lock.Stages[e.Stage] = e.New
		s.dirty = true
	}
}

// write encodes under the mutex and writes outside it. Callers hold mu.
func (s *saver) write() {
	began := s.now()
	data := s.lock.Encode()
	s.dirty = false
	s.mu.Unlock()
	err := fsx.WriteAtomic(s.path, data, 0o644)
	s.mu.Lock()
	if err != nil {
		s.dirty = true
		s.err = err
	}
	end := s.now()
	s.next = end.Add(4 * end.Sub(began))
}

// flush writes what is not written yet and gives the first error.
func (s *saver) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing {
		s.idle.Wait()
	}
	if s.dirty {
		s.err = nil
		s.write()
	}
	if s.err != nil {
		return unsaved(s.err)
	}
	return nil
}

// unsaved is the error of a lock that could not be written. What it would have said is in the journal, in the tables' history, or is
// made again.
func unsaved(err error) error {
	e := &diag.Error{Exit: diag.Broken, Pos: diag.Pos{File: LockName}, Msg: "not saved: " + fsx.Explain(err, ""), Err: err}
	return e.With("nothing is lost: once it can be written, pipe repro goes on from here")
}
