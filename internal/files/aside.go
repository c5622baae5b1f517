package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/fsx"
)

// asideDir holds, under the root, one folder for each stage that runs: .pipe/aside/<run>/<stage>.
const asideDir = ".pipe/aside"

// manifestName is the file in such a folder that says what belongs where. A folder without it is rubbish: it was not begun, or it
// was dropped.
const manifestName = "manifest"

// Aside is what a stage made last time, put away while it runs: the program finds no file and no folder where its outs go, and what
// was there comes back if it fails. Not safe for several goroutines.
type Aside struct {
	o    *Observer
	dir  string // absolute; "" if nothing is to be done
	outs []put
}

// manifest is the form of the file.
type manifest struct {
	Version int    `json:"version"`
	Stage   string `json:"stage"`
	Outs    []put  `json:"outs"`
}

// put is one out. Its old state, if it had one, is the entry of that name in the folder.
type put struct {
	Path string `json:"path"` // relative to the root, with slashes
	Was  bool   `json:"was"`  // there was something
}

// Aside moves the outs at paths (relative to the root, with slashes) away, after writing durably what belongs where. Those outside
// the project are left alone. After an error everything is where it was.
func (o *Observer) Aside(run, stage string, paths []string) (*Aside, error) {
	a := &Aside{o: o}
	any := false
	for _, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		inside, err := o.inside(p)
		if err != nil {
			return nil, err
		}
		if !inside {
			continue
		}
		_, err = os.Lstat(filepath.Join(o.root, filepath.FromSlash(p)))
		if err != nil && !isMissing(err) {
			return nil, fmt.Errorf("move aside %s", fsx.Explain(err, p))
		}
		a.outs = append(a.outs, put{Path: p, Was: err == nil})
		any = any || err == nil
	}
	if !any {
		return a, nil // nothing to lose: no file is written
	}
	a.dir = filepath.Join(o.root, filepath.FromSlash(asideDir), folderName(run), folderName(stage))
	if err := fsx.MkdirSynced(a.dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(a.dir, manifestName)); err == nil {
		return nil, fmt.Errorf("move aside the outs of stage %s: run %s has put them away already", stage, run)
	}
	text, err := json.Marshal(manifest{Version: 1, Stage: stage, Outs: a.outs})
	if err != nil {
		return nil, fmt.Errorf("write the list of what is moved aside: %w", err)
	}
	if err := fsx.WriteAtomic(filepath.Join(a.dir, manifestName), append(text, '\n'), 0o644); err != nil {
		return nil, err
	}
	for i, p := range a.outs {
		if !p.Was {
			continue
		}
		if err := o.move(a.at(i), a.kept(i), removeAll); err != nil {
			err = fmt.Errorf("move aside %s", fsx.Explain(err, p.Path))
			return nil, errors.Join(err, a.putBack())
		}
	}
	return a, nil
}

// inside reports whether an out lies in the project, links of its folders followed. One that holds the project's own .pipe is an
// error.
func (o *Observer) inside(p string) (bool, error) {
	if filepath.IsAbs(filepath.FromSlash(p)) || !filepath.IsLocal(filepath.FromSlash(p)) {
		return false, nil
	}
	if clean := filepath.ToSlash(filepath.Clean(filepath.FromSlash(p))); clean == "." || clean == ".pipe" || strings.HasPrefix(clean, ".pipe/") {
		return false, fmt.Errorf("move aside %s: an out cannot hold or lie in the project's .pipe", p)
	}
	root, err := filepath.EvalSymlinks(o.root)
	if err != nil {
		return false, fmt.Errorf("move aside %s", fsx.Explain(err, p))
	}
	parent := filepath.Dir(filepath.Join(o.root, filepath.FromSlash(p)))
	for { // the nearest folder that exists
		real, err := filepath.EvalSymlinks(parent)
		if err == nil {
			return real == root || strings.HasPrefix(real, root+string(filepath.Separator)), nil
		}
		if !isMissing(err) {
			return false, fmt.Errorf("move aside %s", fsx.Explain(err, p))
		}
		parent = filepath.Dir(parent)
	}
}

// folderName makes a name of one path element out of any text, two for two: readable where it can be.
func folderName(s string) string {
	name := url.PathEscape(s)
	if name == "" || name[0] == '.' || name[0] == '%' || len(name) > 100 {
		sum := sha256.Sum256([]byte(s))
		return "%" + hex.EncodeToString(sum[:16])
	}
	return name
}

func (a *Aside) at(i int) string {
	return filepath.Join(a.o.root, filepath.FromSlash(a.outs[i].Path))
}

func (a *Aside) kept(i int) string { return filepath.Join(a.dir, strconv.Itoa(i)) }

