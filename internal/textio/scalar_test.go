package textio

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseInt(t *testing.T) {
	for _, row := range []struct {
		text string
		size int
		want int64
		p    problem
	}{
		{"0", 64, 0, ""},
		{"-0", 64, 0, ""},
		{"+7", 64, 7, ""},
		{"007", 64, 7, ""},
		{"1.0", 64, 1, ""},
		{"1.000", 64, 1, ""},
		{"9223372036854775807", 64, math.MaxInt64, ""},
		{"-9223372036854775808", 64, math.MinInt64, ""},
		{"9223372036854775808", 64, 0, outside},
		{"-9223372036854775809", 64, 0, outside},
		{"18446744073709551616", 64, 0, outside},
		{"99999999999999999999999.0", 64, 0, outside},
		{"99999999999999999999999x", 64, 0, malformed},
		{"2147483647", 32, math.MaxInt32, ""},
		{"-2147483648", 32, math.MinInt32, ""},
		{"2147483648", 32, 0, outside},
		{"", 64, 0, malformed},
		{"-", 64, 0, malformed},
		{"--1", 64, 0, malformed},
		{" 1", 64, 0, malformed},
		{"1 ", 64, 0, malformed},
		{"1.5", 64, 0, malformed},
		{"1.", 64, 0, malformed},
		{"1e3", 64, 0, malformed},
		{"1_000", 64, 0, malformed},
		{"0x10", 64, 0, malformed},
		{"١", 64, 0, malformed},
	} {
		if got, p := parseInt([]byte(row.text), row.size); p != row.p || p == "" && got != row.want {
			t.Errorf("%q in %d bits: got %d %q, want %d %q", row.text, row.size, got, p, row.want, row.p)
		}
	}
}

