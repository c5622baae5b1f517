package stages

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pipe/internal/diag"
	"pipe/pipeline"
)

// Problems are the mistakes that Kind.Check reports, with their places: the name by which a program outside this module calls them.
type Problems = diag.List

// With reads the arguments of a stage strictly: each key by the type that it must have, with a place for every mistake. A kind asks
// for all keys that it knows and ends with Done, which reports the keys that nobody asked for. A value of the wrong type is
// reported and read as the default, so that one reading finds every mistake.
type With struct {
	value *pipeline.Value // nil: nothing was given
	pos   diag.Pos        // where a missing key is reported
	path  string          // "with", "with.columns"
	asked map[string]bool
	keys  []string // in the order of asking
	found *diag.List
}

// Args gives the arguments of a stage.
func Args(s *pipeline.Stage) *With {
	w := &With{value: s.With, pos: s.Pos, path: "with", asked: map[string]bool{}, found: &diag.List{}}
	if s.With != nil {
		w.pos = s.With.Pos
	}
	w.mustBeMap()
	return w
}

func (w *With) mustBeMap() {
	if w.value == nil || w.value.Kind == pipeline.Null {
		w.value = nil
		return
	}
	if w.value.Kind != pipeline.Map {
		w.Errorf(w.value, "%s: expected a map of keys and values, not %s", w.path, Describe(w.value))
		w.value = nil
	}
}

// Errorf reports a mistake at a value's place; v may be nil. The error comes back for a hint to be added.
func (w *With) Errorf(v *pipeline.Value, format string, args ...any) *diag.Error {
	pos, width := w.pos, 0
	if v != nil {
		pos, width = v.Pos, len(v.Text)
	}
	e := diag.Errorf(pos, format, args...)
	e.Width = width
	*w.found = append(*w.found, e)
	return e
}

// Value gives a key's value as it is, or nil. A null counts as left out.
func (w *With) Value(key string) *pipeline.Value {
	if !w.asked[key] {
		w.asked[key] = true
		w.keys = append(w.keys, key)
	}
	v := w.value.Get(key)
	if v == nil || v.Kind == pipeline.Null {
		return nil
	}
	return v
}

// Has reports whether a key was given.
func (w *With) Has(key string) bool { return w.Value(key) != nil }

// Need reports the keys that are missing.
func (w *With) Need(keys ...string) {
	for _, key := range keys {
		if w.Value(key) == nil {
			w.Errorf(nil, "%s.%s is missing", w.path, key).Hint = fmt.Sprintf("add %q under %s", key, w.path)
		}
	}
}

// Int gives a whole number from lo to hi, or def if the key is left out.
func (w *With) Int(key string, def, lo, hi int64) int64 {
	v := w.Value(key)
	if v == nil {
		return def
	}
	n, ok := AsInt(v)
	if !ok || n < lo || n > hi {
		w.Errorf(v, "%s.%s: expected %s, not %s", w.path, key, numbers("a whole number", float64(lo), float64(hi), lo > math.MinInt64, hi < math.MaxInt64), Describe(v))
		return def
	}
	return n
}

// Float gives a number from lo to hi, or def if the key is left out.
func (w *With) Float(key string, def, lo, hi float64) float64 {
	v := w.Value(key)
	if v == nil {
		return def
	}
	f, ok := AsFloat(v)
	if !ok || !(f >= lo && f <= hi) {
		w.Errorf(v, "%s.%s: expected %s, not %s", w.path, key, numbers("a number", lo, hi, !math.IsInf(lo, 0), !math.IsInf(hi, 0)), Describe(v))
		return def
	}
	return f
}

func numbers(what string, lo, hi float64, hasLo, hasHi bool) string {
	a, b := strconv.FormatFloat(lo, 'f', -1, 64), strconv.FormatFloat(hi, 'f', -1, 64)
	switch {
	case hasLo && hasHi:
		return what + " from " + a + " to " + b
	case hasLo:
		return what + " of at least " + a
	case hasHi:
		return what + " of at most " + b
	}
	return what
}

// Bool gives true or false, or def if the key is left out.
func (w *With) Bool(key string, def bool) bool {
	v := w.Value(key)
	if v == nil {
		return def
	}
	if v.Kind != pipeline.Bool {
		w.Errorf(v, "%s.%s: expected true or false, not %s", w.path, key, Describe(v))
		return def
	}
	return v.Text == "true"
}

