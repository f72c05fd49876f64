// Command report writes the figures of the documents: it reads the records of
// core and replaces what stands between the markers
//
//	<!-- figures:begin goals -->
//	<!-- figures:end -->
//
// of docs/PERFORMANCE.md and of both READMEs. No figure of these blocks, and no
// verdict, is ever written by hand.
//
//	go run ./report          # from the folder bench: write the documents
//	go run ./report -check   # write nothing; fail when a document is out of date
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// documents are the files with figures, from the root of the repository.
func documents() []string {
	return []string{"README.md", "README_CN.md", "docs/PERFORMANCE.md"}
}

// run is the program.
func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	in := flags.String("in", "results/core.jsonl", "the `file` with the records")
	root := flags.String("root", "..", "the `folder` of the repository")
	check := flags.Bool("check", false, "write nothing, and fail when a document is out of date")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	records, err := readFile(*in)
	if err != nil {
		return err
	}
	blocks, err := render(records)
	if err != nil {
		return err
	}
	var stale []error
	for _, name := range documents() {
		if err := update(filepath.Join(*root, name), blocks, *check); err != nil {
			stale = append(stale, err)
		}
	}
	return errors.Join(stale...)
}

// update brings one document up to date.
func update(name string, blocks map[string]string, check bool) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fresh, err := replace(old, blocks)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if bytes.Equal(old, fresh) {
		return nil
	}
	if check {
		return fmt.Errorf("%s does not agree with the results: run 'make figures'", name)
	}
	return os.WriteFile(name, fresh, 0o644)
}
