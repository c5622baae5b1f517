// Package iceberg keeps tables in Apache Iceberg: an SQL catalog in a SQLite file and a warehouse of Parquet files in a local
// folder. It is the only package that sees iceberg-go and the SQLite driver.
//
// What iceberg-go does for a single table is used as it is: schemas, Parquet files, scans. Snapshots and commits are made here, since
// the library names files by encoded URLs, and moves one table at a time: any number of tables move in one database transaction of
// compare-and-swap updates of their metadata pointers. Everything that a pointer names is on disk, synced, before the pointer moves.
//
// It never makes a folder or a database to look at one, never deletes a data file that a snapshot may name, and never expires a
// snapshot. It never logs; of the paths of the library that are used here, none does either for input that passes the checks made.
package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	ice "github.com/apache/iceberg-go"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"pipe/internal/diag"
	"pipe/internal/fsx"
	"pipe/sinks"
)

// Options say where a catalog is.
type Options struct {
	Name      string // the catalog's name, by which other engines open it: the sink's
	URI       string // "sqlite:" and the absolute path of the database
	Warehouse string // absolute path of the folder of the tables, or file:// and it
	Root      string // the project's folder, absolute; for messages
	CacheDir  string // a folder for what can be read again; may be missing
}

// Catalog is an open sink; safe for several goroutines. Nothing is created before the first write.
type Catalog struct {
	name      string
	path      string // of the database
	warehouse string // absolute path
	root      string
	cache     *stateCache
	now       func() time.Time

	mu  sync.Mutex
	db  *sql.DB
	fit bool // the database has its tables
	old bool // iceberg_tables has no column iceberg_type: made by an engine that knows no views
}

var _ sinks.Catalog = (*Catalog)(nil)

// Open checks the options. It touches neither the database nor the warehouse.
func Open(_ context.Context, o Options) (*Catalog, error) {
	path, ok := strings.CutPrefix(o.URI, "sqlite:")
	if !ok || !filepath.IsAbs(path) {
		return nil, diag.Errorf(diag.Pos{}, "sink %s: uri %q, expected sqlite: and a path", o.Name, o.URI).With(`uri: "sqlite:.pipe/catalog.db"`)
	}
	warehouse := local(o.Warehouse)
	if !filepath.IsAbs(warehouse) {
		return nil, diag.Errorf(diag.Pos{}, "sink %s: warehouse %q, expected a folder", o.Name, o.Warehouse).With("warehouse: .pipe/warehouse")
	}
	// Table metadata names files by URI, and other engines decode these characters where pipe does not.
	if i := strings.IndexAny(warehouse, "%#?"); i >= 0 {
		return nil, diag.Errorf(diag.Pos{}, "sink %s: the path of the warehouse, %s, holds %q, which other engines read as part of a URI", o.Name, warehouse, warehouse[i:i+1]).
			With("move the project, or the warehouse, to a path without %%, # and ?")
	}
	c := &Catalog{name: o.Name, path: path, warehouse: filepath.Clean(warehouse), root: o.Root, now: time.Now}
	c.cache = openCache(o.CacheDir, o.Name)
	return c, nil
}

// Close saves the cache and lets go of the database.
func (c *Catalog) Close() error {
	c.cache.save()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		return nil
	}
	err := c.db.Close()
	c.db = nil
	return err
}

// Atomic implements sinks.Writer.
func (c *Catalog) Atomic() bool { return true }

// database opens the SQLite file. Unless create is set, a file that does not exist gives nil: there are no tables.
func (c *Catalog) database(ctx context.Context, create bool) (*sql.DB, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		_, err := os.Stat(c.path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !create:
			return nil, nil
		case errors.Is(err, fs.ErrNotExist):
			if err := fsx.MkdirSynced(filepath.Dir(c.path), 0o755); err != nil {
				return nil, c.broken(err, "make the folder of the catalog")
			}
		case err != nil:
			return nil, c.broken(err, "open the catalog "+c.rel(c.path))
		}
		dsn := "file:" + (&url.URL{Path: c.path}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
		db, err := sql.Open("sqlite", dsn)
		if err != nil {
			return nil, c.broken(err, "open the catalog "+c.rel(c.path))
		}
		c.db = db
	}
	if !c.fit {
		if err := c.prepare(ctx, create); err != nil {
			return nil, err
		}
		if !c.fit {
			return nil, nil
		}
	}
	return c.db, nil
}

// prepare makes the catalog's tables as the library defines them, so that other engines find what they expect. A database without
// them is left alone unless create is set.
func (c *Catalog) prepare(ctx context.Context, create bool) error {
	var n int
	err := c.db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name IN ('iceberg_tables', 'iceberg_namespace_properties')`).Scan(&n)
	if err != nil {
		return c.broken(err, "read the catalog "+c.rel(c.path))
	}
	if n == 2 {
		var typed int
		err := c.db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'`).Scan(&typed)
		if err != nil {
			return c.broken(err, "read the catalog "+c.rel(c.path))
		}
		c.fit, c.old = true, typed == 0
		return nil
	}
	if !create {
		return nil
	}
	_, err = icesql.NewCatalog(c.name, c.db, icesql.SQLite, ice.Properties{"warehouse": fileScheme + c.warehouse})
	if err != nil {
		return c.broken(err, "make the catalog "+c.rel(c.path))
	}
	c.fit = true
	return nil
}

