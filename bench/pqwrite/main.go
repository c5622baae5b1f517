// Command pqwrite is the Go side of the write benchmark. Each run does one thing and prints one line of JSON about it:
//
//	pqwrite make    -rows N FILE     writes the rows of the root example's stage `events`, as an Arrow file
//	pqwrite generate -rows N         makes them and throws them away
//	pqwrite pqarrow  FILE FOLDER     plain Parquet: two writers, zstd level 1; with the codec of package iceberg
//	pqwrite digest   FILE            the digest of the rows alone
//	pqwrite pipe     FILE FOLDER     pipe's write path: digest, Iceberg snapshot, publish
//
// The input is in memory before the clock starts. It never writes outside the folder that it is given.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"pipe/bench/plain"
)

func main() {
	l, err := run(context.Background(), os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pqwrite:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (*plain.Line, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("no mode, see the package's comment")
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	rows := set.Int64("rows", 1_000_000, "")
	project := set.String("project", ".", "the folder of the pipeline that has the stage")
	if err := set.Parse(args[1:]); err != nil {
		return nil, err
	}
	switch mode := args[0]; mode {
	case "make":
		return makeFile(ctx, *project, *rows, set.Arg(0))
	case "generate":
		return generateOnly(ctx, *project, *rows)
	case "pqarrow", "digest", "pipe":
		in, err := plain.Read(set.Arg(0))
		if err != nil {
			return nil, err
		}
		switch mode {
		case "digest":
			return digestOnly(in)
		case "pipe":
			return writePipe(ctx, in, set.Arg(1))
		}
		return plain.Write(in, set.Arg(1))
	}
	return nil, fmt.Errorf("no mode %q", args[0])
}
