package generate

import (
	"math/rand/v2"
	"testing"

	"github.com/brianvoe/gofakeit/v7"
)

func TestQuickTextsAreTheLibrarysOwn(t *testing.T) {
	for _, name := range []string{"url", "name", "firstname", "lastname", "city", "country"} {
		t.Run(name, func(t *testing.T) {
			info, fast := gofakeit.GetFuncLookup(name), quickly(name)
			theirs := gofakeit.NewFaker(rand.NewPCG(7, 8), false)
			ours := random{rand.NewPCG(7, 8)}
			for i := range 20_000 {
				want, err := info.Generate(theirs, gofakeit.NewMapParams(), info)
				if err != nil {
					t.Fatal(err)
				}
				if got := string(fast(nil, ours)); got != want {
					t.Fatalf("text %d: got %q, want %q", i, got, want)
				}
			}
		})
	}
}
