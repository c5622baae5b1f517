package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"pipe/internal/diag"
	"pipe/pipeline"
	"pipe/stages"
)

const everyType = `columns:
  id: uuid
  user: {int: [1000, 5000]}
  wide: {int: [-9223372036854775808, 9223372036854775807]}
  skewed: {int: [-9223372036854775808, 4611686018427387903]} # a quarter of all random numbers is of no use
  eight: {int: [1, 8]}
  price: {decimal: [1, 500.00, 2]}
  score: {float: [-1.5, 2.5]}
  active: {bool: 0.3}
  kind: {oneof: [login, click, logout]}
  plan: {weighted: {paid: 2, free: 7.5, never: 0.5}}
  at: {timestamp: [2025-01-01, 2025-02-01 00:00:00]}
  day: {date: [1969-12-31, 1971-02-03]}
  n: {seq: 10}
  user_or_null: {int: [1000, 5000], nulls: 0.25}
  doc: {json: {id: uuid, in: {json: {price: {decimal: [1, 500, 2]}, kind: {oneof: [login, click, logout], nulls: 0.5}}}}}
`

// The vectors come from testdata/vectors.py, which implements the definition a second time.
func TestRowsAreThoseOfTheDefinition(t *testing.T) {
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows    []int
		Vectors []struct {
			Seed    int64
			Columns map[string][]*string
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		t.Run(fmt.Sprintf("seed %d", v.Seed), func(t *testing.T) {
			with := fmt.Sprintf("rows: 20001\nseed: %d\n%s", v.Seed, everyType)
			got := generated(t, with, 1, "") // one thread writes in the order of the stream
			if n := got.schema.NumFields(); n != len(v.Columns) {
				t.Fatalf("%d columns, want %d", n, len(v.Columns))
			}
			for j, f := range got.schema.Fields() {
				for i, row := range file.Rows {
					want, cell := "NULL", got.cells[j][row]
					if w := v.Columns[f.Name][i]; w != nil {
						want = *w
					}
					if f.Name == "at" && want != "NULL" {
						us, err := strconv.ParseInt(want, 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						want = arrow.Timestamp(us).ToTime(arrow.Microsecond).Format("2006-01-02T15:04:05.999999")
					}
					if f.Name == "score" {
						a, errA := strconv.ParseFloat(cell, 64)
						b, errB := strconv.ParseFloat(want, 64)
						if errA == nil && errB == nil && a == b {
							continue
						}
					}
					if cell != want {
						t.Errorf("%s, row %d: got %s, want %s", f.Name, row, cell, want)
					}
				}
			}
		})
	}
}

// Words of the library have no second implementation; a change here is a change of users' rows and raises the kind's version.
func TestRowsOfGofakeit(t *testing.T) {
	got := generated(t, `{rows: 3, seed: 42, columns: {url: {fake: url}, name: {fake: name}, mail: {fake: email}, text: {fake: sentence},
  pin: {fake: {digitn: {count: 4}}}, port: {fake: {intrange: {min: 1, max: 9}}}, yes: {fake: bool}, dice: {fake: {randomstring: {strs: [a, b]}}}}}`, 1, "")
	b, err := os.ReadFile("testdata/gofakeit.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(b)), "\n"), got.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestColumnTypes(t *testing.T) {
	got := generated(t, "rows: 0\n"+everyType, 1, "")
	var types []string
	for _, f := range got.schema.Fields() {
		types = append(types, f.Name+" "+f.Type.String())
		if !f.Nullable {
			t.Errorf("%s is required", f.Name)
		}
	}
	want := []string{
		"id extension<arrow.uuid>", "user int64", "wide int64", "skewed int64", "eight int64", "price decimal(18, 2)", "score float64", "active bool", "kind utf8",
		"plan utf8", "at timestamp[us]", "day date32", "n int64", "user_or_null int64", "doc utf8",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if len(got.sizes) != 0 {
		t.Errorf("%d batches of no rows", len(got.sizes))
	}
}

func TestThreadsChangeNoRow(t *testing.T) {
	with := "rows: 80000\n" + everyType
	want := generated(t, with, 1, "").lines()
	for _, threads := range []int{2, 8} {
		if got := generated(t, with, threads, "").lines(); !slices.Equal(want, got) {
			t.Errorf("%d threads make other rows", threads)
		}
	}
}

// Appends of any sizes make the rows that one run makes.
func TestAppendsGoOnInTheStream(t *testing.T) {
	const total = 3*chunkRows + 10
	columns := "columns: {n: {seq: 0}, id: uuid, note: {fake: word, nulls: 0.5}, doc: {json: {a: {float: [0, 1]}, b: {seq: 5}}}}"
	whole := generated(t, fmt.Sprintf("rows: %d\n%s", total, columns), 2, "")
	want := whole.lines()
	if whole.carry != "pipe.generated="+strconv.Itoa(total) {
		t.Errorf("carried %q", whole.carry)
	}
	for _, cuts := range [][]int{
		{0, 1, 1, 500, 1000}, {chunkRows}, {chunkRows - 1, 2}, {chunkRows + 1, 2 * chunkRows}, {1, 3*chunkRows - 1}, {3*chunkRows + 9},
	} {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			var parts []string
			base, at := "", 0
			for i := 0; at < total; i++ {
				n := total - at
				if i < len(cuts) {
					n = min(n, cuts[i])
				}
				got := generated(t, fmt.Sprintf("rows: %d\n%s", n, columns), 1+i%2, base)
				parts = append(parts, got.lines()...)
				at += n
				base = strings.TrimPrefix(got.carry, "pipe.generated=")
				if base != strconv.Itoa(at) {
					t.Fatalf("carried %q after %d rows", got.carry, at)
				}
			}
			slices.Sort(parts)
			if !slices.Equal(want, parts) {
				t.Error("other rows than in one run")
			}
		})
	}
}

func TestReplaceStartsAnew(t *testing.T) {
	w := &rows{}
	task := task(t, w, "{rows: 2, columns: {n: {seq: 1}}}", 1, "500")
	task.Outs[0].Out.Mode = pipeline.Replace
	if err := Kind().Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2"}, w.lines()); diff != "" || w.carry != "pipe.generated=2" {
		t.Errorf("%s, carried %s", diff, w.carry)
	}
}