// String gives a text, or def if the key is left out. A number or a boolean is taken as it is written.
func (w *With) String(key, def string) string {
	v := w.Value(key)
	if v == nil {
		return def
	}
	if v.Kind == pipeline.List || v.Kind == pipeline.Map {
		w.Errorf(v, "%s.%s: expected a text, not %s", w.path, key, Describe(v))
		return def
	}
	return v.Text
}

// Strings gives a list of texts; one text is a list of one. nil if the key is left out.
func (w *With) Strings(key string) []string {
	v := w.Value(key)
	switch {
	case v == nil:
		return nil
	case v.Kind == pipeline.Map:
		w.Errorf(v, "%s.%s: expected a text or a list of texts, not a map", w.path, key)
		return nil
	case v.Kind != pipeline.List:
		return []string{v.Text}
	}
	out := make([]string, 0, len(v.Items))
	for i, item := range v.Items {
		if item.Kind == pipeline.List || item.Kind == pipeline.Map || item.Kind == pipeline.Null {
			w.Errorf(item, "%s.%s[%d]: expected a text, not %s", w.path, key, i, Describe(item))
			continue
		}
		out = append(out, item.Text)
	}
	return out
}

// Choice gives one of the words in among, or def if the key is left out.
func (w *With) Choice(key, def string, among ...string) string {
	v := w.Value(key)
	if v == nil {
		return def
	}
	for _, word := range among {
		if v.Kind == pipeline.String && v.Text == word {
			return word
		}
	}
	e := w.Errorf(v, "%s.%s: expected %s, not %s", w.path, key, strings.Join(among, ", "), Describe(v))
	if near := diag.Closest(v.Text, among); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return def
}

// Map gives a key's value as arguments of their own; nobody's keys if it is left out. Its Done reports to the same list.
func (w *With) Map(key string) *With {
	m := &With{value: w.Value(key), pos: w.pos, path: w.path + "." + key, asked: map[string]bool{}, found: w.found}
	if m.value != nil {
		m.pos = m.value.Pos
	}
	m.mustBeMap()
	return m
}

// Keys gives the entries in file order, and counts as asking for each of them.
func (w *With) Keys() []pipeline.Key {
	if w.value == nil {
		return nil
	}
	for _, k := range w.value.Keys {
		w.asked[k.Name] = true
	}
	return w.value.Keys
}

// Path is how errors name these arguments: "with", "with.columns".
func (w *With) Path() string { return w.path }

// Done reports the keys that were never asked for, and gives all that was reported, in file order.
func (w *With) Done() diag.List {
	if w.value != nil {
		for _, k := range w.value.Keys {
			if w.asked[k.Name] {
				continue
			}
			e := diag.Errorf(k.Pos, "unknown key %q in %s", k.Name, w.path)
			e.Width = len(k.Name)
			switch near := diag.Closest(k.Name, w.keys); {
			case near != "":
				e.Hint = fmt.Sprintf("did you mean %q?", near)
			case len(w.keys) > 0:
				e.Hint = "known are " + strings.Join(w.keys, ", ")
			default:
				e.Hint = "this kind takes no arguments"
			}
			*w.found = append(*w.found, e)
		}
	}
	w.found.Sort()
	return *w.found
}

// AsInt reads a value as a whole number; a text is none.
func AsInt(v *pipeline.Value) (int64, bool) {
	if v == nil || v.Kind != pipeline.Int {
		return 0, false
	}
	text, base := strings.TrimPrefix(v.Text, "+"), 10
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") {
		base = 0
	}
	n, err := strconv.ParseInt(text, base, 64)
	return n, err == nil
}

// AsFloat reads a value as a number; a text is none, nor is what no double holds.
func AsFloat(v *pipeline.Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	switch v.Kind {
	case pipeline.Int:
		if n, ok := AsInt(v); ok {
			return float64(n), true
		}
	case pipeline.Float:
	default:
		return 0, false
	}
	switch strings.ToLower(strings.TrimLeft(v.Text, "+-")) {
	case ".inf", ".nan":
		f, err := strconv.ParseFloat(strings.Replace(v.Text, ".", "", 1), 64)
		return f, err == nil
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return f, err == nil
}

// Describe names a value for an error: its kind, its text, and the param that it came from.
func Describe(v *pipeline.Value) string {
	var text string
	switch v.Kind {
	case pipeline.Null:
		text = "null"
	case pipeline.List:
		text = "a list"
	case pipeline.Map:
		text = "a map"
	case pipeline.String:
		text = fmt.Sprintf("the text %q", v.Text)
	default:
		text = v.Text
	}
	if len(v.Reads) > 0 {
		text += " (" + strings.Join(v.Reads, ", ") + ")"
	}
	return text
}