func TestParseFloat(t *testing.T) {
	for _, row := range []struct {
		text string
		size int
		want float64
		p    problem
	}{
		{"0.1", 64, 0.1, ""},
		{"-0", 64, math.Copysign(0, -1), ""},
		{".5", 64, 0.5, ""},
		{"5.", 64, 5, ""},
		{"1e-400", 64, 0, ""},
		{"1E+3", 64, 1000, ""},
		{"0.1", 32, float64(float32(0.1)), ""},
		{"infinity", 64, math.Inf(1), ""},
		{"-Inf", 64, math.Inf(-1), ""},
		{"1e400", 64, 0, outside},
		{"1e39", 32, 0, outside},
		{"", 64, 0, malformed},
		{".", 64, 0, malformed},
		{"-", 64, 0, malformed},
		{"1,5", 64, 0, malformed},
		{"1e", 64, 0, malformed},
		{"0x1p4", 64, 0, malformed},
		{"0x1p-2", 64, 0, malformed},
		{"1_0", 64, 0, malformed},
		{"abc", 64, 0, malformed},
		{"1 ", 64, 0, malformed},
	} {
		got, p := parseFloat([]byte(row.text), row.size)
		if p != row.p || p == "" && math.Float64bits(got) != math.Float64bits(row.want) {
			t.Errorf("%q in %d bits: got %v %q, want %v %q", row.text, row.size, got, p, row.want, row.p)
		}
	}
	for _, text := range []string{"NaN", "nan"} {
		if got, p := parseFloat([]byte(text), 64); p != "" || got == got {
			t.Errorf("%s: got %v %q", text, got, p)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, row := range []struct {
		text             string
		precision, scale int
		want             string // unscaled
		p                problem
	}{
		{"0", 9, 2, "0", ""},
		{"-1.5", 9, 2, "-150", ""},
		{"+1.50", 9, 2, "150", ""},
		{"1.500", 9, 2, "150", ""},
		{".05", 9, 2, "5", ""},
		{"-.05", 9, 2, "-5", ""},
		{"5.", 9, 2, "500", ""},
		{"000001", 3, 2, "100", ""},
		{"1e2", 9, 2, "10000", ""},
		{"1500e-3", 9, 1, "15", ""},
		{"12.5E-1", 9, 2, "125", ""},
		{nines, 38, 0, nines, ""},
		{"-" + nines, 38, 0, "-" + nines, ""},
		{"0." + nines, 38, 38, nines, ""},
		{"18446744073709551616", 38, 0, "18446744073709551616", ""},
		{"10000000000000000000", 38, 0, "10000000000000000000", ""},
		{"0e999999", 9, 2, "0", ""},
		{"9999999.99", 9, 2, "999999999", ""},
		{"10000000", 9, 2, "", "it has more than 7 digits before the point"},
		{"1e30", 9, 2, "", "it has more than 7 digits before the point"},
		{"1e2147483647", 9, 2, "", "it has more than 7 digits before the point"},
		{"1.005", 9, 2, "", "it has more than 2 digits after the point"},
		{"1e-2147483647", 9, 2, "", "it has more than 2 digits after the point"},
		{"1e99999999999999999999", 9, 2, "", outside},
		{"", 9, 2, "", malformed},
		{".", 9, 2, "", malformed},
		{"1.2.3", 9, 2, "", malformed},
		{"1e", 9, 2, "", malformed},
		{"1e1.0", 9, 2, "", malformed},
		{"e5", 9, 2, "", malformed},
		{"NaN", 9, 2, "", malformed},
		{"1,5", 9, 2, "", malformed},
		{"0x1", 9, 2, "", malformed},
	} {
		got, p := parseDecimal([]byte(row.text), row.precision, row.scale)
		if p != row.p || p == "" && got.BigInt().String() != row.want {
			t.Errorf("%q as decimal(%d,%d): got %s %q, want %s %q", row.text, row.precision, row.scale, got.BigInt(), p, row.want, row.p)
		}
	}
}

// A number of any form is what exact rational arithmetic makes of it.
func TestParseDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?[0-9]{1,12}(\.[0-9]{1,12})?(e[-+]?[0-9])?`).Draw(t, "text")
		scale := rapid.IntRange(0, 20).Draw(t, "scale")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		want.Mul(want, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		fits := want.IsInt() && len(new(big.Int).Abs(want.Num()).String()) <= 38
		got, p := parseDecimal([]byte(text), 38, scale)
		if (p == "") != fits || fits && got.BigInt().Cmp(want.Num()) != 0 {
			t.Fatalf("%s as decimal(38,%d): got %s %q, want %s", text, scale, got.BigInt(), p, want)
		}
	})
}

func TestParseInstants(t *testing.T) {
	date := func(s string) (int64, problem) {
		d, p := parseDate([]byte(s))
		return int64(d), p
	}
	clock := func(s string) (int64, problem) { return parseTime([]byte(s)) }
	local := func(s string) (int64, problem) { return parseTimestamp([]byte(s), false) }
	zoned := func(s string) (int64, problem) { return parseTimestamp([]byte(s), true) }
	for _, row := range []struct {
		name  string
		parse func(string) (int64, problem)
		text  string
		want  int64
		p     problem
	}{
		{"date", date, "1970-01-01", 0, ""},
		{"date", date, "1969-12-31", -1, ""},
		{"date", date, "2000-02-29", 11016, ""},
		{"date", date, "0001-01-01", -719162, ""},
		{"date", date, "0000-03-01", -719468, ""},
		{"date", date, "9999-12-31", 2932896, ""},
		{"date", date, "+5881580-07-11", math.MaxInt32, ""},
		{"date", date, "-5877641-06-23", math.MinInt32, ""},
		{"date", date, "+5881580-07-12", 0, outside},
		{"date", date, "-5877641-06-22", 0, outside},
		{"date", date, "1900-02-29", 0, notADay},
		{"date", date, "2025-13-01", 0, notADay},
		{"date", date, "2025-00-10", 0, notADay},
		{"date", date, "2025-04-31", 0, notADay},
		{"date", date, "2025-1-1", 0, malformed},
		{"date", date, "31/12/2007", 0, malformed},
		{"date", date, "31/12/07-07", 0, malformed},
		{"date", date, "12025-01-01", 0, malformed},
		{"date", date, "2025-01-01 ", 0, malformed},
		{"date", date, "2025-01-01T00:00", 0, malformed},
		{"date", date, "", 0, malformed},
		{"time", clock, "00:00", 0, ""},
		{"time", clock, "23:59:59.999999", 86399999999, ""},
		{"time", clock, "03:04:05.1", 11045100000, ""},
		{"time", clock, "03:04:05.100000000", 11045100000, ""},
		{"time", clock, "03:04:05.0000001", 0, tooFine},
		{"time", clock, "24:00:00", 0, "there is no such time"},
		{"time", clock, "23:59:60", 0, "there is no such time"},
		{"time", clock, "23:60:00", 0, "there is no such time"},
		{"time", clock, "3:04:05", 0, malformed},
		{"time", clock, "03:04:05.", 0, malformed},
		{"time", clock, "03:04:05 ", 0, malformed},
		{"time", clock, "03:04:", 0, malformed},
		{"time", clock, "03", 0, malformed},
		{"timestamp", local, "2025-01-02 03:04:05.000006", 1735787045000006, ""},
		{"timestamp", local, "2025-01-02T03:04:05.000006", 1735787045000006, ""},
		{"timestamp", local, "2025-01-02", 1735776000000000, ""},
		{"timestamp", local, "1969-12-31 23:59:59.999999", -1, ""},
		{"timestamp", local, "+294247-01-10 04:00:54.775807", math.MaxInt64, ""},
		{"timestamp", local, "-290308-12-21 19:59:05.224192", math.MinInt64, ""},
		{"timestamp", local, "+294247-01-10 04:00:54.775808", 0, outside},
		{"timestamp", local, "-290308-12-21 19:59:05.224191", 0, outside},
		{"timestamp", local, "+999999-01-01", 0, outside},
		{"timestamp", local, "2025-01-02 03:04:05Z", 0, hasZone},
		{"timestamp", local, "2025-01-02 03:04:05+00:00", 0, hasZone},
		{"timestamp", local, "2025-01-02_03:04:05", 0, malformed},
		{"timestamp", local, "2025-01-02 ", 0, malformed},
		{"timestamptz", zoned, "2025-01-02 03:04:05Z", 1735787045000000, ""},
		{"timestamptz", zoned, "2025-01-02T03:04:05z", 1735787045000000, ""},
		{"timestamptz", zoned, "2025-01-02 03:04:05+00", 1735787045000000, ""},
		{"timestamptz", zoned, "2025-01-02 03:04:05+0130", 1735781645000000, ""},
		{"timestamptz", zoned, "2025-01-02 03:04:05-11:30", 1735828445000000, ""},
		{"timestamptz", zoned, "2025-01-02 03:04:05", 0, noZone},
		{"timestamptz", zoned, "2025-01-02", 0, noZone},
		{"timestamptz", zoned, "2025-01-02 03:04:05+19:00", 0, "there is no such offset"},
		{"timestamptz", zoned, "2025-01-02 03:04:05+01:60", 0, "there is no such offset"},
		{"timestamptz", zoned, "2025-01-02 03:04:05+1", 0, malformed},
		{"timestamptz", zoned, "2025-01-02 03:04:05+01:0", 0, malformed},
		{"timestamptz", zoned, "2025-01-02 03:04:05 UTC", 0, malformed},
	} {
		if got, p := row.parse(row.text); p != row.p || p == "" && got != row.want {
			t.Errorf("%s %q: got %d %q, want %d %q", row.name, row.text, got, p, row.want, row.p)
		}
	}
}

// The calendar is package time's, over all years that it and a timestamp have.
func TestCalendarIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64().Draw(t, "micros")
		at := time.UnixMicro(micros).UTC()
		text := string(appendTimestamp(nil, micros))
		if y := at.Year(); y >= 0 && y <= 9999 {
			layout := "2006-01-02 15:04:05"
			if at.Nanosecond() != 0 {
				layout += ".000000"
			}
			if want := at.Format(layout); text != want {
				t.Fatalf("got %s, want %s", text, want)
			}
		}
		year, month, day := dateOf(floorDiv(micros, dayMicros))
		if int(year) != at.Year() || int(month) != int(at.Month()) || int(day) != at.Day() {
			t.Fatalf("got %d-%d-%d, want %s", year, month, day, at)
		}
		if got, p := parseTimestamp([]byte(text), false); p != "" || got != micros {
			t.Fatalf("%s reads back as %d %q, was %d", text, got, p, micros)
		}
	})
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]string{`\x`: "", `\x00fF`: "\x00\xff"} {
		if got, p := appendHex(nil, []byte(text)); p != "" || string(got) != want {
			t.Errorf("%s: got %q %q", text, got, p)
		}
	}
	for _, text := range []string{"", "x00", `\X00`, `\x0`, `\x0g`, "00ff"} {
		if _, p := appendHex(nil, []byte(text)); p == "" {
			t.Errorf("%q was taken", text)
		}
	}
	if got, p := parseUUID([]byte("123E4567-e89b-12d3-a456-426614174000")); p != "" || got != [16]byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40} {
		t.Errorf("got %x %q", got, p)
	}
	for _, text := range []string{
		"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456_426614174000",
		"{23e4567-e89b-12d3-a456-42661417400}",
	} {
		if _, p := parseUUID([]byte(text)); p == "" {
			t.Errorf("%q was taken", text)
		}
	}
}
