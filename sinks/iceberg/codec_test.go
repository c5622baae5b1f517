package iceberg

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// What the registered codec writes another implementation reads, and the other way round.
func TestZstdIsZstd(t *testing.T) {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		t.Fatal(err)
	}
	other, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	theirs, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(noise)
	for name, src := range map[string][]byte{
		"nothing": {}, "a byte": {7}, "text": bytes.Repeat([]byte("a page of text, "), 1<<16), "noise": noise, "zeros": make([]byte, 3<<20),
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range []int{compress.DefaultCompressionLevel, 1, 3, 9} {
				packed := codec.EncodeLevel(make([]byte, 0, codec.CompressBound(int64(len(src)))), src, level)
				back, err := other.DecodeAll(packed, nil)
				if err != nil || !bytes.Equal(back, src) {
					t.Errorf("level %d: another reader gives %d bytes of %d, %v", level, len(back), len(src), err)
				}
			}
			packed := theirs.EncodeAll(src, nil)
			if len(packed) == 0 {
				return // that one writes no frame for nothing
			}
			for _, room := range []int{0, len(src), 2 * len(src)} {
				back, err := compress.Decode(codec, make([]byte, 0, room), packed)
				if err != nil || !bytes.Equal(back, src) {
					t.Errorf("room for %d: %d bytes of %d, %v", room, len(back), len(src), err)
				}
			}
			var stream bytes.Buffer
			w, err := codec.(compress.StreamingCodec).NewWriterLevel(&stream, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(src); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			rc := codec.(compress.StreamingCodec).NewReader(&stream)
			back, err := io.ReadAll(rc)
			if err != nil || !bytes.Equal(back, src) {
				t.Errorf("stream: %d bytes of %d, %v", len(back), len(src), err)
			}
			_ = rc.Close()
		})
	}
}

// A damaged page is an error, not the end of the process.
func TestDamagedPageIsAnError(t *testing.T) {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		t.Fatal(err)
	}
	packed := codec.Encode(nil, bytes.Repeat([]byte("rows and rows"), 1000))
	for name, src := range map[string][]byte{"cut": packed[:len(packed)/2], "empty": {}, "no frame": []byte("no frame at all")} {
		if out, err := compress.Decode(codec, nil, src); err == nil && len(out) != 0 {
			t.Errorf("%s: gave %d bytes", name, len(out))
		}
	}
}
