//go:build cgo

package iceberg

import (
	"io"
	"sync"

	"github.com/DataDog/zstd"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// The C library takes two thirds of the time of the Go one to compress at level 1 and makes smaller files. Parquet keeps its codecs in
// a map that is read without a lock, so the one moment at which it may be changed is before main.
func init() { compress.RegisterCodec(compress.Codecs.Zstd, &zstdCodec{}) }

// zstdCodec is Parquet's codec over the C library. Its contexts are kept: each holds tables that take longer to make than a page to
// compress.
type zstdCodec struct{ contexts sync.Pool }

// level is what the C library calls its default where the caller names none.
func level(n int) int {
	if n == compress.DefaultCompressionLevel {
		return zstd.DefaultCompression
	}
	return n
}

func (z *zstdCodec) context() zstd.Ctx {
	if c, ok := z.contexts.Get().(zstd.Ctx); ok {
		return c
	}
	return zstd.NewCtx()
}

// Encode compresses src into dst at the default level.
func (z *zstdCodec) Encode(dst, src []byte) []byte {
	return z.EncodeLevel(dst, src, compress.DefaultCompressionLevel)
}

// EncodeLevel compresses src into dst, or into a new slice if it does not fit there.
func (z *zstdCodec) EncodeLevel(dst, src []byte, n int) []byte {
	c := z.context()
	defer z.contexts.Put(c)
	out, err := c.CompressLevel(dst[:cap(dst)], src, level(n))
	if err != nil { // only without memory: any input can be compressed
		panic(err)
	}
	return out
}

// Decode is DecodeWithError for the interface, which has no error.
func (z *zstdCodec) Decode(dst, src []byte) []byte {
	out, err := z.DecodeWithError(dst, src)
	if err != nil {
		panic(err)
	}
	return out
}

// DecodeWithError decompresses src into dst, or into a new slice if it does not fit there. Parquet's readers use this one.
func (z *zstdCodec) DecodeWithError(dst, src []byte) ([]byte, error) {
	if cap(dst) == 0 {
		dst = make([]byte, 0, 1) // the C call takes the address of its first byte
	}
	c := z.context()
	defer z.contexts.Put(c)
	return c.Decompress(dst[:cap(dst)], src)
}

// CompressBound is the most that n bytes can become.
func (z *zstdCodec) CompressBound(n int64) int64 { return int64(zstd.CompressBound(int(n))) }

// NewReader decompresses a stream.
func (z *zstdCodec) NewReader(r io.Reader) io.ReadCloser { return zstd.NewReader(r) }

// NewWriter compresses a stream at the default level.
func (z *zstdCodec) NewWriter(w io.Writer) io.WriteCloser { return zstd.NewWriter(w) }

// NewWriterLevel compresses a stream.
func (z *zstdCodec) NewWriterLevel(w io.Writer, n int) (io.WriteCloser, error) {
	return zstd.NewWriterLevel(w, level(n)), nil
}
