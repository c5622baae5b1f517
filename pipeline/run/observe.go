package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"pipe/internal/diag"
	"pipe/internal/files"
	"pipe/internal/tabledigest"
	"pipe/lockfile"
	"pipe/pipeline"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

// world observes all that deciding looks at, once.
func (p *Project) world(ctx context.Context, lock *lockfile.Lock, sel plan.Selection, opts Options) (*plan.World, error) {
	w := &plan.World{
		Graph: p.Graph, Lock: lock, Ref: sinks.Main, Kinds: map[string]int{}, Env: map[string]string{}, Files: map[string]plan.File{},
		Tables: map[plan.TableKey]*sinks.Table{}, Held: map[plan.TableKey]bool{},
		Entries: map[string]*lockfile.Entry{}, Unknown: map[string]bool{}, Content: map[sinks.Target]plan.Content{},
	}
	if opts.Ref != "" {
		w.Ref = opts.Ref
	}
	for name, k := range p.Kinds {
		w.Kinds[name] = k.Version
	}
	environ := map[string]string{}
	for _, kv := range p.Environ {
		k, v, _ := strings.Cut(kv, "=")
		environ[k] = v
	}
	for _, s := range p.Graph.Stages {
		for _, v := range s.Env {
			if value, ok := environ[v.Name]; ok && v.Inherit {
				// Only the hash of a caller's value goes into the lock: it may be private.
				sum := sha256.Sum256([]byte(value))
				w.Env[v.Name] = "sha256:" + hex.EncodeToString(sum[:])
			}
		}
	}
	if err := p.lookAtFiles(ctx, w, fileNames(p.Graph, sel.Stages)); err != nil {
		return nil, err
	}
	if err := p.lookAtTables(ctx, w); err != nil {
		return nil, err
	}
	for _, s := range p.Graph.Stages {
		for _, o := range s.Outs {
			if o.Table != "" && p.Detached && opts.Ref == "" && p.Shared[o.Sink] {
				w.Held[plan.TableKey{Sink: o.Sink, Table: o.Table}] = true
			}
		}
	}
	if err := p.askHistory(w); err != nil {
		return nil, err
	}
	return w, p.scanAccepted(ctx, w, sel)
}

// fileNames gives the file deps and outs of the selected stages, as the definition has them.
func fileNames(g *pipeline.Graph, stages map[string]bool) []string {
	seen := map[string]bool{}
	var names []string
	add := func(n string) {
		if n != "" && !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	for _, s := range g.Stages {
		if !stages[s.Name] {
			continue
		}
		for _, d := range s.Deps {
			add(d.Path)
		}
		for _, o := range s.Outs {
			add(o.Path)
		}
	}
	return names
}

func (p *Project) lookAtFiles(ctx context.Context, w *plan.World, names []string) error {
	if len(names) == 0 {
		return nil
	}
	seen, err := p.Files.Observe(ctx, names)
	if err != nil {
		return err
	}
	for n, r := range seen {
		w.Files[n] = asFile(r)
	}
	return nil
}

func asFile(r files.Result) plan.File {
	return plan.File{Digest: r.Digest, Size: r.Size, Missing: r.Missing, Dir: r.Dir, Err: r.Err}
}

func (p *Project) lookAtTables(ctx context.Context, w *plan.World) error {
	bySink := map[string][]string{}
	seen := map[plan.TableKey]bool{}
	add := func(sink, table string) {
		k := plan.TableKey{Sink: sink, Table: table}
		if table != "" && !seen[k] {
			seen[k] = true
			bySink[sink] = append(bySink[sink], table)
		}
	}
	for _, s := range p.Graph.Stages {
		for _, o := range s.Outs {
			add(o.Sink, o.Table)
		}
		for _, d := range s.Deps {
			add(d.Sink, d.Table)
		}
	}
	for sink, names := range bySink {
		sort.Strings(names)
		c := p.Catalogs[sink]
		if c == nil {
			return &diag.Error{Exit: diag.Broken, Msg: fmt.Sprintf("sink %s is not open", sink)}
		}
		tables, err := c.Observe(ctx, names)
		if err != nil {
			return environment(err, "look at the tables of sink "+sink)
		}
		for _, n := range names {
			k := plan.TableKey{Sink: sink, Table: n}
			if t := tables[n]; t != nil {
				w.Tables[k] = t
			} else {
				delete(w.Tables, k)
			}
		}
	}
	return nil
}

// askHistory asks git only when a head is not where the lock says, since reading history is the dearest look of all.
func (p *Project) askHistory(w *plan.World) error {
	if p.History == nil || w.History != nil {
		return nil
	}
	var keys []plan.TableKey
	for _, s := range p.Graph.Stages {
		for _, o := range s.Outs {
			k := plan.TableKey{Sink: o.Sink, Table: o.Table}
			if o.Table == "" || w.Tables[k].Head(w.Ref) == "" {
				continue
			}
			if w.Relation(s, w.Lock.Stages[s.Name], k) != plan.Same {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	h, err := p.History(keys)
	if err != nil {
		return environment(err, "read the history of pipeline.lock")
	}
	w.History = h
	return nil
}

// scanAccepted finds the digests of heads that the user takes over and that pipe did not write.
func (p *Project) scanAccepted(ctx context.Context, w *plan.World, sel plan.Selection) error {
	for _, s := range p.Graph.Stages {
		for _, o := range s.Outs {
			if o.Table == "" || !sel.Stages[s.Name] || !(sel.Accept[s.Name] || o.OnDiverge == "rebase") {
				continue
			}
			k := plan.TableKey{Sink: o.Sink, Table: o.Table}
			h := w.Tables[k].Head(w.Ref)
			if h == "" || w.Known(k, h) {
				continue
			}
			c, err := p.scanContent(ctx, k, h)
			if err != nil {
				return err
			}
			w.Content[sinks.Target{Table: k.String(), Snapshot: h}] = c
		}
	}
	return nil
}

// scanContent reads a whole snapshot to find its digest.
func (p *Project) scanContent(ctx context.Context, k plan.TableKey, id sinks.SnapshotID) (plan.Content, error) {
	fail := func(err error) (plan.Content, error) {
		return plan.Content{}, environment(err, fmt.Sprintf("read %s at snapshot %s", k, id))
	}
	sc, rows, err := p.Catalogs[k.Sink].Scan(ctx, sinks.Target{Table: k.Table, Snapshot: id}, sinks.ScanOptions{})
	if err != nil {
		return fail(err)
	}
	h, err := tabledigest.New(sc)
	if err != nil {
		return fail(err)
	}
	var sum tabledigest.Sum
	for b, err := range rows {
		if err != nil {
			return fail(err)
		}
		sum = sum.Add(h.Batch(b))
		b.Release()
	}
	columns, err := sinks.FromArrow(sc)
	if err != nil {
		return fail(err)
	}
	return plan.Content{Digest: tabledigest.Digest(sum, columns), Sum: sum.String(), Rows: int64(sum.Rows())}, nil
}

// environment says what could not be done, for errors that are not the user's mistake. An error that already speaks to the user
// is left as it is.
func environment(err error, doing string) error {
	if all := diag.All(err); len(all) > 0 && all[0].Err != err {
		return err
	}
	return &diag.Error{Exit: diag.Broken, Msg: doing + ": " + err.Error(), Err: err}
}
