// Command report shows what was measured. It writes the figures of the documents:
// it reads the records of bench/results and replaces what stands between the
// markers
//
//	<!-- figures:begin goals -->
//	<!-- figures:end -->
//
// of docs/PERFORMANCE.md, docs/COMPARISON.md and both READMEs. No figure of these
// blocks, and no verdict, is ever written by hand. The blocks of the comparison
// show the result file that results/comparison.txt names.
//
// And it makes the report of one comparison: a page that needs nothing else, and
// the plots as files of their own.
//
//	go run ./report          # from the folder bench: write the documents
//	go run ./report -check   # write nothing; fail when a document is out of date
//	go run ./report -comparison results/2026-01-31.jsonl -html report.html -svg plots
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/page"
	"github.com/weftrpc/weft/bench/report/records"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// documents are the files with figures, from the root of the repository.
func documents() []string {
	return []string{"README.md", "README_CN.md", "docs/PERFORMANCE.md", "docs/COMPARISON.md"}
}

// run is the program.
func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	in := flags.String("in", "results/core.jsonl", "the `file` with the records of the plan core; the comparison of the documents is beside it")
	root := flags.String("root", "..", "the `folder` of the repository")
	check := flags.Bool("check", false, "write nothing, and fail when a document is out of date")
	compared := flags.String("comparison", "", "show this result `file` of a comparison, and leave the documents alone")
	html := flags.String("html", "", "write the report of the comparison into this `file`")
	svg := flags.String("svg", "", "write the plots of the comparison into this `folder`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *compared != "" && *html == "" && *svg == "":
		return errors.New("-comparison needs -html or -svg: where to write the report")
	case *compared == "" && (*html != "" || *svg != ""):
		return errors.New("-html and -svg need -comparison: what to show")
	case *compared != "":
		return show(*compared, *html, *svg)
	}
	return write(*in, *root, *check)
}

// show makes the report of one comparison.
func show(name, html, svg string) error {
	file, err := records.ReadFile(name)
	if err != nil {
		return err
	}
	c := comparison.New(file)
	if html != "" {
		var b bytes.Buffer
		if err := page.Write(&b, c); err != nil {
			return err
		}
		if err := os.WriteFile(html, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if svg == "" {
		return nil
	}
	if err := os.MkdirAll(svg, 0o755); err != nil {
		return err
	}
	for _, p := range page.Plots(c) {
		if err := os.WriteFile(filepath.Join(svg, p.Name+".svg"), []byte(p.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// write writes the figures into the documents, or checks them.
func write(in, root string, check bool) error {
	core, err := readFile(in)
	if err != nil {
		return err
	}
	blocks, err := render(core)
	if err != nil {
		return err
	}
	results := filepath.Dir(in)
	name, err := publishedFile(results)
	if err != nil {
		return err
	}
	compared, err := comparisonBlocks(results, name)
	if err != nil {
		return err
	}
	maps.Copy(blocks, compared)
	var stale []error
	for _, name := range documents() {
		if err := update(filepath.Join(root, name), blocks, check); err != nil {
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
