package iceberg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"

	"pipe/internal/fsx"
	"pipe/sinks"
)

// stateCache keeps what tables' metadata said, by the pointer that it was read from: a metadata file never changes once it is
// written, so an entry is right for ever. A file that cannot be read is a miss, and one that cannot be written is none either.
type stateCache struct {
	path string

	mu     sync.Mutex
	tables map[string]*sinks.Table
	read   bool
	dirty  bool
}

// cacheVersion begins the file. Raise it with every change of what is encoded or of what state makes of a table's metadata.
const cacheVersion = "pipe tables 2\n"

func openCache(dir, sink string) *stateCache {
	c := &stateCache{tables: map[string]*sinks.Table{}}
	if dir != "" {
		sum := sha256.Sum256([]byte(sink))
		c.path = filepath.Join(dir, "tables-"+hex.EncodeToString(sum[:4]))
	}
	return c
}

func (c *stateCache) get(name, at string) *sinks.Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read {
		c.read = true
		c.load()
	}
	if t := c.tables[name]; t != nil && t.Metadata == at {
		return t
	}
	return nil
}

func (c *stateCache) put(name string, t *sinks.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables[name] = t
	c.dirty = true
}

// load reads the file. Callers hold mu.
func (c *stateCache) load() {
	if c.path == "" {
		return
	}
	data, err := os.ReadFile(c.path)
	if err != nil || len(data) < len(cacheVersion)+32 || string(data[:len(cacheVersion)]) != cacheVersion {
		return
	}
	body := data[len(cacheVersion)+32:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(cacheVersion):len(cacheVersion)+32]) {
		return
	}
	for _, t := range decodeTables(string(body)) {
		if c.tables[t.Name] == nil {
			c.tables[t.Name] = t
		}
	}
}

func (c *stateCache) save() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path == "" || !c.dirty {
		return
	}
	body := encodeTables(c.tables)
	sum := sha256.Sum256(body)
	data := append([]byte(cacheVersion), sum[:]...)
	if os.MkdirAll(filepath.Dir(c.path), 0o755) == nil && fsx.WriteAtomic(c.path, append(data, body...), 0o644) == nil {
		c.dirty = false
	}
}