// split cuts a table's name: a dotted namespace is one.
func split(name string) (namespace, tbl string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// fewTables is up to how many tables are asked for by name: a run looks at its own after every stage, and must not read those of
// all the others each time.
const fewTables = 20

// pointers gives where the metadata of tables stands, as of one instant: of those named, or of all where they are many or none is
// named.
func (c *Catalog) pointers(ctx context.Context, names ...string) (map[string]string, error) {
	db, err := c.database(ctx, false)
	if err != nil || db == nil {
		return nil, err
	}
	query := `SELECT table_namespace, table_name, metadata_location FROM iceberg_tables WHERE catalog_name = ?`
	if !c.old {
		query += ` AND coalesce(iceberg_type, 'TABLE') = 'TABLE'`
	}
	args := []any{c.name}
	if len(names) > 0 && len(names) <= fewTables {
		query += ` AND (table_namespace, table_name) IN (VALUES ` + strings.TrimSuffix(strings.Repeat("(?, ?),", len(names)), ",") + `)`
		for _, n := range names {
			ns, tbl := split(n)
			args = append(args, ns, tbl)
		}
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, c.broken(err, "read the catalog "+c.rel(c.path))
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var ns, tbl string
		var at sql.NullString
		if err := rows.Scan(&ns, &tbl, &at); err != nil {
			return nil, c.broken(err, "read the catalog "+c.rel(c.path))
		}
		if at.Valid {
			out[ns+"."+tbl] = at.String
		}
	}
	if err := rows.Err(); err != nil {
		return nil, c.broken(err, "read the catalog "+c.rel(c.path))
	}
	return out, nil
}

// load reads a table's metadata; nil if there is no such table.
func (c *Catalog) load(ctx context.Context, name string) (*table.Table, error) {
	return c.loadIn(ctx, nil, name)
}

// loadIn reads a table's metadata as a transaction sees its pointer; without one, as it is now. A metadata file that is gone although
// the pointer named it was superseded and pruned in between: then the pointer has moved on.
func (c *Catalog) loadIn(ctx context.Context, tx *sql.Tx, name string) (*table.Table, error) {
	for before := ""; ; {
		at, err := c.pointer(ctx, tx, name)
		if err != nil || at == "" {
			return nil, err
		}
		t, err := c.read(name, at)
		if err == nil || at == before || !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
		before = at
	}
}

// pointer gives where a table's metadata stands; "" if there is no such table.
func (c *Catalog) pointer(ctx context.Context, tx *sql.Tx, name string) (string, error) {
	const query = `SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?`
	ns, tbl := split(name)
	var row *sql.Row
	if tx != nil {
		row = tx.QueryRowContext(ctx, query, c.name, ns, tbl)
	} else {
		db, err := c.database(ctx, false)
		if err != nil || db == nil {
			return "", err
		}
		row = db.QueryRowContext(ctx, query, c.name, ns, tbl)
	}
	var at sql.NullString
	switch err := row.Scan(&at); {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", c.broken(err, "read the catalog "+c.rel(c.path))
	}
	return at.String, nil
}

// read parses a metadata file.
func (c *Catalog) read(name, at string) (*table.Table, error) {
	data, err := os.ReadFile(local(at))
	if err != nil {
		return nil, c.broken(err, "read the metadata of "+name)
	}
	meta, err := table.ParseMetadataBytes(data)
	if err != nil {
		return nil, c.broken(err, "read the metadata of "+name+", "+c.rel(local(at)))
	}
	return c.table(name, meta, at), nil
}

// table wraps metadata for the library. It cannot commit through it.
func (c *Catalog) table(name string, meta table.Metadata, at string) *table.Table {
	ns, tbl := split(name)
	return table.New(table.Identifier{ns, tbl}, meta, at, func(context.Context) (iceio.IO, error) { return fileIO{}, nil }, nil)
}

// rel shows a path as the user knows it.
func (c *Catalog) rel(path string) string {
	if r, err := filepath.Rel(c.root, path); err == nil && filepath.IsLocal(r) {
		return filepath.ToSlash(r)
	}
	return path
}

// broken says what could not be done in plain words. The cause stays for errors.Is.
func (c *Catalog) broken(err error, doing string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var said *diag.Error
	if errors.As(err, &said) {
		return err
	}
	where := ""
	var file *fs.PathError
	if errors.As(err, &file) {
		if where = c.rel(file.Path); strings.HasSuffix(doing, where) {
			where = "" // it is named already
		}
	}
	e := &diag.Error{Exit: diag.Broken, Msg: doing + ": " + fsx.Explain(err, where), Err: err}
	switch text := err.Error(); {
	case strings.Contains(text, "not a database"), strings.Contains(text, "malformed"), strings.Contains(text, "disk image"):
		e.Msg = fmt.Sprintf("the catalog %s is no SQLite database, or is damaged", c.rel(c.path))
		e.Hint = "put it back from a copy; without it the tables' newest metadata files in " + c.rel(c.warehouse) + " still name every row"
	case strings.Contains(text, "unable to open database file"), strings.Contains(text, "readonly database"):
		e.Msg = fmt.Sprintf("the catalog %s cannot be opened for writing", c.rel(c.path))
		e.Hint = "check the permissions of the file and of its folder"
	case strings.Contains(text, "database or disk is full"):
		e.Msg = doing + ": no space left on the disk"
	case strings.Contains(text, "database is locked"):
		e.Msg = fmt.Sprintf("the catalog %s is locked by another process for longer than 10 seconds", c.rel(c.path))
	}
	return e
}
