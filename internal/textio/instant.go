package textio

import (
	"math"
	"strconv"
)

// Dates and times as text. Package time is not used: it knows no year beyond four digits and no fraction that must not be lost.

const (
	dayMicros = 86_400_000_000
	maxDays   = 106_751_992 // days that hold the range of 64-bit microseconds
)

// parseDate reads a date as days since 1970-01-01.
func parseDate(s []byte) (int32, problem) {
	days, rest, p := takeDate(s)
	if p != "" {
		return 0, p
	}
	if len(rest) > 0 {
		return 0, malformed
	}
	if days < math.MinInt32 || days > math.MaxInt32 {
		return 0, outside
	}
	return int32(days), ""
}

// takeDate reads a date at the start of a text.
func takeDate(s []byte) (days int64, rest []byte, p problem) {
	body, negative := sign(s)
	signed := len(body) < len(s)
	n := 0
	for n < len(body) && isDigit(body[n]) {
		n++
	}
	if n < 4 || n > 4 && !signed || n > 9 || len(body) < n+6 || body[n] != '-' || body[n+3] != '-' {
		return 0, nil, malformed
	}
	year := int64(number(body[:n]))
	if negative {
		year = -year
	}
	month, ok1 := twoDigits(body[n+1:])
	day, ok2 := twoDigits(body[n+4:])
	if !ok1 || !ok2 {
		return 0, nil, malformed
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, nil, notADay
	}
	return daysOf(year, int64(month), int64(day)), body[n+6:], ""
}

func twoDigits(s []byte) (int, bool) {
	if len(s) < 2 || !isDigit(s[0]) || !isDigit(s[1]) {
		return 0, false
	}
	return int(s[0]-'0')*10 + int(s[1]-'0'), true
}