func TestOrderOfColumnsAndKeysChangesNoValue(t *testing.T) {
	one := generated(t, `{rows: 100, columns: {a: uuid, b: {weighted: {x: 1, y: 2, z: 3}}, c: {json: {p: {int: [1, 9]}, q: {bool: 0.5}}}}}`, 1, "")
	two := generated(t, `{rows: 100, columns: {c: {json: {q: {bool: 0.5}, p: {int: [1, 9]}}}, b: {weighted: {z: 3, x: 1, y: 2}}, a: uuid}}`, 1, "")
	for i, j := range map[int]int{0: 2, 1: 1, 2: 0} {
		if !cmp.Equal(one.cells[i], two.cells[j]) {
			t.Errorf("column %d differs", i)
		}
	}
	if !strings.HasPrefix(one.cells[2][0], `{"p":`) {
		t.Errorf("keys of %s are in no order", one.cells[2][0])
	}
}

func TestNullsChangeNoOtherValue(t *testing.T) {
	without := generated(t, `{rows: 10000, columns: {a: {int: [1, 1000000]}}}`, 1, "")
	with := generated(t, `{rows: 10000, columns: {a: {int: [1, 1000000], nulls: 0.3}}}`, 1, "")
	nulls := 0
	for i, v := range with.cells[0] {
		switch v {
		case "NULL":
			nulls++
		case without.cells[0][i]:
		default:
			t.Fatalf("row %d: %s was %s", i, v, without.cells[0][i])
		}
	}
	share(t, "nulls", nulls, 10000, 0.3)
}

// share fails if a count is more than five standard deviations from what its probability says: once in two million tests.
func share(t *testing.T, what string, count, of int, p float64) {
	t.Helper()
	mean := float64(of) * p
	if limit := 5 * math.Sqrt(mean*(1-p)); math.Abs(float64(count)-mean) > limit {
		t.Errorf("%s: %d of %d, want %.0f plus or minus %.0f", what, count, of, mean, limit)
	}
}

