package iceberg_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"pipe/internal/diag"
	"pipe/sinks"
	"pipe/sinks/iceberg"
)

// wantBroken asks for an error to the user that names the place and has the status of a broken environment.
func wantBroken(t *testing.T, err error, words ...string) {
	t.Helper()
	var e *diag.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T), want a *diag.Error", err, err)
	}
	if e.Exit != diag.Broken {
		t.Errorf("exit status %d, want %d", e.Exit, diag.Broken)
	}
	for _, w := range words {
		if !strings.Contains(e.Msg, w) {
			t.Errorf("%q does not say %q", e.Msg, w)
		}
	}
	if strings.Contains(e.Msg, "failed to") || strings.Contains(e.Msg, "panic") {
		t.Errorf("%q is the library's own text", e.Msg)
	}
}

func TestWarehouseIsAFile(t *testing.T) {
	l := newLake(t)
	if err := os.Mkdir(filepath.Dir(l.warehouse()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.warehouse(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := openLake(t, l)
	if err == nil {
		_, err = write(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	}
	wantBroken(t, err, ".pipe/warehouse")
}

func TestCatalogIsNoDatabase(t *testing.T) {
	for name, content := range map[string]string{"text": strings.Repeat("this is no database\n", 300), "cut short": "SQLite format 3\x00"} {
		t.Run(name, func(t *testing.T) {
			l := newLake(t)
			db := filepath.Join(l.root, ".pipe", "catalog.db")
			if err := os.Mkdir(filepath.Dir(db), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(db, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			c, err := openLake(t, l)
			if err == nil {
				_, err = c.Observe(t.Context(), []string{"prod.people"})
			}
			wantBroken(t, err, ".pipe/catalog.db")
			if c != nil {
				_, err = write(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
				wantBroken(t, err, ".pipe/catalog.db")
			}
			if now, err := os.ReadFile(db); err != nil || string(now) != content {
				t.Error("the file was changed")
			}
		})
	}
}

// The catalog is where it was, the tables are not: the folder was moved by hand, or its volume is not mounted.
func TestTableFilesAreGone(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	s := stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	publish(t, c, sinks.Move{Table: "prod.people", To: s.ID})
	if err := os.Rename(l.warehouse(), l.warehouse()+".old"); err != nil {
		t.Fatal(err)
	}
	fresh := lake{root: l.root}
	o := fresh.options()
	o.CacheDir = t.TempDir() // nothing remembered
	again, err := iceberg.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	_, err = again.Observe(t.Context(), []string{"prod.people"})
	wantBroken(t, err, "prod.people")
	if err := os.Rename(l.warehouse()+".old", l.warehouse()); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Observe(t.Context(), []string{"prod.people"}); err != nil {
		t.Errorf("the files are back: %v", err)
	}
}

// What the cache holds may be lost, cut or old without any harm.
func TestDamagedCacheIsAMiss(t *testing.T) {
	l := newLake(t)
	s := stage(t, l.open(t), people(t), sinks.Base{Run: "r1"}, row(1))
	c := l.open(t)
	look(t, c, "prod.people")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	cached := files(t, l.options().CacheDir, "")
	if len(cached) == 0 {
		t.Fatal("nothing was cached")
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":      func([]byte) []byte { return nil },
		"cut":        func(b []byte) []byte { return b[:len(b)/2] },
		"a bit off":  func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"twice":      func(b []byte) []byte { return append(b, b...) },
		"other file": func([]byte) []byte { return []byte("#!/bin/sh\n") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range cached {
				path := filepath.Join(l.options().CacheDir, f)
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, damage(b), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			again := l.open(t)
			if id := look(t, again, "prod.people").Head(sinks.RunRef("r1")); id != s.ID {
				t.Errorf("run ref %q, want %q", id, s.ID)
			}
			if err := again.Close(); err != nil { // which makes a good one again
				t.Fatal(err)
			}
		})
	}
}

// A disk that is full: the error says so in plain words, the table is as it was, and no file is left of the write.
func TestNoSpaceLeft(t *testing.T) {
	l := newLake(t)
	c := l.open(t)
	one := stage(t, c, people(t), sinks.Base{Run: "r1"}, row(1))
	publish(t, c, sinks.Move{Table: "prod.people", To: one.ID})
	before := files(t, l.warehouse(), ".parquet")
	out, err := child(t, "limited", l).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "exit 5: ") || !strings.Contains(string(out), "the file would be larger than is allowed") {
		t.Errorf("the write that met the limit said %q", out)
	}
	if after := files(t, l.warehouse(), ".parquet"); len(after) != len(before) {
		t.Errorf("%d files, before there were %d", len(after), len(before))
	}
	tab := look(t, l.open(t), "prod.people")
	if len(tab.Snapshots) != 1 || tab.Head(sinks.Main) != one.ID {
		t.Errorf("the table is now %+v", tab)
	}
}

// writeUnderLimit writes more than the process may, and prints what it is told.
func writeUnderLimit(l lake) {
	ctx := context.Background()
	limit := syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		return
	}
	c, err := iceberg.Open(ctx, l.options())
	if err != nil {
		fmt.Println(err)
		return
	}
	err = func() error {
		tx, err := c.Begin(ctx, sinks.Spec{Table: "prod.big", Schema: idOnly}, sinks.Base{Run: "r2"})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Abort(ctx) }()
		for range 10 {
			b := array.NewRecordBuilder(memory.DefaultAllocator, tx.Schema())
			for range 100_000 {
				b.Field(0).(*array.Int64Builder).Append(rand.Int64())
			}
			if err := tx.Write(ctx, b.NewRecordBatch()); err != nil {
				return err
			}
		}
		_, err = tx.Stage(ctx, stamp("r2"))
		return err
	}()
	fmt.Printf("exit %d: %v\n", diag.ExitOf(err), err)
	os.Exit(0)
}
