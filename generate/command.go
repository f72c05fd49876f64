package generate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrpc/weft/generate/internal/directive"
)

// usage is printed by Command for -h.
const usage = `weft generate [flags] [input ...]

It writes clients and register functions for services. An input is a package of Go, as for
the go command, in which interfaces are marked with //weft:service, or a .proto or .thrift file,
whose messages become structs. Without an input it is the package in this folder. Each source
gets one file beside it: order.go, order.proto or order.thrift has order_weft.go, which is removed when the source
is gone or has nothing to generate.

Flags:
`

// ErrFlags is the error of Command for flags that it has reported already.
var ErrFlags = errors.New("the flags are wrong")

// Command is the command "weft generate" with its arguments.
func Command(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.Usage = func() {
		fmt.Fprint(log, usage)
		flags.PrintDefaults()
	}
	var cfg Config
	check := flags.Bool("check", false, "write nothing; fail if a file is missing, not up to date or to be removed")
	flags.BoolVar(&cfg.Codec, "codec", false, "also write code that encodes and decodes structs whose fields have numbers")
	flags.StringVar(&cfg.Package, "package", "", "`name` of the Go package of .proto files without go_package and of .thrift files without namespace go (default: that of their folder)")
	flags.Func("I", "`folder` with the imports of .proto files or the includes of .thrift files; may be repeated", func(folder string) error {
		cfg.ImportPath = append(cfg.ImportPath, folder)
		return nil
	})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return ErrFlags
	}
	cfg.Inputs = flags.Args()
	files, kept, err := generate(ctx, cfg)
	if err != nil {
		return err
	}
	for _, f := range files {
		for _, note := range f.notes {
			fmt.Fprintln(log, note)
		}
	}
	switch {
	case len(files) == 0 && len(kept) > 0:
		fmt.Fprintf(log, "there is nothing to generate from Go; to have files such as %s written and checked, name their sources as inputs\n", kept[0])
	case len(files) == 0:
		return fmt.Errorf("there is nothing to generate in %s: mark interfaces with %s", strings.Join(append(cfg.Inputs, "this folder")[:max(1, len(cfg.Inputs))], ", "), directive.Service)
	}
	if *check {
		return Check(files)
	}
	changed, err := Write(files)
	for _, f := range changed {
		name := f.Name
		if here, err := os.Getwd(); err == nil {
			if short, err := filepath.Rel(here, name); err == nil && filepath.IsAbs(name) {
				name = short
			}
		}
		if f.Stale != "" {
			fmt.Fprintf(log, "removed %s: %s\n", name, f.Stale)
			continue
		}
		fmt.Fprintln(out, name)
	}
	return err
}