func TestBoundsAndShares(t *testing.T) {
	const n = 50_000
	got := generated(t, fmt.Sprintf(`{rows: %d, columns: {
  five: {int: [-2, 2]}, one: {int: [7, 7]}, cent: {decimal: [-0.02, 0.02, 2]}, day: {date: [2025-01-30, 2025-02-03]}, us: {timestamp: ["2025-01-01 00:00:00.000001", "2025-01-01 00:00:00.000004"]},
  f: {float: [10, 20]}, t: {bool: 0.1}, w: {weighted: {a: 1, b: 3, never: 0, c: 6}}, o: {oneof: [1, 2.5]}, id: uuid, never: {bool: 0}, ever: {bool: 1},
  tight: {float: [1, 1.0000000000000002]}}}`, n), 2, "")
	for j, f := range got.schema.Fields() {
		seen := map[string]int{}
		for _, v := range got.cells[j] {
			seen[v]++
		}
		want := map[string]float64{}
		switch f.Name {
		case "five":
			want = map[string]float64{"-2": .2, "-1": .2, "0": .2, "1": .2, "2": .2}
		case "tight": // half of the sums round up to the end, which does not belong to the range
			want = map[string]float64{"1": 1}
		case "one":
			want = map[string]float64{"7": 1}
		case "cent":
			want = map[string]float64{"-0.02": .2, "-0.01": .2, "0": .2, "0.01": .2, "0.02": .2}
		case "day":
			want = map[string]float64{"2025-01-30": .2, "2025-01-31": .2, "2025-02-01": .2, "2025-02-02": .2, "2025-02-03": .2}
		case "us":
			want = map[string]float64{"2025-01-01T00:00:00.000001": 1. / 3, "2025-01-01T00:00:00.000002": 1. / 3, "2025-01-01T00:00:00.000003": 1. / 3}
		case "t":
			want = map[string]float64{"true": .1, "false": .9}
		case "w":
			want = map[string]float64{"a": .1, "b": .3, "c": .6}
		case "o":
			want = map[string]float64{"1": .5, "2.5": .5}
		case "never":
			want = map[string]float64{"false": 1}
		case "ever":
			want = map[string]float64{"true": 1}
		case "id":
			if len(seen) != n {
				t.Errorf("%d different ids of %d", len(seen), n)
			}
			for id := range seen {
				if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) {
					t.Fatalf("%s is no uuid of version 4", id)
				}
			}
			continue
		case "f":
			sum := 0.0
			for _, v := range got.cells[j] {
				x, err := strconv.ParseFloat(v, 64)
				if err != nil || x < 10 || x >= 20 {
					t.Fatalf("float %s", v)
				}
				sum += x
			}
			// The mean of n values over a range of 10 has a deviation of 10/sqrt(12 n).
			if mean := sum / n; math.Abs(mean-15) > 5*10/math.Sqrt(12*n) {
				t.Errorf("mean %v", mean)
			}
			continue
		}
		if len(seen) != len(want) {
			t.Errorf("%s: values %v, want %v", f.Name, seen, want)
		}
		for v, p := range want {
			share(t, f.Name+" "+v, seen[v], n, p)
		}
	}
}

func TestJSONIsWhatADecoderReads(t *testing.T) {
	got := generated(t, `{rows: 500, columns: {j: {json: {
  s: {oneof: ["plain", "quote\"back\\slash", "tab\tnew\nline\r", "\x01\x1f", "äöü€😀", "", "eight888\"", "12345678", "a/b<>&"]},
  i: {int: [-5, 5]}, f: {float: [0, 1e-5]}, big: {oneof: [1.5e300, 2.0]}, d: {decimal: [-0.05, 0.05, 2]}, d0: {decimal: [-5, 5, 0]}, b: {bool: 0.5}, id: uuid,
  t: {timestamp: [2025-01-01, 2025-01-02]}, day: {date: [1969-12-30, 1970-01-02]}, n: {seq: 1}, nil: {fake: word, nulls: 0.5}, o: {json: {x: {oneof: [1, 2]}}}}}}}`, 1, "")
	texts, nils := map[string]bool{}, 0
	for i, cell := range got.cells[0] {
		var v struct {
			S    string
			I    int
			F    float64
			Big  float64
			D    json.Number
			D0   json.Number
			B    *bool
			ID   string
			T    string
			Day  string
			N    int
			Nil  *string
			O    struct{ X int }
			More any
		}
		dec := json.NewDecoder(strings.NewReader(cell))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s: %v", cell, err)
		}
		texts[v.S] = true
		if v.Nil == nil {
			nils++
		}
		d, errD := v.D.Float64()
		_, point, _ := strings.Cut(v.D.String(), ".")
		if v.N != i+1 || v.I < -5 || v.I > 5 || v.F < 0 || v.F >= 1e-5 || v.B == nil || errD != nil || math.Abs(d) > 0.05 || len(point) != 2 ||
			strings.Contains(v.D0.String(), ".") || len(v.ID) != 36 || !strings.HasPrefix(v.T, "2025-01-01T") || len(v.T) != 26 || (v.Big != 2 && v.Big != 1.5e300) || v.O.X < 1 || v.O.X > 2 {
			t.Errorf("row %d: %s", i, cell)
		}
		if !strings.Contains("1969-12-30 1969-12-31 1970-01-01 1970-01-02", v.Day) {
			t.Errorf("day %s", v.Day)
		}
	}
	for _, want := range []string{"plain", "quote\"back\\slash", "tab\tnew\nline\r", "\x01\x1f", "äöü€😀", "", "eight888\"", "12345678", "a/b<>&"} {
		if !texts[want] {
			t.Errorf("no row says %q", want)
		}
	}
	share(t, "nulls in JSON", nils, 500, 0.5)
}

