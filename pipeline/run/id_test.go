package run

import (
	"testing"
	"time"
)

// The time part of a ULID is in the format's own text: 1469918176385 ms is 01ARYZ6S41.
func TestNewID(t *testing.T) {
	at := time.UnixMilli(1469918176385)
	a, b := newID(at), newID(at)
	if len(a) != 26 || a[:10] != "01ARYZ6S41" {
		t.Errorf("id %s, want 26 characters that begin with 01ARYZ6S41", a)
	}
	if a == b {
		t.Error("two ids of one millisecond are equal")
	}
	if c := newID(at.Add(time.Millisecond)); c <= a {
		t.Errorf("%s, made later, does not sort after %s", c, a)
	}
}
