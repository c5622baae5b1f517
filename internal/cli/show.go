package cli

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/view"
	"pipe/pipeline/plan"
	"pipe/sinks"
)

type showOptions struct {
	table string
	limit int
}

func (a *app) showCommand() *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show TABLE[@SNAPSHOT] [flags]",
		Short: "Show a table: its snapshot, where it lies, its columns and some of its rows",
		Long: `Show a table at its head, or at the snapshot, tag or branch behind the @. A table of a sink other than the default one is
SINK/TABLE. The rows are the first that are read, in no order.`,
		Args:              exactly("TABLE"),
		ValidArgsFunction: a.completeTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.table = args[0]
			return a.runShow(cmd.Context(), o)
		},
	}
	c.Flags().IntVar(&o.limit, "limit", 10, "at most `N` rows; 0 shows none")
	return c
}

func (a *app) runShow(ctx context.Context, o showOptions) (err error) {
	if o.limit < 0 {
		return diag.Errorf(diag.Pos{}, "--limit is %d, expected 0 or more", o.limit)
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	name, at, _ := strings.Cut(o.table, "@")
	key, err := findTable(s.definition, name)
	if err != nil {
		return err
	}
	catalog := s.catalogs[key.Sink]
	if catalog == nil {
		return noTable(s.definition, name)
	}
	tables, err := catalog.Observe(ctx, []string{key.Table})
	if err != nil {
		return err
	}
	t := tables[key.Table]
	if t == nil {
		return missing(s.definition, key)
	}
	v := view.Table{Key: key, Location: t.Location, Metadata: t.Metadata, Schema: t.Schema}
	if v.Snapshot, v.Ref, err = snapshotAt(t, key, at); err != nil {
		return err
	}
	if v.Snapshot != nil {
		if err := readSample(ctx, catalog, &v, o.limit); err != nil {
			return err
		}
	}
	if a.json {
		return view.ShowJSON(a.env.Stdout, v)
	}
	return view.Show(a.env.Stdout, v, a.outStyle())
}

// findTable gives the sink and name of what the user calls a table: a name of pipeline.yaml, or one that only the catalog knows.
func findTable(d *definition, name string) (plan.TableKey, error) {
	var hits []plan.TableKey
	for _, k := range tables(d) {
		if k.String() == name {
			return k, nil
		}
		if k.Table == name {
			hits = append(hits, k)
		}
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		return plan.TableKey{}, diag.Errorf(diag.Pos{}, "several sinks have a table %s", name).With("pipe show %s", hits[0])
	}
	if s := d.graph.Stage(name); s != nil {
		for _, o := range s.Outs {
			if o.Table != "" {
				return plan.TableKey{Sink: o.Sink, Table: o.Table}, nil
			}
		}
		return plan.TableKey{}, diag.Errorf(diag.Pos{}, "stage %s makes no table", name)
	}
	if sink, table, ok := strings.Cut(name, "/"); ok && d.graph.Sinks[sink] != nil {
		return plan.TableKey{Sink: sink, Table: table}, nil
	}
	if d.graph.Sinks[plan.DefaultSink] != nil && strings.Contains(name, ".") {
		return plan.TableKey{Sink: plan.DefaultSink, Table: name}, nil
	}
	return plan.TableKey{}, noTable(d, name)
}

// tables gives the tables of the graph, sorted.
func tables(d *definition) []plan.TableKey {
	set := map[plan.TableKey]bool{}
	for _, s := range d.graph.Stages {
		for _, o := range s.Outs {
			if o.Table != "" {
				set[plan.TableKey{Sink: o.Sink, Table: o.Table}] = true
			}
		}
		for _, dep := range s.Deps {
			if dep.Table != "" {
				set[plan.TableKey{Sink: dep.Sink, Table: dep.Table}] = true
			}
		}
	}
	keys := slices.Collect(maps.Keys(set))
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	return keys
}

func noTable(d *definition, name string) error {
	var names []string
	for _, k := range tables(d) {
		names = append(names, k.String())
	}
	e := diag.Errorf(diag.Pos{}, "no table is called %q", name)
	if c := diag.Closest(name, names); c != "" {
		return e.With("did you mean %s?", c)
	}
	if len(names) > 0 {
		return e.With("there are: %s", strings.Join(names, ", "))
	}
	return e
}

// missing is the error for a table that pipeline.yaml names, or might, and no catalog has.
func missing(d *definition, key plan.TableKey) error {
	if p := d.graph.Producer(key.Sink, key.Table); p != nil {
		return diag.Errorf(diag.Pos{}, "table %s was not made yet", key).With("pipe repro %s", p.Name)
	}
	if slices.Contains(tables(d), key) {
		return diag.Errorf(diag.Pos{}, "table %s does not exist in sink %s", key, key.Sink)
	}
	return noTable(d, key.String())
}

// snapshotAt finds the snapshot that at names: an id, a ref, or nothing for the head of main. ref is the branch or tag whose head it
// is. A table without a head has no snapshot.
func snapshotAt(t *sinks.Table, key plan.TableKey, at string) (s *sinks.Snapshot, ref string, err error) {
	if at == "" {
		if id := t.Head(sinks.Main); id != "" {
			return t.Snapshot(id), sinks.Main, nil
		}
		return nil, "", nil
	}
	if id, ok := t.Refs[at]; ok {
		return t.Snapshot(id), at, nil
	}
	if s := t.Snapshot(sinks.SnapshotID(at)); s != nil {
		if t.Head(sinks.Main) == s.ID {
			ref = sinks.Main
		}
		return s, ref, nil
	}
	e := diag.Errorf(diag.Pos{}, "table %s has no snapshot or ref %s", key, at)
	var ids []string
	for _, s := range slices.Backward(t.Snapshots) {
		if len(ids) == 5 {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, string(s.ID))
	}
	if len(ids) > 0 {
		return nil, "", e.With("the newest are: %s", strings.Join(ids, ", "))
	}
	return nil, "", e
}

// readSample reads the columns of the snapshot and its first rows.
func readSample(ctx context.Context, r sinks.Reader, v *view.Table, limit int) error {
	// A limit of 0 means all to Scan; one row is read and thrown away for its columns.
	columns, batches, err := r.Scan(ctx, sinks.Target{Table: v.Key.Table, Snapshot: v.Snapshot.ID}, sinks.ScanOptions{Limit: int64(max(1, limit))})
	if err != nil {
		return err
	}
	if v.Schema, err = sinks.FromArrow(columns); err != nil {
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for i := 0; i < int(batch.NumRows()) && len(v.Sample) < limit; i++ {
			row := make([]view.Cell, batch.NumCols())
			for c := range row {
				row[c] = cell(batch.Column(c), i)
			}
			v.Sample = append(v.Sample, row)
		}
		batch.Release()
	}
	return nil
}

func cell(column arrow.Array, i int) view.Cell {
	if column.IsNull(i) {
		return view.Cell{}
	}
	text := column.ValueStr(i)
	raw, err := json.Marshal(column.GetOneForMarshal(i))
	if err != nil { // a number that JSON has not: NaN, Inf
		raw, err = json.Marshal(text)
	}
	if err != nil {
		raw = json.RawMessage(`"?"`)
	}
	return view.Cell{Text: text, JSON: raw}
}
