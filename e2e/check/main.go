// Command check prints one value out of JSON on standard input, for shell scripts on machines without jq:
//
//	pipe --json repro | check stages.events.outs.0.rows
//
// A step of the path is a key, an index, or in a list of objects the name of the one that is meant. A text is printed bare, anything
// else as JSON; nothing there is status 1. It never writes a file.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check PATH <json")
		os.Exit(2)
	}
	text, err := find(os.Stdin, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
	fmt.Println(text)
}

func find(r io.Reader, path string) (string, error) {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	for step := range strings.SplitSeq(path, ".") {
		next, ok := follow(v, step)
		if !ok {
			b, _ := json.Marshal(v)
			return "", fmt.Errorf("no %q of %s in %.200s", step, path, b)
		}
		v = next
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func follow(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		x, ok := v[step]
		return x, ok
	case []any:
		if i, err := strconv.Atoi(step); err == nil {
			if i < 0 || i >= len(v) {
				return nil, false
			}
			return v[i], true
		}
		for _, x := range v {
			if m, ok := x.(map[string]any); ok && (m["name"] == step || m["table"] == step) {
				return x, true
			}
		}
	}
	return nil, false
}
