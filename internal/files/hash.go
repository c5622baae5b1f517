package files

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// tries is how often a file that changes while it is read is begun again.
const tries = 3

// hasher takes the digests of one Observe.
type hasher struct {
	o       *Observer
	fresh   bool
	began   time.Time
	prefix  string // of paths under the root
	buffers sync.Pool
}

// digest sets sum and size, or err, of a file.
func (h *hasher) digest(ctx context.Context, f *file) {
	key := strings.TrimPrefix(f.path, h.prefix) // a project that is moved keeps its cache
	st, ok := stampOf(f.info)
	if ok {
		h.o.mu.Lock()
		r, known := h.o.cache.get(key)
		h.o.mu.Unlock()
		if known && r.stamp == st && r.settled() && (!h.fresh || h.began.UnixNano()-r.at > granularity(r.stamp.ctime)) {
			f.sum, f.size = r.sum, st.size
			return
		}
	}
	for range tries {
		at := h.o.now()
		before, after, err := h.read(ctx, f)
		if err != nil {
			f.err = reason(err)
			return
		}
		if before == nil { // the system tells too little to know
			return
		}
		if *before == *after {
			h.o.mu.Lock()
			h.o.cache.put(key, record{stamp: *after, at: at.UnixNano(), sum: f.sum})
			h.o.mu.Unlock()
			return
		}
	}
	f.err = "it changes while it is read"
}

// read hashes the bytes and gives the stamps before and after; nil where the system has none.
func (h *hasher) read(ctx context.Context, f *file) (before, after *stamp, err error) {
	r, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("it is no file any more")
	}
	buf, ok := h.buffers.Get().(*[]byte)
	if !ok {
		b := make([]byte, 256<<10)
		buf = &b
	}
	defer h.buffers.Put(buf)
	sum := sha256.New()
	f.size = 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		n, err := r.Read(*buf)
		sum.Write((*buf)[:n])
		f.size += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
	}
	sum.Sum(f.sum[:0])
	b, ok := stampOf(info)
	if !ok {
		return nil, nil, nil
	}
	if info, err = r.Stat(); err != nil {
		return nil, nil, err
	}
	a, _ := stampOf(info)
	return &b, &a, nil
}
