// Command pqplain writes an Arrow file's rows as plain Parquet, with arrow-go as it comes: its zstd is in Go. A program of its own,
// since package iceberg changes the codec of the whole process. It never writes outside the folder that it is given.
//
//	pqplain FILE FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"pipe/bench/plain"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pqplain FILE FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pqplain:", err)
		os.Exit(1)
	}
}

func run(file, dir string) error {
	in, err := plain.Read(file)
	if err != nil {
		return err
	}
	l, err := plain.Write(in, dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(l)
}
