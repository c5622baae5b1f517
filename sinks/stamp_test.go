package sinks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pipe/pipeline/fingerprint"
	"pipe/sinks"
)

func TestStampComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 8, -1)
		s := sinks.Stamp{
			Stage: text.Draw(t, "stage"), Fingerprint: fingerprint.Fingerprint(text.Draw(t, "fingerprint")),
			Digest: fingerprint.Digest(text.Draw(t, "digest")), Sum: text.Draw(t, "sum"), Rows: rapid.Int64().Draw(t, "rows"),
			Run: text.Draw(t, "run"), ParentDigest: fingerprint.None, ParentRows: rapid.Int64().Draw(t, "parent rows"),
			Revision: text.Draw(t, "revision"), Version: text.Draw(t, "version"),
		}
		if outs := rapid.MapOf(text, rapid.Just(fingerprint.Digest("sha256:00"))).Draw(t, "outs"); len(outs) > 0 {
			s.Outs = outs
		}
		if rapid.Bool().Draw(t, "carries") {
			s.Extra = map[string]string{"pipe.generated": text.Draw(t, "generated")}
		}
		if d := cmp.Diff(&s, sinks.ParseStamp(s.Properties())); d != "" {
			t.Fatal(d)
		}
	})
}

func TestParseStampOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		props map[string]string
		want  *sinks.Stamp
	}{
		"another engine":       {map[string]string{"operation": "append", "spark.app.id": "local-1"}, nil},
		"a copied key":         {map[string]string{"pipe.run": "r1"}, nil},
		"numbers cut short":    {map[string]string{"pipe.fingerprint": "1:aa", "pipe.rows": "12x", "pipe.outs": "{"}, &sinks.Stamp{Fingerprint: "1:aa"}},
		"keys of a stage kind": {map[string]string{"pipe.fingerprint": "1:aa", "pipe.generated": "9", "added-records": "9"}, &sinks.Stamp{Fingerprint: "1:aa", Extra: map[string]string{"pipe.generated": "9"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, sinks.ParseStamp(c.props)); d != "" {
				t.Error(d)
			}
		})
	}
}
