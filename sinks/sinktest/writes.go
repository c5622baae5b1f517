package sinktest

import (
	"errors"
	"strings"
	"testing"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

// laidOut: how a table is partitioned and sorted changes where rows lie, never which there are.
func laidOut(t *testing.T, s *suite) {
	sc := schema.Schema{Fields: []schema.Field{
		{Name: "id", Type: schema.Type{Kind: schema.Long}, Required: true},
		{Name: "at", Type: schema.Type{Kind: schema.Timestamp}},
		{Name: "k", Type: schema.Type{Kind: schema.String}},
		{Name: "n", Type: schema.Type{Kind: schema.Int}},
	}}
	rows := []string{
		`{"at":"2024-12-31T23:59:59.999999","id":1,"k":"de","n":-7}`,
		`{"at":"2025-01-01T00:00:00","id":2,"k":"de","n":7}`,
		`{"at":"1969-12-31T23:00:00","id":3,"k":"a/b=c d+é%","n":0}`,
		`{"at":null,"id":4,"k":null,"n":null}`,
		`{"at":"2025-01-01T00:30:00","id":5,"k":"","n":12}`,
	}
	for name, by := range map[string][]schema.Transform{
		"identity":    {{Name: schema.Identity, Column: "k"}},
		"bucket":      {{Name: schema.Bucket, Arg: 4, Column: "id"}},
		"truncate":    {{Name: schema.Truncate, Arg: 10, Column: "n"}, {Name: schema.Truncate, Arg: 1, Column: "k"}},
		"year":        {{Name: schema.Year, Column: "at"}},
		"month":       {{Name: schema.Month, Column: "at"}},
		"day":         {{Name: schema.Day, Column: "at"}},
		"hour":        {{Name: schema.Hour, Column: "at"}},
		"two parts":   {{Name: schema.Day, Column: "at"}, {Name: schema.Bucket, Arg: 2, Column: "id"}},
		"only sorted": nil,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			table := "m." + strings.ReplaceAll(name, " ", "_")
			spec := sinks.Spec{
				Table: table, Schema: sc, PartitionBy: by, SortBy: []schema.SortField{{Column: "n", Descending: true}, {Column: "k", NullsLast: true}},
				Key: []string{"id"},
			}
			write := func(base sinks.Base, lines ...string) sinks.Snapshot {
				t.Helper()
				tx, err := s.c.Begin(t.Context(), spec, base)
				if err != nil {
					t.Fatal(err)
				}
				b := batch(t, tx.Schema(), lines...)
				defer b.Release()
				if err := tx.Write(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				snap, err := tx.Stage(t.Context(), stamp(base.Run))
				if err != nil {
					t.Fatal(err)
				}
				return snap
			}
			one := write(sinks.Base{Run: "r1"}, rows[:3]...)
			two := write(sinks.Base{Parent: one.ID, Append: true, Run: "r2"}, rows[3:]...)
			same(t, read(t, s.c, table, one.ID, sinks.ScanOptions{}), rows[:3]...)
			same(t, read(t, s.c, table, two.ID, sinks.ScanOptions{}), rows...)
			three := write(sinks.Base{Parent: two.ID, Run: "r3"}, rows[1])
			same(t, read(t, s.c, table, three.ID, sinks.ScanOptions{}), rows[1])
			if one.Rows != 3 || two.Rows != 5 || three.Rows != 1 {
				t.Errorf("rows %d, %d, %d; want 3, 5, 1", one.Rows, two.Rows, three.Rows)
			}
		})
	}
}

// nullsRefused: a NULL in a required column is refused by Write, whatever the batch's own schema says.
func nullsRefused(t *testing.T, s *suite) {
	loose := schema.Schema{Fields: []schema.Field{{Name: "id", Type: schema.Type{Kind: schema.Long}}, people.Fields[1]}}
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, sinks.ArrowSchema(loose), `{"id":1,"name":null}`, `{"id":null,"name":"x"}`)
	defer b.Release()
	if err := tx.Write(t.Context(), b); err == nil || !strings.Contains(err.Error(), `"id"`) {
		t.Errorf("%v, want an error that names id", err)
	}
	if err := tx.Abort(t.Context()); err != nil {
		t.Error(err)
	}
}