func FuzzJSONText(f *testing.F) {
	for _, s := range []string{"", "a", "12345678\"", "äöü", "\xff\x00", "\u2028", "1234567\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		text := appendJSONText(nil, []byte(s))
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want := strings.ToValidUTF8(s, "\x00"); len(s) == len(want) && want == s && back != s {
			t.Errorf("%q became %q", s, back)
		}
	})
}

func TestBatchesAreLarge(t *testing.T) {
	got := generated(t, "{rows: 200000, columns: {a: {int: [1, 2]}}}", 1, "100")
	want := []int64{8*chunkRows - 100, 8 * chunkRows, 8 * chunkRows, 200100 - 24*chunkRows}
	if diff := cmp.Diff(want, got.sizes); diff != "" {
		t.Error(diff)
	}
}

func TestProgress(t *testing.T) {
	w := &rows{}
	task := task(t, w, "{rows: 100000, columns: {a: {int: [1, 2]}}}", 1, "")
	var last int64
	task.Progress = func(n int64) { last = n }
	if err := Kind().Run(t.Context(), task); err != nil || last != 100000 {
		t.Errorf("told of %d rows, %v", last, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &rows{}
	task := task(t, w, "{rows: 9000000000000, columns: {a: {int: [1, 2]}}}", 2, "")
	task.Progress = func(int64) { cancel() }
	if err := Kind().Run(ctx, task); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write(context.Context, arrow.RecordBatch) error { return f.err }

func TestAFailingWriterEndsTheRun(t *testing.T) {
	full := errors.New("no space left")
	task := task(t, &rows{}, "{rows: 9000000000000, columns: {a: {int: [1, 2]}}}", 2, "")
	task.Outs[0].Open = func(context.Context, *arrow.Schema) (stages.Writer, error) { return failing{full}, nil }
	if err := Kind().Run(t.Context(), task); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestABaseThatDoesNotSayHowFarItIs(t *testing.T) {
	for _, base := range []string{"many", "-1"} {
		err := Kind().Run(t.Context(), task(t, &rows{}, "{rows: 1, columns: {a: uuid}}", 1, base))
		if diag.ExitOf(err) != diag.Failed || !strings.Contains(err.Error(), fmt.Sprintf("the snapshot that a.b is appended to says pipe.generated: %q", base)) {
			t.Errorf("got %v", err)
		}
	}
}

func TestSequenceDoesNotRunOver(t *testing.T) {
	for _, columns := range []string{"{n: {seq: 9223372036854775800}}", "{j: {json: {n: {seq: 9223372036854775800}}}}"} {
		ok := "{rows: 8, columns: " + columns + "}"
		generated(t, ok, 1, "")
		err := Kind().Run(t.Context(), task(t, &rows{}, ok, 1, "1"))
		if err == nil || !strings.Contains(err.Error(), `column "n": seq runs over`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestMemoryOfTheBatchesIsTheirs(t *testing.T) {
	// A writer may keep a batch: the next one must not change it.
	var kept []arrow.RecordBatch
	task := task(t, &rows{}, "{rows: 140000, columns: {n: {seq: 0}}}", 1, "")
	task.Outs[0].Open = func(context.Context, *arrow.Schema) (stages.Writer, error) {
		return keeper{&kept}, nil
	}
	if err := Kind().Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for _, b := range kept {
		for _, v := range b.Column(0).(*array.Int64).Int64Values() {
			if v != at {
				t.Fatalf("row %d is %d", at, v)
			}
			at++
		}
		b.Release()
	}
}

type keeper struct{ kept *[]arrow.RecordBatch }

func (k keeper) Write(_ context.Context, b arrow.RecordBatch) error {
	b.Retain()
	*k.kept = append(*k.kept, b)
	return nil
}
