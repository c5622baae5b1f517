package lockfile

import (
	"strings"
	"unicode/utf8"
)

// keyLimit is the longest key, as written, that stands before its colon on one line. YAML forbids more than 1024 characters there;
// longer keys take the "? key" form.
const keyLimit = 1000

// appendScalar writes a string so that every YAML parser reads it back as that string: bare where that is beyond doubt, else
// double-quoted. Bytes that are no UTF-8 cannot be said in YAML and become U+FFFD.
func appendScalar(b []byte, s string) []byte {
	if isBare(s) {
		return append(b, s...)
	}
	return appendQuoted(b, s)
}

// isBare reports whether s, written bare, is a string to YAML 1.1 and 1.2 alike. It would rather say no: the cost is two quotes.
func isBare(s string) bool {
	return s != "" && isBareStart(s) && isBareRest(s)
}

// isBareRest looks at what is behind the first character, and at that too, as if it stood in the middle.
func isBareRest(s string) bool {
	if c := s[len(s)-1]; c == ' ' || c == ':' {
		return false
	}
	ascii := true
	last := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= '#' || c >= 0x7f {
			switch {
			case c >= utf8.RuneSelf:
				ascii = false
			case c < ' ' || c == 0x7f, c == ' ' && last == ':', c == '#' && last == ' ':
				return false
			}
		}
		last = c
	}
	return ascii || allRaw(s)
}

// isBareStart looks at the first character and at the words and numbers that YAML would read as something else.
func isBareStart(s string) bool {
	switch c := s[0]; {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return !isWord(s)
	case c == '_' || c == '/':
		return true
	case '0' <= c && c <= '9':
		// Numbers, base 60 numbers (1:30) and times never hold a slash, and a digest has a letter from a to f behind its version.
		return strings.IndexByte(s, '/') >= 0 || isDigest(s)
	case c == '.':
		return strings.IndexByte(s, '/') >= 0
	case c >= utf8.RuneSelf:
		return true
	}
	return false
}

// isWord reports whether YAML 1.1 or 1.2 reads s as null or a bool.
func isWord(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

// isDigest reports whether s has the form <digits>:<hex> with at least one letter.
func isDigest(s string) bool {
	version, hex, ok := strings.Cut(s, ":")
	if !ok || hex == "" {
		return false
	}
	for i := 0; i < len(version); i++ {
		if version[i] < '0' || version[i] > '9' {
			return false
		}
	}
	letter := false
	for i := 0; i < len(hex); i++ {
		switch c := hex[i]; {
		case 'a' <= c && c <= 'f':
			letter = true
		case c < '0' || c > '9':
			return false
		}
	}
	return letter
}

// isRaw reports whether a character stands for itself inside quotes and comments. The set is fixed here, since tables of what is
// printable grow with each Unicode version, and the bytes of a lock must not. Left out: controls, spaces other than U+0020, what
// YAML takes for a line end, and what an editor does not show or shows in another place.
func isRaw(r rune) bool {
	switch {
	case r < 0x7f:
		return r >= ' '
	case r <= 0xa0, r == 0xad, r == 0x061c, r == 0x1680, r == 0x180e, r == 0x3000:
		return false
	case 0x2000 <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202f, 0x205f <= r && r <= 0x206f:
		return false
	case 0xd800 <= r && r <= 0xf8ff, 0xfdd0 <= r && r <= 0xfdef, 0xfe00 <= r && r <= 0xfe0f, r == 0xfeff, 0xfff0 <= r && r <= 0xffff:
		return false
	case r >= 0xe0000, r&0xfffe == 0xfffe:
		return false
	}
	return true
}

func allRaw(s string) bool {
	for _, r := range s {
		if !isRaw(r) { // U+FFFD, which bad UTF-8 reads as, is not raw either
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes a YAML double-quoted scalar with the escapes of JSON, and \UXXXXXXXX above U+FFFF.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c >= ' ' && c < 0x7f:
				b = append(b, c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c == '\t':
				b = append(b, '\\', 't')
			case c == '\r':
				b = append(b, '\\', 'r')
			default:
				b = appendHex(append(b, '\\', 'u'), rune(c), 4)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isRaw(r):
			b = append(b, s[i:i+n]...)
		case r > 0xffff:
			b = appendHex(append(b, '\\', 'U'), r, 8)
		default:
			b = appendHex(append(b, '\\', 'u'), r, 4)
		}
		i += n
	}
	return append(b, '"')
}

func appendHex(b []byte, r rune, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hexDigits[r>>shift&0xf])
	}
	return b
}

// cutQuoted reads the double-quoted scalar that s begins with and gives what follows it. It knows only the escapes that
// appendQuoted writes.
func cutQuoted(s string) (value, rest string, ok bool) {
	end := 1
	for end < len(s) && s[end] != '"' && s[end] != '\\' {
		end++
	}
	if end < len(s) && s[end] == '"' {
		return s[1:end], s[end+1:], true
	}
	var b []byte
	for i := 1; i < len(s); {
		c := s[i]
		switch {
		case c == '"':
			return string(b), s[i+1:], true
		case c != '\\':
			b = append(b, c)
			i++
			continue
		case i+1 == len(s):
			return "", "", false
		}
		digits := 0
		switch e := s[i+1]; e {
		case '"', '\\':
			b = append(b, e)
		case 'n':
			b = append(b, '\n')
		case 't':
			b = append(b, '\t')
		case 'r':
			b = append(b, '\r')
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return "", "", false
		}
		i += 2
		if digits > 0 {
			r, ok := hexRune(s, i, digits)
			if !ok {
				return "", "", false
			}
			b = utf8.AppendRune(b, r)
			i += digits
		}
	}
	return "", "", false
}

func hexRune(s string, at, digits int) (rune, bool) {
	if at+digits > len(s) {
		return 0, false
	}
	var r int64
	for _, c := range []byte(s[at : at+digits]) {
		d := strings.IndexByte(hexDigits, c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | int64(d)
	}
	return rune(r), r <= utf8.MaxRune && utf8.ValidRune(rune(r))
}
