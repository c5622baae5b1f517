package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pipe/internal/diag"
	"pipe/internal/files"
	"pipe/internal/fsx"
	"pipe/internal/repo"
	"pipe/internal/view"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/run"
	"pipe/sinks"
	"pipe/sinks/iceberg"
	"pipe/stages"
	"pipe/stages/command"
	"pipe/stages/generate"
)

// withBuiltIn is where every kind of stage that the command knows is named.
func withBuiltIn(own map[string]stages.Kind) map[string]stages.Kind {
	kinds := map[string]stages.Kind{
		"cmd":      command.Kind(),
		"generate": generate.Kind(),
	}
	maps.Copy(kinds, own)
	return kinds
}

// layout finds the project: --dir, PIPE_DIR, or the nearest folder upwards that holds pipeline.yaml.
func (a *app) layout() (repo.Layout, error) {
	dir, err := a.named()
	if err != nil {
		return repo.Layout{}, err
	}
	if dir != "" {
		if dir, err = repo.RootAt(dir); err != nil {
			return repo.Layout{}, err
		}
		return repo.Open(dir)
	}
	here, err := a.env.Getwd()
	if err != nil {
		return repo.Layout{}, &diag.Error{Exit: diag.Broken, Msg: "the current folder is gone: " + err.Error(), Err: err}
	}
	root, err := repo.FindRoot(here)
	if err != nil {
		return repo.Layout{}, err
	}
	return repo.Open(root)
}

// named gives the folder that the user named, absolute; "" for none.
func (a *app) named() (string, error) {
	dir := a.dir
	if dir == "" {
		dir = a.env.Getenv("PIPE_DIR")
	}
	if dir == "" || filepath.IsAbs(dir) {
		return dir, nil
	}
	here, err := a.env.Getwd()
	if err != nil {
		return "", &diag.Error{Exit: diag.Broken, Msg: "the current folder is gone: " + err.Error(), Err: err}
	}
	return filepath.Join(here, dir), nil
}

// definition is a project's files, read and checked.
type definition struct {
	layout repo.Layout
	graph  *pipeline.Graph
	lock   *lockfile.Lock
	git    *repo.Git
}

// define reads pipeline.yaml, the lock and what git says of both. The mistakes of all of them are told at once: one phase's error
// hides no later phase's.
func (a *app) define() (*definition, error) {
	l, err := a.layout()
	if err != nil {
		return nil, err
	}
	d := &definition{layout: l}
	var list diag.List
	var other error // what is no mistake of a file: the environment is broken
	add := func(err error) {
		var e *diag.Error
		var l diag.List
		if err != nil && !errors.As(err, &l) && !errors.As(err, &e) {
			other = errors.Join(other, err)
		} else {
			list = append(list, diag.All(err)...)
		}
	}
	d.graph, err = pipeline.Load(os.DirFS(l.Root), repo.PipelineFile)
	add(err)
	if d.graph != nil {
		list = append(list, unspoilt(d.graph, list, stages.Check(d.graph, a.kinds))...)
	}
	d.lock, err = run.ReadLock(l.Root)
	add(err)
	d.git, err = repo.OpenGit(l.Root)
	add(err)
	for _, name := range []string{repo.PipelineFile, repo.LockFile} {
		if ok, by := d.git.Ignored(name, a.env.Getenv("HOME")); ok {
			list = append(list, diag.Errorf(diag.Pos{File: name}, "git ignores this file, and it must go into git (%s)", by).
				With("take the rule out of the ignore file, or add !/%s below it", name))
		}
	}
	if err := list.Err(); err != nil {
		quoteLines(l.Root, list)
		return nil, err
	}
	if other != nil {
		return nil, other
	}
	if !a.quiet && a.logs != "json" {
		_ = view.Warnings(a.env.Stderr, a.errStyle(), d.graph.Warn)
	}
	return d, nil
}

