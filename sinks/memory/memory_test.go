package memory_test

import (
	"testing"

	"pipe/sinks"
	"pipe/sinks/memory"
	"pipe/sinks/sinktest"
)

func TestConformance(t *testing.T) {
	sinktest.Run(t, func(*testing.T) func() sinks.Catalog {
		c := &memory.Catalog{}
		return func() sinks.Catalog { return c }
	})
}