// othersRefused: a batch of other columns is refused.
func othersRefused(t *testing.T, s *suite) {
	for name, other := range map[string]schema.Schema{
		"another type":  {Fields: []schema.Field{{Name: "id", Type: schema.Type{Kind: schema.Int}}, people.Fields[1]}},
		"another order": {Fields: []schema.Field{people.Fields[1], people.Fields[0]}},
		"one too few":   {Fields: people.Fields[:1]},
	} {
		tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Run: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		b := batch(t, sinks.ArrowSchema(other), `{"id":1,"name":"x"}`)
		if err := tx.Write(t.Context(), b); err == nil {
			t.Errorf("%s: the batch was taken", name)
		}
		b.Release()
		if err := tx.Abort(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// equalRows: a snapshot is a state of a table, not its content: equal rows staged twice are two snapshots.
func equalRows(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	two := s.stage(t, "m.t", sinks.Base{Run: "r2"}, row(1))
	three := s.stage(t, "m.t", sinks.Base{Parent: one.ID, Run: "r3"}, row(1))
	if one.ID == two.ID || one.ID == three.ID || two.ID == three.ID {
		t.Errorf("ids %s, %s, %s", one.ID, two.ID, three.ID)
	}
	for _, x := range []sinks.Snapshot{one, two, three} {
		same(t, read(t, s.c, "m.t", x.ID, sinks.ScanOptions{}), row(1))
	}
}

// stagedAgain: a stage that is tried again within one run takes over the run's ref.
func stagedAgain(t *testing.T, s *suite) {
	base := s.stage(t, "m.t", sinks.Base{Append: true, Run: "r0"}, row(0))
	s.publish(t, sinks.Move{Table: "m.t", To: base.ID})
	first := s.stage(t, "m.t", sinks.Base{Parent: base.ID, Append: true, Run: "r1"}, row(1))
	second := s.stage(t, "m.t", sinks.Base{Parent: base.ID, Append: true, Run: "r1"}, row(2))
	if id := observe(t, s.c, "m.t").Head(sinks.RunRef("r1")); id != second.ID {
		t.Errorf("the run's ref names %s, want %s", id, second.ID)
	}
	same(t, read(t, s.c, "m.t", second.ID, sinks.ScanOptions{}), row(0), row(2))
	same(t, read(t, s.c, "m.t", first.ID, sinks.ScanOptions{}), row(0), row(1))
}

// overIsOver: after Stage and after Abort a write takes no more, and an Abort after Stage takes nothing away.
func overIsOver(t *testing.T, s *suite) {
	tx, err := s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, tx.Schema(), row(1))
	defer b.Release()
	if err := tx.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	snap, err := tx.Stage(t.Context(), stamp("r1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Write(t.Context(), b); err == nil {
		t.Error("a batch was taken after Stage")
	}
	if _, err := tx.Stage(t.Context(), stamp("r1")); err == nil {
		t.Error("a write was staged twice")
	}
	if err := tx.Abort(t.Context()); err != nil {
		t.Error(err)
	}
	same(t, read(t, s.c, "m.t", snap.ID, sinks.ScanOptions{}), row(1))
	if tx, err = s.c.Begin(t.Context(), sinks.Spec{Table: "m.t", Schema: people}, sinks.Base{Run: "r2"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tx.Abort(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := tx.Write(t.Context(), b); err == nil {
		t.Error("a batch was taken after Abort")
	}
	if _, err := tx.Stage(t.Context(), stamp("r2")); err == nil {
		t.Error("a write was staged after Abort")
	}
}

// publishErrors: what a publish says of tables and snapshots that are not there. Nothing moves.
func publishErrors(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	for name, c := range map[string]struct {
		move sinks.Move
		want error
	}{
		"no such table":    {sinks.Move{Table: "m.none", To: "77"}, sinks.ErrNoTable},
		"no such snapshot": {sinks.Move{Table: "m.t", To: "77"}, sinks.ErrExpired},
		"no such ref":      {sinks.Move{Table: "m.t", From: "77", To: one.ID}, sinks.ErrConflict},
	} {
		err := s.c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main, Moves: []sinks.Move{c.move}})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.move.Table) {
			t.Errorf("%s: %v, want %v, with the table's name", name, err, c.want)
		}
	}
	s.wantHead(t, "m.t", "")
	if err := s.c.Publish(t.Context(), sinks.Publication{Ref: sinks.Main}); err != nil {
		t.Errorf("a publish of nothing: %v", err)
	}
}

// otherRefs: a publish to another ref leaves main and the table's own schema alone.
func otherRefs(t *testing.T, s *suite) {
	one := s.stage(t, "m.t", sinks.Base{Run: "r1"}, row(1))
	s.publish(t, sinks.Move{Table: "m.t", To: one.ID})
	other := schema.Schema{Fields: people.Fields[:1]}
	two := s.stageAs(t, "m.t", other, sinks.Base{Parent: one.ID, Run: "r2"}, `{"id":2}`)
	p := sinks.Publication{Ref: "dev", Moves: []sinks.Move{{Table: "m.t", To: two.ID}}}
	for range 2 {
		if err := s.c.Publish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	tab := observe(t, s.c, "m.t")
	if tab.Head("dev") != two.ID || tab.Head(sinks.Main) != one.ID || tab.Published["dev"] != two.ID || tab.Published[sinks.Main] != one.ID {
		t.Errorf("refs %v, published %v", tab.Refs, tab.Published)
	}
	if !tab.Schema.Equal(people) {
		t.Errorf("the table's schema is that of the other ref:\n%s", tab.Schema)
	}
	same(t, read(t, s.c, "m.t", one.ID, sinks.ScanOptions{}), row(1))
	same(t, read(t, s.c, "m.t", two.ID, sinks.ScanOptions{}), `{"id":2}`)
}
