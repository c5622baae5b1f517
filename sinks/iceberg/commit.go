package iceberg

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"pipe/sinks"
)

// change is one table's part of a commit. build gives the new metadata for the present one (nil: the table does not exist); it is
// called again when another writer moved the pointer first, and gives nil when there is nothing to do.
type change struct {
	table string
	build func(now *table.Table) (table.Metadata, error)
}

// optimistic is how often a commit is built beside other writers before it is built under the database's write lock: a pointer may
// move again and again for reasons that do not concern the commit, another ref or a property, and each time it is built anew.
const optimistic = 3

// commit makes all changes in one database transaction, or none. It knows three ends: done, an error after which nothing happened,
// and sinks.ErrUnknown.
func (c *Catalog) commit(ctx context.Context, changes []change) error {
	for n := 1; ; n++ {
		err := c.tryCommit(ctx, changes, n > optimistic)
		if !errors.Is(err, errMoved) {
			return err
		}
		if n > 2*optimistic { // not even under the lock: something moves pointers past SQLite's locks
			return fmt.Errorf("%w: %w", sinks.ErrConflict, err)
		}
		t := time.NewTimer(time.Duration(1+rand.IntN(10*n)) * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

var errMoved = errors.New("the table's metadata moved")

// pointerMove is one compare-and-swap. An empty old makes the table.
type pointerMove struct {
	table    string
	old, new string
	before   table.Metadata
	after    table.Metadata
}

func (c *Catalog) tryCommit(ctx context.Context, changes []change, locked bool) (err error) {
	var moves []pointerMove
	defer func() {
		if err != nil && !errors.Is(err, sinks.ErrUnknown) {
			for _, m := range moves {
				_ = os.Remove(local(m.new)) // no pointer names it; what stays is found by gc
			}
		}
	}()
	var lock *sql.Tx
	if locked {
		if lock, err = c.begin(ctx); err != nil {
			return err
		}
		defer func() { _ = lock.Rollback() }() // after a commit it does nothing
	}
	for _, ch := range changes {
		now, err := c.loadIn(ctx, lock, ch.table)
		if err != nil {
			return err
		}
		meta, err := ch.build(now)
		if err != nil {
			return err
		}
		if meta == nil {
			continue
		}
		m := pointerMove{table: ch.table, after: meta}
		if now != nil {
			m.old, m.before = now.MetadataLocation(), now.Metadata()
		}
		m.new = metadataFile(meta.Location(), m.old)
		moves = append(moves, m)
		if err := c.writeMetadata(m.new, meta); err != nil {
			return c.broken(err, "write the metadata of "+ch.table)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	if lock == nil {
		if lock, err = c.begin(ctx); err != nil {
			return err
		}
		defer func() { _ = lock.Rollback() }()
	}
	if err := c.swap(ctx, lock, moves); err != nil {
		return err
	}
	for _, m := range moves {
		c.cache.put(m.table, state(m.table, m.new, m.after))
		prune(m.before, m.after)
	}
	return nil
}

// begin takes the database's write lock.
func (c *Catalog) begin(ctx context.Context) (*sql.Tx, error) {
	db, err := c.database(ctx, true)
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, c.broken(err, "begin a commit")
	}
	return tx, nil
}

// swap moves the pointers and ends the transaction.
func (c *Catalog) swap(ctx context.Context, tx *sql.Tx, moves []pointerMove) error {
	for _, m := range moves {
		ns, tbl := split(m.table)
		if m.old == "" {
			if err := c.insert(ctx, tx, ns, tbl, m.new); err != nil {
				if isConstraint(err) {
					return errMoved // another writer made the table first
				}
				return c.broken(err, "make the table "+m.table)
			}
			continue
		}
		res, err := tx.ExecContext(ctx, `UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?
			WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?`, m.new, m.old, c.name, ns, tbl, m.old)
		if err != nil {
			return c.broken(err, "commit "+m.table)
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(errMoved, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return c.landed(ctx, moves, err)
	}
	return nil
}

func (c *Catalog) insert(ctx context.Context, tx *sql.Tx, ns, tbl, at string) error {
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)
		VALUES (?, ?, 'exists', 'true')`, c.name, ns)
	if err != nil {
		return err
	}
	statement := `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) VALUES (?, ?, ?, ?, 'TABLE')`
	if c.old {
		statement = `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES (?, ?, ?, ?)`
	}
	_, err = tx.ExecContext(ctx, statement, c.name, ns, tbl, at)
	return err
}

var constraint = regexp.MustCompile(`(?i)unique constraint|constraint failed`)

func isConstraint(err error) bool { return constraint.MatchString(err.Error()) }

// landed looks where the pointers are after a commit that gave an error, since it may have happened all the same: a pointer is at
// the new metadata, or at one that was built on it. Only where every pointer still stands where it stood did nothing happen.
func (c *Catalog) landed(ctx context.Context, moves []pointerMove, cause error) error {
	at, err := c.pointers(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("%w: %w", sinks.ErrUnknown, cause)
	}
	done, before := 0, 0
	for _, m := range moves {
		switch {
		case c.follows(m, at[m.table]):
			done++
		case at[m.table] == m.old:
			before++
		}
	}
	switch len(moves) {
	case done:
		return nil
	case before:
		return c.broken(cause, "commit")
	}
	return fmt.Errorf("%w: %w", sinks.ErrUnknown, cause)
}

// follows reports whether the metadata at a location is that of the move, or names it among those that it came from.
func (c *Catalog) follows(m pointerMove, at string) bool {
	if at == m.new || at == m.old {
		return at == m.new
	}
	t, err := c.read(m.table, at)
	if err != nil {
		return false
	}
	for e := range t.Metadata().PreviousFiles() {
		if e.MetadataFile == m.new {
			return true
		}
	}
	return false
}

var version = regexp.MustCompile(`/([0-9]+)-[^/]*\.metadata\.json$`)

// metadataFile names the next metadata file as the format's own catalogs do: its number, and a random part.
func metadataFile(location, before string) string {
	n := -1
	if m := version.FindStringSubmatch(before); m != nil {
		n, _ = strconv.Atoi(m[1])
	}
	return fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", location, n+1, uuid.NewString())
}

func (c *Catalog) writeMetadata(at string, m table.Metadata) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return fileIO{}.WriteFile(at, data)
}

// prune deletes metadata files that the table's log no longer names, where the table says so.
func prune(before, after table.Metadata) {
	if before == nil || !after.Properties().GetBool(table.MetadataDeleteAfterCommitEnabledKey, false) {
		return
	}
	kept := map[string]bool{}
	for e := range after.PreviousFiles() {
		kept[e.MetadataFile] = true
	}
	for e := range before.PreviousFiles() {
		if !kept[e.MetadataFile] && filepath.Dir(local(e.MetadataFile)) == filepath.Dir(local(after.Location()+"/metadata/x")) {
			_ = os.Remove(local(e.MetadataFile))
		}
	}
}