// unspoilt leaves out what a kind of stage finds wrong with a stage that has mistakes already: what could not be read would be
// reported as missing.
func unspoilt(g *pipeline.Graph, known, found diag.List) diag.List {
	spoilt := map[string]bool{}
	for _, e := range known {
		in := ""
		for _, s := range g.Stages {
			if s.Pos.File == e.Pos.File && s.Pos.Line <= e.Pos.Line {
				in = s.Name
			}
		}
		spoilt[in] = true
	}
	var out diag.List
	for _, e := range found {
		if !spoilt[e.Stage] {
			out = append(out, e)
		}
	}
	return out
}

// quoteLines gives mistakes whose finder saw only the place the source line that belongs to it.
func quoteLines(root string, list diag.List) {
	lines := map[string][]string{}
	for _, e := range list {
		file := e.Pos.File
		if e.Line != "" || e.Pos.Line == 0 || file == "" || !filepath.IsLocal(file) {
			continue
		}
		if _, ok := lines[file]; !ok {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil {
				data = nil
			}
			lines[file] = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
		}
		if n := e.Pos.Line; n <= len(lines[file]) {
			e.Line = lines[file][n-1]
		}
	}
}

// names gives the stages' names, in the graph's order.
func (d *definition) names() []string { return d.graph.Order() }

// session is an open project: its definition, and what runs it. Close it.
type session struct {
	*definition
	project  *run.Project
	catalogs map[string]sinks.Catalog
}

// open opens the project for a verb that looks at tables. Nothing is created before a run begins.
func (a *app) open(ctx context.Context) (*session, error) {
	d, err := a.define()
	if err != nil {
		return nil, err
	}
	if err := d.layout.CheckMoved(); err != nil {
		return nil, err
	}
	s := &session{definition: d, catalogs: map[string]sinks.Catalog{}}
	shared, err := a.openSinks(ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	observer, err := files.Open(d.layout.Root, a.env.Now)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.project = &run.Project{
		Root: d.layout.Root, Graph: d.graph, Catalogs: s.catalogs, Shared: shared, Kinds: a.kinds, Files: observer,
		History: d.git.History, Revision: d.git.Revision, Detached: d.git.Detached(),
		Version: version().Version, Environ: a.env.Environ, Now: a.env.Now,
		Prepare:  func() error { return a.prepare(d.layout) },
		ID:       d.layout.Prepare,
		EndGroup: func(pid int, start string) error { return command.EndGroup(ctx, pid, start) },
	}
	return s, nil
}

// prepare makes .pipe, once a run is about to begin.
func (a *app) prepare(l repo.Layout) error {
	if _, err := l.Prepare(); err != nil {
		return err
	}
	// For editors: the first line of pipeline.yaml names it. It is a convenience, so that no run ends for its sake.
	if _, err := os.Stat(l.SchemaFile()); err != nil {
		_ = fsx.WriteAtomic(l.SchemaFile(), pipeline.JSONSchema(), 0o666)
	}
	return nil
}

// Close lets go of catalogs and git.
func (s *session) Close() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.catalogs)) {
		errs = append(errs, s.catalogs[name].Close())
	}
	return errors.Join(append(errs, s.git.Close())...)
}

// openSinks opens the catalogs of the sinks that the graph uses, and tells which of them lie outside of the project's own .pipe.
func (a *app) openSinks(ctx context.Context, s *session) (shared map[string]bool, err error) {
	configured, err := a.sinkOptions(s.definition)
	if err != nil {
		return nil, err
	}
	shared = map[string]bool{}
	for _, c := range configured {
		switch c.format {
		case "iceberg":
			o := iceberg.Options{
				Name: c.name, URI: "sqlite:" + c.database, Warehouse: c.warehouse,
				Root: s.layout.Root, CacheDir: filepath.Join(s.layout.Cache(), "tables"),
			}
			catalog, err := iceberg.Open(ctx, o)
			if err != nil {
				return nil, err
			}
			s.catalogs[c.name] = catalog
			shared[c.name] = !strings.HasPrefix(c.database, s.layout.Dir()+string(filepath.Separator))
		default:
			return nil, diag.Errorf(c.pos, "sink %s: format %s is not supported yet", c.name, c.format).With("format: iceberg")
		}
	}
	return shared, nil
}