// Clear removes what an attempt made, so that the next one finds nothing. What was put away stays away.
func (a *Aside) Clear() error {
	var errs []error
	for i, p := range a.outs {
		// Looked at again: a program may have put a link to elsewhere in a folder's place.
		inside, err := a.o.inside(p.Path)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !inside:
			errs = append(errs, fmt.Errorf("remove %s: the stage made it lie outside the project", p.Path))
		default:
			if err := removeAll(a.at(i)); err != nil {
				errs = append(errs, fmt.Errorf("remove %s", fsx.Explain(err, p.Path)))
			}
		}
	}
	return errors.Join(errs...)
}

// Restore removes what the failed run made and puts back what was there before it. A kill in between is finished by RestoreLeft.
// A second call does nothing, nor does one after Drop.
func (a *Aside) Restore() error {
	if err := a.Clear(); err != nil {
		return err
	}
	err := a.putBack()
	if err == nil {
		a.outs = nil
	}
	return err
}

// putBack moves home what stands in the folder, over what stands in its place, and then removes the folder.
func (a *Aside) putBack() error {
	if a.dir == "" {
		return nil
	}
	var errs []error
	for i, p := range a.outs {
		if _, err := os.Lstat(a.kept(i)); err != nil {
			continue // it never left, or is back
		}
		err := removeAll(a.at(i))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(a.at(i)), 0o755) // a program may have removed the folder too
		}
		if err == nil {
			err = a.o.move(a.kept(i), a.at(i), removeAtOnce)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("put back %s; it is kept at %s", fsx.Explain(err, p.Path), a.kept(i)))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return a.drop()
}

// Drop gives up what was put away: the stage succeeded. From its first step on, nothing comes back any more, a kill in the midst
// of it included. To be called once the new outs are observed and before an entry names them, so that at no moment an old file
// stands beside a new entry.
func (a *Aside) Drop() error {
	a.outs = nil
	return a.drop()
}

func (a *Aside) drop() error {
	if a.dir == "" {
		return nil
	}
	dir := a.dir
	a.dir = ""
	if err := fsx.RemoveSynced(filepath.Join(dir, manifestName)); err != nil {
		return err
	}
	if err := removeAll(dir); err != nil {
		return fmt.Errorf("remove %s", fsx.Explain(err, dir))
	}
	return nil
}

// RestoreLeft puts back what runs that were killed had put away, over what they left in its place, and gives the paths, sorted. An
// out that had no old state is left as it is: nobody knows any more who made what stands there. To be called by the holder of the
// project's mutex, before anything runs.
func (o *Observer) RestoreLeft() ([]string, error) {
	top := filepath.Join(o.root, filepath.FromSlash(asideDir))
	runs, err := os.ReadDir(top)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for outs that a killed run put away: %s", fsx.Explain(err, asideDir))
	}
	var back []string
	var errs []error
	for _, run := range runs {
		if !run.IsDir() {
			continue
		}
		dir := filepath.Join(top, run.Name())
		stages, err := os.ReadDir(dir)
		if err != nil {
			errs = append(errs, fmt.Errorf("look for outs that a killed run put away: %s", fsx.Explain(err, asideDir+"/"+run.Name())))
			continue
		}
		for _, stage := range stages {
			if !stage.IsDir() {
				continue
			}
			paths, err := o.restoreLeft(filepath.Join(dir, stage.Name()))
			back = append(back, paths...)
			if err != nil {
				errs = append(errs, err)
			}
		}
		_ = os.Remove(dir) // stays if something in it does
	}
	slices.Sort(back)
	return back, errors.Join(errs...)
}

func (o *Observer) restoreLeft(dir string) (back []string, err error) {
	a := &Aside{o: o, dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if isMissing(err) {
		return nil, a.drop()
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil || m.Version != 1 {
		return nil, fmt.Errorf("a killed run put outs away in %s, whose %s cannot be read: move what is in it back by hand, then remove the folder", dir, manifestName)
	}
	for i, p := range m.Outs {
		inside, err := o.inside(p.Path)
		if err != nil || !inside {
			return nil, fmt.Errorf("a killed run put outs away in %s, whose %s names %s outside the project: move what is in it back by hand, then remove the folder", dir, manifestName, p.Path)
		}
		if _, err := os.Lstat(a.kept(i)); err == nil {
			back = append(back, p.Path)
		}
	}
	a.outs = m.Outs
	if err := a.putBack(); err != nil {
		return nil, err
	}
	return back, nil
}

// removeAtOnce is removeAll for what must be whole or gone, should a kill come in the midst.
func removeAtOnce(p string) error {
	gone := p + ".gone"
	if err := os.Rename(p, gone); err != nil {
		return err
	}
	return removeAll(gone)
}

// removeAll removes a file or a folder with all in it, folders included that a program made read-only. That there is none is no
// error.
func removeAll(p string) error {
	err := os.RemoveAll(p)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(p, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(p)
}
