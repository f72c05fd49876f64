// Command report shows what was measured. It writes the figures of the documents:
// it reads the records of bench/results, which are compressed, and replaces the
// text between the markers
//
//	<!-- figures:begin goals -->
//	<!-- figures:end -->
//
// of docs/PERFORMANCE.md, docs/COMPARISON.md and both READMEs, and the picture
// docs/comparison.svg. None of these figures, and no verdict, is written by hand.
//
// And it shows one comparison with all its figures: as a page that needs nothing
// else, as plots in files of their own, or as tables in the terminal.
//
//	go run ./report          # from the folder bench: write the documents
//	go run ./report -check   # write nothing; fail when a document is out of date
//	go run ./report -publish results/2026-01-31.jsonl      # show these workloads in the documents from now on
//	go run ./report -html report.html -svg plots           # the published comparison, in full
//	go run ./report -text -comparison results/core.jsonl.gz  # other records, in the terminal
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/page"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/tables"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// The records that the documents show, in the folder of results: weft's own goals,
// the comparison, and weft's doors.
const (
	coreFile       = "core.jsonl.gz"
	comparisonFile = "comparison.jsonl.gz"
	doorsFile      = "doors.jsonl.gz"
)

// documents are the files with figures, from the root of the repository.
func documents() []string {
	return []string{"README.md", "README_CN.md", "docs/PERFORMANCE.md", "docs/COMPARISON.md"}
}

// picture is the plot that documents show, from the root of the repository.
const picture = "docs/comparison.svg"

// options are the flags.
type options struct {
	results, root       string
	check               bool
	publish             string
	compared, html, svg string
	text                bool
}

func parse(args []string, stderr io.Writer) (*options, error) {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	flags.StringVar(&o.results, "results", "results", "the `folder` with the records that the documents show")
	flags.StringVar(&o.root, "root", "..", "the `folder` of the repository")
	flags.BoolVar(&o.check, "check", false, "write nothing, and fail when a document is out of date")
	flags.StringVar(&o.publish, "publish", "", "compress the records of this `file` into the folder of results, where they replace those of the same workloads, then write the documents")
	flags.StringVar(&o.compared, "comparison", "", "show the records of this `file` (default: the published comparison), and leave the documents alone")
	flags.StringVar(&o.html, "html", "", "write the report of the comparison into this `file`")
	flags.StringVar(&o.svg, "svg", "", "write the plots of the comparison into this `folder`")
	flags.BoolVar(&o.text, "text", false, "print the tables of the comparison")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	shows := o.html != "" || o.svg != "" || o.text
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.compared != "" && !shows:
		return nil, errors.New("-comparison needs -html, -svg or -text: how to show it")
	case shows && (o.check || o.publish != ""):
		return nil, errors.New("-html, -svg and -text show a comparison; -check and -publish are about the documents: give one kind")
	case o.check && o.publish != "":
		return nil, errors.New("-check writes nothing, -publish writes: give one of them")
	case shows && o.compared == "":
		o.compared = filepath.Join(o.results, comparisonFile)
	}
	return &o, nil
}

// run is the program.
func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.compared != "" {
		return show(o, stdout)
	}
	if o.publish != "" {
		if err := publish(o.publish, o.results); err != nil {
			return err
		}
	}
	return write(o)
}

// show shows one comparison.
func show(o *options, stdout io.Writer) error {
	file, err := records.ReadFile(o.compared)
	if err != nil {
		return err
	}
	c := comparison.New(file)
	if o.html != "" {
		var b bytes.Buffer
		if err := page.Write(&b, c); err != nil {
			return err
		}
		if err := os.WriteFile(o.html, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if o.text {
		for _, t := range tables.Runs(c) {
			if err := t.Print(stdout); err != nil {
				return err
			}
			fmt.Fprintln(stdout)
		}
	}
	if o.svg == "" {
		return nil
	}
	if err := os.MkdirAll(o.svg, 0o755); err != nil {
		return err
	}
	for _, p := range page.Plots(c) {
		if err := os.WriteFile(filepath.Join(o.svg, p.Name+".svg"), []byte(p.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// write writes the figures into the documents, or checks them.
func write(o *options) error {
	core, err := records.ReadFile(filepath.Join(o.results, coreFile))
	if err != nil {
		return err
	}
	compared, err := records.ReadFile(filepath.Join(o.results, comparisonFile))
	if err != nil {
		return err
	}
	doors, err := records.ReadFile(filepath.Join(o.results, doorsFile))
	if err != nil {
		return err
	}
	c := comparison.New(compared)
	blocks := render(results(core.Runs), c, results(doors.Runs))
	var stale []error
	for _, name := range documents() {
		stale = append(stale, update(filepath.Join(o.root, name), o.check, func(old []byte) ([]byte, error) {
			return replace(old, blocks)
		}))
	}
	stale = append(stale, update(filepath.Join(o.root, picture), o.check, func([]byte) ([]byte, error) {
		return []byte(page.Picture(c).SVG()), nil
	}))
	return errors.Join(stale...)
}

// update brings one file up to date, or checks that it is.
func update(name string, check bool, fresh func(old []byte) ([]byte, error)) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := fresh(old)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if bytes.Equal(old, text) {
		return nil
	}
	if check {
		return fmt.Errorf("%s does not agree with the records: run 'make figures'", name)
	}
	return os.WriteFile(name, text, 0o644)
}
