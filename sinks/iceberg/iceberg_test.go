package iceberg_test

import (
	"testing"

	"pipe/sinks"
	"pipe/sinks/iceberg"
	"pipe/sinks/sinktest"
)

func TestConformance(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) func() sinks.Catalog {
		l := newLake(t)
		return func() sinks.Catalog {
			c, err := iceberg.Open(t.Context(), l.options())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
	})
}
