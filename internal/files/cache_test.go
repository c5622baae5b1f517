//go:build unix

package files

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCacheComesBack(t *testing.T) {
	root := project(t, map[string]string{"f": "abc", "d/g": "x", "naïve": "y"})
	o := open(t, root)
	names := []string{"f", "d", "naïve", filepath.Join(root, "f")}
	want, err := o.Observe(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Save(); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(root, cacheFile)
	first, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, root)
	if len(again.cache.records) != 3 {
		t.Errorf("%d records, want 3: %v", len(again.cache.records), again.cache.records)
	}
	got, err := again.Observe(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if again.cache.dirty {
		t.Error("nothing changed, and something was hashed")
	}
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	if err := again.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err == nil {
		t.Error("nothing was learned, and the file was written")
	}
	again.cache.dirty = true
	if err := again.Save(); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(p); err != nil || !bytes.Equal(first, second) {
		t.Errorf("one content, two files: %v", err)
	}
}

// A cache from disk is trusted: the forged digest shows that the file was not read.
func TestCacheSavesReading(t *testing.T) {
	root := project(t, map[string]string{"f": "abc"})
	o := open(t, root)
	observe(t, o, "f")
	forge(t, o, "f", time.Second)
	if err := o.Save(); err != nil {
		t.Fatal(err)
	}
	moved := root + "-moved"
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(moved)
	if got := observe(t, open(t, moved), "f"); got.Digest[:9] != "sha256:01" {
		t.Errorf("the project was moved and the file read again: %+v", got)
	}
}

func TestDamagedCacheIsNone(t *testing.T) {
	o := open(t, project(t, map[string]string{"f": "abc", "g": "x"}))
	observe(t, o, "f")
	observe(t, o, "g")
	good := o.cache.encode(time.Now())
	if got := len(decodeCache(good).records); got != 2 {
		t.Fatalf("%d records, want 2", got)
	}
	for n := range len(good) {
		if len(decodeCache(good[:n]).records) != 0 {
			t.Fatalf("cut to %d bytes, it is believed", n)
		}
		bad := bytes.Clone(good)
		bad[n] ^= 0x10
		if len(decodeCache(bad).records) != 0 {
			t.Fatalf("byte %d changed, and it is believed", n)
		}
	}
	if len(decodeCache(append(good, 0)).records) != 0 {
		t.Fatal("with a byte more, it is believed")
	}
}

func TestDamagedCacheOnDisk(t *testing.T) {
	root := project(t, map[string]string{"f": "abc", cacheFile: "rubbish"})
	if got := observe(t, open(t, root), "f"); got.Digest != abc {
		t.Errorf("got %+v", got)
	}
}

func TestAnyCacheComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cache{records: map[string]*record{}}
		for _, path := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "paths") {
			var r record
			r.size, r.mtime, r.ctime = rapid.Int64().Draw(t, "size"), rapid.Int64().Draw(t, "mtime"), rapid.Int64().Draw(t, "ctime")
			r.ino, r.dev, r.at = rapid.Uint64().Draw(t, "ino"), rapid.Uint64().Draw(t, "dev"), rapid.Int64().Draw(t, "at")
			r.sum[0], r.sum[31] = 1, 2
			c.put(path, r)
		}
		want := c.records
		if !c.dirty {
			return
		}
		got := decodeCache(c.encode(time.Unix(0, 0))).records
		if len(got) != len(want) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
		for path, r := range want {
			g := *got[path]
			g.used = true
			if g != *r {
				t.Fatalf("%q: got %v, want %v", path, g, *r)
			}
		}
	})
}

func TestOldRecordsGo(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	old := record{at: now.Add(-keep - time.Second).UnixNano()}
	young := record{at: now.Add(-keep + time.Second).UnixNano()}
	c := &cache{records: map[string]*record{"old": &old, "young": &young, "old, asked for": {at: old.at}}}
	c.get("old, asked for")
	c.put("new", record{at: now.UnixNano()})
	var got []string
	back := decodeCache(c.encode(now)).records
	for _, n := range []string{"new", "old", "old, asked for", "young"} {
		if back[n] != nil {
			got = append(got, n)
		}
	}
	if d := cmp.Diff([]string{"new", "old, asked for", "young"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestSaveErrors(t *testing.T) {
	root := project(t, map[string]string{"f": "abc", ".pipe": "a file in the folder's place"})
	o := open(t, root)
	observe(t, o, "f")
	err := o.Save()
	if want := "make folder " + root + "/.pipe/cache: a file stands where a folder is needed"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzDecodeCache(f *testing.F) {
	c := &cache{records: map[string]*record{}}
	c.put("a/b", record{stamp: stamp{size: 1}, at: 2})
	f.Add(c.encode(time.Unix(0, 0)))
	f.Add([]byte(cacheHeading))
	f.Fuzz(func(_ *testing.T, data []byte) { decodeCache(data) })
}

// many makes a project of n files in 100 folders, and the names as single deps.
func many(b *testing.B, n int) (string, []string) {
	files, names := map[string]string{}, make([]string, n)
	for i := range n {
		names[i] = fmt.Sprintf("src/%02d/stage_%05d.py", i%100, i)
		files[names[i]] = fmt.Sprintf("print(%d)\n%0400d", i, i)
	}
	return project(b, files), names
}

func BenchmarkObserve10000(b *testing.B) {
	root, names := many(b, 10_000)
	o := open(b, root)
	if _, err := o.Observe(b.Context(), names); err != nil {
		b.Fatal(err)
	}
	if err := o.Save(); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		names []string
		first func() *Observer
	}{
		{"nothing changed, single files, cache from disk", names, func() *Observer { return open(b, root) }},
		{"nothing changed, one folder, cache from disk", []string{"src"}, func() *Observer { return open(b, root) }},
		{"nothing changed, one glob, cache from disk", []string{"src/**/*.py"}, func() *Observer { return open(b, root) }},
		{"all hashed", names, func() *Observer { o := open(b, root); o.cache = decodeCache(nil); return o }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				o := c.first()
				if _, err := o.Observe(b.Context(), c.names); err != nil {
					b.Fatal(err)
				}
				if err := o.Save(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
