package fsx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// poll is how long a waiting process looks away at most.
const poll = 50 * time.Millisecond

// Mutex keeps other processes, and other holders in this one, out until Unlock. The system drops it when the process ends in
// whatever way. Its file stays and says who holds it.
type Mutex struct {
	flock *flock.Flock
	path  string
}

// Lock takes the mutex at path, whose folder must exist. While another holds it, Lock waits until ctx is done, and then gives
// ctx's error; onWait, which may be nil, is called once with who that is: "pipe repro (pid 1234)". It works on local file systems
// and on networked ones that have locks; where there are none, that is an error.
func Lock(ctx context.Context, path string, onWait func(holder string)) (*Mutex, error) {
	told := onWait == nil
	for looks := 1; ; looks++ {
		m, err := try(path)
		if m != nil || err != nil {
			return m, err
		}
		if !told {
			// Between taking the mutex and writing its name a holder is nobody; another look finds it.
			if holder, ok := readHolder(path); ok || looks > 2 {
				told = true
				onWait(holder)
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// TryLock takes the mutex if it is free. Else it gives who holds it.
func TryLock(path string) (m *Mutex, holder string, err error) {
	if m, err = try(path); m != nil || err != nil {
		return m, "", err
	}
	holder, _ = readHolder(path)
	return nil, holder, nil
}

// try takes the mutex if it is free; nil and no error if it is not.
func try(path string) (*Mutex, error) {
	m := &Mutex{flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644)), path}
	for {
		switch ok, err := m.flock.TryLock(); {
		case err != nil:
			return nil, wrap("lock", path, err)
		case !ok:
			return nil, m.flock.Close()
		}
		same, err := m.isAtPath()
		if err != nil {
			return nil, errors.Join(wrap("lock", path, err), m.flock.Close())
		}
		if same {
			break
		}
		// The file was removed while we waited for it: whoever comes next would lock another one of this name.
		if err := m.flock.Close(); err != nil {
			return nil, wrap("lock", path, err)
		}
	}
	if err := m.sign(); err != nil {
		return nil, errors.Join(wrap("write", path, err), m.flock.Close())
	}
	return m, nil
}

func (m *Mutex) isAtPath() (bool, error) {
	held, err := m.flock.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, named), err
}

// sign writes who holds the mutex. The start is the file's own time, as the file system tells it.
func (m *Mutex) sign() error {
	f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		_, err = fmt.Fprintf(f, "pid %d\ncommand %q\nsince %s\n", os.Getpid(), command(os.Args), st.ModTime().UTC().Format(time.RFC3339))
	}
	return errors.Join(err, f.Close())
}

// command is a command line as a user knows it: without the program's folder.
func command(args []string) string {
	if len(args) == 0 {
		return "pipe"
	}
	return strings.Join(append([]string{filepath.Base(args[0])}, args[1:]...), " ")
}

// readHolder gives who signed the file last; false, and words that fit, if that cannot be read.
func readHolder(path string) (string, bool) {
	const nobody = "another process"
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(data, []byte("\n")) {
		return nobody, false
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) != 4 {
		return nobody, false
	}
	pid, ok := strings.CutPrefix(lines[0], "pid ")
	quoted, ok2 := strings.CutPrefix(lines[1], "command ")
	name, err := strconv.Unquote(quoted)
	if !ok || !ok2 || err != nil {
		return nobody, false
	}
	return fmt.Sprintf("%s (pid %s)", name, pid), true
}

// Unlock lets the next holder in. A second call does nothing.
func (m *Mutex) Unlock() error {
	if !m.flock.Locked() {
		return nil
	}
	_ = os.Truncate(m.path, 0) // only what a waiting process would say of us
	if err := m.flock.Unlock(); err != nil {
		return wrap("unlock", m.path, err)
	}
	return nil
}
