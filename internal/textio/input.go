package textio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"pipe/internal/diag"
)

// maxWindow bounds what a zstd frame may ask for; it is what `zstd --long` writes at most.
const maxWindow = 128 << 20

// utf8Input gives the text of an input as UTF-8 without a byte order mark: it unpacks by name and decodes UTF-16. Everything
// streams, so that a small file that unpacks to a huge one costs no memory. close frees the unpacker.
func utf8Input(r io.Reader, name string) (text *bufio.Reader, close func(), err error) {
	close = func() {}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".gz"):
		z, err := gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
		if errors.Is(err, io.EOF) {
			return bufio.NewReader(r), close, nil // no bytes at all: an empty file, as programs write it before the first row
		}
		if err != nil {
			return nil, nil, packed(name, "gzip", err)
		}
		r, close = unpacker{z, name, "gzip"}, func() { z.Close() }
	case strings.HasSuffix(lower, ".zst"):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, packed(name, "zstd", err)
		}
		r, close = unpacker{z, name, "zstd"}, z.Close
	}
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		close()
		return nil, nil, readError(name, err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err = b.Discard(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		err = refused(name, "it is UTF-32", "convert it: iconv -f UTF-32 -t UTF-8")
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		_, err = b.Discard(2)
		return bufio.NewReader(&utf16Reader{r: b, name: name, low: 0, high: 1}), close, err
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		_, err = b.Discard(2)
		return bufio.NewReader(&utf16Reader{r: b, name: name, low: 1, high: 0}), close, err
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		err = refused(name, "it is packed with gzip", "let its name end with .gz")
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		err = refused(name, "it is packed with zstd", "let its name end with .zst")
	default:
		err = nil
	}
	if err != nil {
		close()
		return nil, nil, err
	}
	return b, close, nil
}

func refused(name, what, hint string) error {
	return &diag.Error{Exit: diag.Failed, Pos: diag.Pos{File: name}, Msg: "expected text as UTF-8, but " + what, Hint: hint}
}

func packed(name, kind string, err error) error {
	return &diag.Error{
		Exit: diag.Failed, Pos: diag.Pos{File: name}, Err: err,
		Msg:  fmt.Sprintf("expected %s data, as the name says: %v", kind, err),
		Hint: "see whether the file is whole, and whether its name says what it holds",
	}
}

func readError(name string, err error) error {
	var e *diag.Error
	if errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// skipLines reads over lines; whatever is on them, a quote too, has no meaning.
func skipLines(b *bufio.Reader, name string, n int) error {
	for i := 0; i < n; {
		c, err := b.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(name, err)
		}
		if c == '\r' {
			if next, _ := b.Peek(1); len(next) == 1 && next[0] == '\n' {
				continue
			}
		}
		if c == '\n' || c == '\r' {
			i++
		}
	}
	return nil
}

// unpacker tells its errors with the file's name.
type unpacker struct {
	r    io.Reader
	name string
	kind string
}

func (u unpacker) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = packed(u.name, u.kind, err)
	}
	return n, err
}

// utf16Reader decodes UTF-16. A half of a pair is an error, never U+FFFD.
type utf16Reader struct {
	r         *bufio.Reader
	name      string
	low, high int   // which byte of a unit is which
	at        int64 // bytes read behind the byte order mark
	rest      []byte
	buf       [utf8.UTFMax]byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	for n < len(p) {
		r, err := u.rune()
		if err != nil {
			if n > 0 && errors.Is(err, io.EOF) {
				return n, nil
			}
			return n, err
		}
		size := utf8.EncodeRune(u.buf[:], r)
		k := copy(p[n:], u.buf[:size])
		u.rest = u.buf[k:size]
		n += k
	}
	return n, nil
}

func (u *utf16Reader) rune() (rune, error) {
	start := u.at
	a, err := u.unit()
	if err != nil {
		return 0, err
	}
	if a < 0xd800 || a > 0xdfff {
		return a, nil
	}
	b, err := u.unit()
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if err != nil || a > 0xdbff || b < 0xdc00 || b > 0xdfff {
		return 0, refused(u.name, fmt.Sprintf("half a UTF-16 pair stands at byte %d", start+3), "save the file as UTF-8")
	}
	return (a-0xd800)<<10 + (b - 0xdc00) + 0x10000, nil
}

func (u *utf16Reader) unit() (rune, error) {
	b, err := u.r.Peek(2)
	if len(b) < 2 {
		if len(b) == 1 && errors.Is(err, io.EOF) {
			return 0, refused(u.name, "its UTF-16 ends in the middle of a character", "see whether the file is whole")
		}
		return 0, err
	}
	r := rune(b[u.low]) | rune(b[u.high])<<8
	u.at += 2
	_, err = u.r.Discard(2)
	return r, err
}

// again gives an input that can be read twice: itself if it can seek, else a copy, in memory while it is small and in a file of
// opts.Scratch otherwise. close removes the copy.
func again(r io.Reader, name string, opts Options) (in io.ReadSeeker, start int64, close func(), err error) {
	if s, ok := r.(io.ReadSeeker); ok {
		if start, err := s.Seek(0, io.SeekCurrent); err == nil { // a pipe has the method, and fails
			return s, start, func() {}, nil
		}
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(opts.memory)); errors.Is(err, io.EOF) {
		return bytes.NewReader(b.Bytes()), 0, func() {}, nil
	} else if err != nil {
		return nil, 0, nil, readError(name, err)
	}
	f, err := os.CreateTemp(opts.Scratch, "pipe-text-*")
	if err != nil {
		return nil, 0, nil, err
	}
	close = func() {
		f.Close()
		os.Remove(f.Name())
	}
	if _, err = io.Copy(f, io.MultiReader(&b, r)); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		close()
		return nil, 0, nil, readError(name, err)
	}
	return f, 0, close, nil
}