func daysIn(year int64, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysOf counts the days from 1970-01-01 in the proleptic Gregorian calendar. Years start in March here, so that the leap day is
// the last of its year, and eras of 400 years all have 146,097 days.
func daysOf(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	inEra := year - era*400
	inYear := (153*(month-3)+2)/5 + day - 1
	return era*146_097 + inEra*365 + inEra/4 - inEra/100 + inYear - 719_468
}

// dateOf is the inverse of daysOf.
func dateOf(days int64) (year, month, day int64) {
	days += 719_468
	era := floorDiv(days, 146_097)
	inEra := days - era*146_097
	years := (inEra - inEra/1_460 + inEra/36_524 - inEra/146_096) / 365
	inYear := inEra - (365*years + years/4 - years/100)
	m := (5*inYear + 2) / 153
	day = inYear - (153*m+2)/5 + 1
	year, month = years+era*400, m+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// parseTime reads a time of day as microseconds since midnight.
func parseTime(s []byte) (int64, problem) {
	micros, rest, p := takeTime(s)
	if p == "" && len(rest) > 0 {
		return 0, malformed
	}
	return micros, p
}

// takeTime reads HH:MM, HH:MM:SS or HH:MM:SS.ffffff at the start of a text.
func takeTime(s []byte) (micros int64, rest []byte, p problem) {
	hour, ok := twoDigits(s)
	if !ok || len(s) < 5 || s[2] != ':' {
		return 0, nil, malformed
	}
	minute, ok := twoDigits(s[3:])
	if !ok {
		return 0, nil, malformed
	}
	s = s[5:]
	second := 0
	fraction := int64(0)
	if len(s) > 0 && s[0] == ':' {
		if second, ok = twoDigits(s[1:]); !ok {
			return 0, nil, malformed
		}
		s = s[3:]
		if len(s) > 0 && s[0] == '.' {
			if fraction, s, p = takeFraction(s[1:]); p != "" {
				return 0, nil, p
			}
		}
	}
	if hour > 23 || minute > 59 || second > 59 {
		return 0, nil, problem("there is no such time")
	}
	return ((int64(hour)*60+int64(minute))*60+int64(second))*1_000_000 + fraction, s, ""
}

func takeFraction(s []byte) (micros int64, rest []byte, p problem) {
	i, unit := 0, int64(100_000)
	for ; i < len(s) && isDigit(s[i]); i++ {
		if unit == 0 && s[i] != '0' {
			return 0, nil, tooFine
		}
		micros += int64(s[i]-'0') * unit
		unit /= 10
	}
	if i == 0 {
		return 0, nil, malformed
	}
	return micros, s[i:], ""
}

// parseTimestamp reads a point in time as microseconds since 1970-01-01, with a zone or without.
func parseTimestamp(s []byte, zoned bool) (int64, problem) {
	micros, zone, p := takeTimestamp(s)
	switch {
	case p != "":
		return 0, p
	case zoned && !zone:
		return 0, noZone
	case !zoned && zone:
		return 0, hasZone
	}
	return micros, ""
}

// takeTimestamp reads a whole text as a timestamp and says whether it names a zone.
func takeTimestamp(s []byte) (micros int64, zone bool, p problem) {
	days, rest, p := takeDate(s)
	if p != "" {
		return 0, false, p
	}
	var inDay int64
	if len(rest) > 0 {
		if c := rest[0]; c != ' ' && c != 'T' && c != 't' {
			return 0, false, malformed
		}
		if inDay, rest, p = takeTime(rest[1:]); p != "" {
			return 0, false, p
		}
		if len(rest) > 0 {
			offset, p := parseZone(rest)
			if p != "" {
				return 0, false, p
			}
			zone = true
			inDay -= offset
		}
	}
	for ; inDay < 0; inDay += dayMicros {
		days--
	}
	for ; inDay >= dayMicros; inDay -= dayMicros {
		days++
	}
	if days < -maxDays || days >= maxDays {
		return 0, false, outside
	}
	if micros = days*dayMicros + inDay; days > 0 && micros < 0 || days < 0 && micros > 0 {
		return 0, false, outside // it wrapped around
	}
	return micros, zone, ""
}

// parseZone reads Z, +HH, +HHMM or +HH:MM as microseconds east of UTC.
func parseZone(s []byte) (int64, problem) {
	if len(s) == 1 && (s[0] == 'Z' || s[0] == 'z') {
		return 0, ""
	}
	rest, negative := sign(s)
	if len(rest) == len(s) {
		return 0, malformed
	}
	hour, ok := twoDigits(rest)
	if !ok {
		return 0, malformed
	}
	minute := 0
	if rest = rest[2:]; len(rest) > 0 {
		if rest[0] == ':' {
			rest = rest[1:]
		}
		if minute, ok = twoDigits(rest); !ok || len(rest) != 2 {
			return 0, malformed
		}
	}
	if hour > 18 || minute > 59 {
		return 0, problem("there is no such offset")
	}
	offset := int64(hour*60+minute) * 60_000_000
	if negative {
		offset = -offset
	}
	return offset, ""
}

func appendDate(dst []byte, days int64) []byte {
	year, month, day := dateOf(days)
	switch {
	case year < 0:
		dst = append(dst, '-')
		year = -year
	case year > 9999:
		dst = append(dst, '+')
	}
	for limit := int64(1000); limit > 1 && year < limit; limit /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, year, 10)
	return appendTwo(append(appendTwo(append(dst, '-'), month), '-'), day)
}

func appendTwo(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// appendTime writes six digits of fraction, or none where it is zero.
func appendTime(dst []byte, micros int64) []byte {
	second := micros / 1_000_000
	dst = appendTwo(dst, second/3600)
	dst = appendTwo(append(dst, ':'), second/60%60)
	dst = appendTwo(append(dst, ':'), second%60)
	if f := micros % 1_000_000; f != 0 {
		dst = append(dst, '.')
		for unit := int64(100_000); unit > 0; unit /= 10 {
			dst = append(dst, byte('0'+f/unit%10))
		}
	}
	return dst
}

func appendTimestamp(dst []byte, micros int64) []byte {
	days := floorDiv(micros, dayMicros)
	inDay := micros - days*dayMicros // wraps for the first day, and comes out right
	return appendTime(append(appendDate(dst, days), ' '), inDay)
}
