// Package textio reads and writes tables as text: CSV and JSON lines, from and to Arrow batches.
//
// It never guesses from a sample, never drops a row and never replaces a character: what does not fit the declared or inferred
// type is an error with the file, the line, the column and the value. It never opens a file or a connection; it gets an io.Reader.
//
// # Values as text
//
// The same text stands in a CSV field and in a JSON string; what is written here reads back as the same value.
//
//	boolean      true, false; also True, TRUE
//	int, long    digits with an optional sign; a fraction of zeros is allowed (1.0)
//	float,double decimal digits, fraction, exponent; NaN, Infinity, -Infinity; written as the shortest text that reads back
//	decimal      decimal digits, exact; more digits than the type has are an error, unless they are zeros; in JSON a number, or
//	             text where the type has more than 15 digits, since most readers make doubles of numbers
//	date         2025-01-02; years beyond 0000 to 9999 have a sign: -0044-03-15, +12025-01-02
//	time         03:04:05.000006; seconds and fraction may be left out; finer than a microsecond is an error, unless zeros
//	timestamp    2025-01-02 03:04:05.000006, or with a T; a date alone is its midnight; a zone is an error
//	timestamptz  the same with Z or an offset (+01:00); without one it is an error; written with Z
//	uuid         123e4567-e89b-12d3-a456-426614174000
//	fixed,binary \x and two hex digits a byte
//	list, struct a JSON array, a JSON object
//	map          a JSON object whose keys are the text of the keys; where keys are nested, an array of {"key": ..., "value": ...}
//
// # CSV
//
// RFC 4180, and records may end with LF, CRLF or CR. A quote inside a field without quotes is an error, as is text after the
// closing quote. The empty field is NULL and "" is the empty string (Options.Null changes that). Blank lines are skipped, except in
// a file of one column, where each is a NULL.
//
// # JSON lines
//
// One object a line, blank lines skipped. A number may stand as text in quotes. A key that is missing is NULL; one that stands twice is an error. Numbers keep every
// digit. A column of type string takes any JSON value: what is not a string is kept as its source text.
//
// # Inference
//
// Over all rows: the input is read twice (a copy is made where it cannot be, see Options.Scratch). Types inferred are boolean,
// long, double, date, timestamp, timestamptz and string, and in JSON also list and struct. A number with a leading zero, a plus
// sign or more digits than its type keeps makes a CSV column text. Fields in quotes count as those without, but never as NULL. A CSV column
// of mixed values is text; a JSON column of mixed values is an error that names both lines, since no type would keep it as it is.
package textio
