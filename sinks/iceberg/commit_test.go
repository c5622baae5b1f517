package iceberg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/iceberg-go/table"

	"pipe/pipeline/schema"
	"pipe/sinks"
)

func open(t *testing.T) *Catalog {
	t.Helper()
	dir := t.TempDir()
	c, err := Open(t.Context(), Options{
		Name: "lake", URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"), Root: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func stageNothing(t *testing.T, c *Catalog, name string) sinks.Snapshot {
	t.Helper()
	s := schema.Schema{Fields: []schema.Field{{Name: "id", Type: schema.Type{Kind: schema.Long}}}}
	x, err := c.Begin(t.Context(), sinks.Spec{Table: name, Schema: s}, sinks.Base{Run: "r0"})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := x.Stage(t.Context(), sinks.Stamp{Fingerprint: "1:aa"})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// hold makes the metadata that Hold would commit, and gives the move of the pointer without making it.
func hold(t *testing.T, c *Catalog, name, run string, snap sinks.Snapshot) pointerMove {
	t.Helper()
	now, err := c.load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := number(snap.ID)
	b, err := table.MetadataBuilderFromBase(now.Metadata(), now.MetadataLocation())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SetSnapshotRef(sinks.RunRef(run), n, table.BranchRef); err != nil {
		t.Fatal(err)
	}
	meta, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	m := pointerMove{table: name, old: now.MetadataLocation(), new: metadataFile(meta.Location(), now.MetadataLocation()), before: now.Metadata(), after: meta}
	if err := c.writeMetadata(m.new, meta); err != nil {
		t.Fatal(err)
	}
	return m
}

func swap(t *testing.T, c *Catalog, moves ...pointerMove) {
	t.Helper()
	tx, err := c.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.swap(t.Context(), tx, moves); err != nil {
		t.Fatal(err)
	}
}

// The answer to a commit is lost. What happened is told from where the pointers are.
func TestLostAnswer(t *testing.T) {
	lost := errors.New("connection reset")
	setUp := func(t *testing.T) (*Catalog, []pointerMove, []sinks.Snapshot) {
		c := open(t)
		snaps := []sinks.Snapshot{stageNothing(t, c, "m.a"), stageNothing(t, c, "m.b")}
		return c, []pointerMove{hold(t, c, "m.a", "r1", snaps[0]), hold(t, c, "m.b", "r1", snaps[1])}, snaps
	}
	t.Run("it happened", func(t *testing.T) {
		c, moves, _ := setUp(t)
		swap(t, c, moves...)
		if err := c.landed(t.Context(), moves, lost); err != nil {
			t.Error(err)
		}
	})
	t.Run("it happened and others went on from there", func(t *testing.T) {
		c, moves, snaps := setUp(t)
		swap(t, c, moves...)
		for _, run := range []string{"x", "y", "z"} {
			if err := c.Hold(t.Context(), run, []sinks.Target{{Table: "m.a", Snapshot: snaps[0].ID}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.landed(t.Context(), moves, lost); err != nil {
			t.Error(err)
		}
	})
	t.Run("it did not happen", func(t *testing.T) {
		c, moves, _ := setUp(t)
		err := c.landed(t.Context(), moves, lost)
		if !errors.Is(err, lost) || errors.Is(err, sinks.ErrUnknown) {
			t.Errorf("%v, want the cause alone", err)
		}
	})
	t.Run("others went on from before", func(t *testing.T) {
		c, moves, snaps := setUp(t)
		if err := c.Hold(t.Context(), "x", []sinks.Target{{Table: "m.a", Snapshot: snaps[0].ID}}); err != nil {
			t.Fatal(err)
		}
		if err := c.landed(t.Context(), moves, lost); err == nil {
			t.Error("a commit that lost is called done")
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		c, moves, _ := setUp(t)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path, []byte("gone to pieces"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := c.landed(t.Context(), moves, lost)
		if !errors.Is(err, sinks.ErrUnknown) || !errors.Is(err, lost) {
			t.Errorf("%v, want ErrUnknown", err)
		}
		for _, m := range moves {
			if _, err := os.Stat(local(m.new)); err != nil {
				t.Errorf("a file that the commit may name: %v", err)
			}
		}
	})
}

// A commit that was built on metadata that has moved since is built again, and loses nothing of what the other writer did.
func TestCommitIsBuiltAgain(t *testing.T) {
	c := open(t)
	snap := stageNothing(t, c, "m.a")
	n, _ := number(snap.ID)
	built := 0
	err := c.commit(t.Context(), []change{{"m.a", func(now *table.Table) (table.Metadata, error) {
		if built++; built == 1 {
			if err := c.Hold(context.WithoutCancel(t.Context()), "other", []sinks.Target{{Table: "m.a", Snapshot: snap.ID}}); err != nil {
				t.Fatal(err)
			}
		}
		b, err := table.MetadataBuilderFromBase(now.Metadata(), now.MetadataLocation())
		if err != nil {
			return nil, err
		}
		if err := b.SetSnapshotRef("mine", n, table.BranchRef); err != nil {
			return nil, err
		}
		return b.Build()
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Observe(t.Context(), []string{"m.a"})
	if err != nil {
		t.Fatal(err)
	}
	refs := got["m.a"].Refs
	if built != 2 || refs["mine"] != snap.ID || refs[sinks.RunRef("other")] != snap.ID {
		t.Errorf("built %d times, refs %v", built, refs)
	}
}
