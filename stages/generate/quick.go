package generate

import (
	"strings"

	"github.com/brianvoe/gofakeit/v7/data"
)

// quick appends one text. The library spends 1 to 3 microseconds a text on maps and copies, which is most of the time of a whole
// row; what is written here takes its words and its random numbers in the same order, so that the texts are the library's own.
type quick func(b []byte, r random) []byte

// quickly gives the quick form of a function; nil if there is none.
func quickly(name string) quick {
	switch name {
	case "url":
		return quickURL()
	case "name":
		first, last := data.Data["person"]["first"], data.Data["person"]["last"]
		return func(b []byte, r random) []byte {
			b = append(b, first[r.below(uint64(len(first)))]...)
			b = append(b, ' ')
			return append(b, last[r.below(uint64(len(last)))]...)
		}
	case "firstname":
		return word(data.Data["person"]["first"])
	case "lastname":
		return word(data.Data["person"]["last"])
	case "city":
		return word(data.Data["address"]["city"])
	case "country":
		return word(data.Data["address"]["country"])
	}
	return nil
}

func word(list []string) quick {
	return func(b []byte, r random) []byte { return append(b, list[r.below(uint64(len(list)))]...) }
}

func quickURL() quick {
	squeezed := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = strings.ReplaceAll(strings.ToLower(s), " ", "")
		}
		return out
	}
	bs := squeezed(data.Data["company"]["bs"])
	descriptors := squeezed(data.Data["job"]["descriptor"])
	suffixes := data.Data["internet"]["domain_suffix"]
	schemes := [2]string{"https", "http"}
	return func(b []byte, r random) []byte {
		var path [4]string
		n := 1 + r.below(4)
		for i := range n {
			path[i] = bs[r.below(uint64(len(bs)))]
		}
		b = append(b, schemes[r.below(2)]...)
		b = append(b, "://www."...)
		b = append(b, descriptors[r.below(uint64(len(descriptors)))]...)
		b = append(b, bs[r.below(uint64(len(bs)))]...)
		b = append(b, '.')
		b = append(b, suffixes[r.below(uint64(len(suffixes)))]...)
		for _, p := range path[:n] {
			b = append(b, '/')
			b = append(b, p...)
		}
		return b
	}
}
