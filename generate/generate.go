// Package generate writes the Go code that goes with weft services: clients and register functions for Go interfaces and for .proto and
// .thrift files, messages for the latter two, and code that encodes and decodes messages. The command "weft generate" and the plugin
// protoc-gen-weft are this package.
//
// It writes one file beside each source: order.go gets order_weft.go. The output is the same
// for the same input, and a file that it has not written itself is never replaced.
package generate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/origin"
	"github.com/weftrpc/weft/generate/internal/wirename"
)

// Config says what to generate.
type Config struct {
	// Dir is the folder in which Inputs are; "" is the current one.
	Dir string
	// Inputs are packages of Go, as of the go command, and .proto and .thrift files; none means the package in Dir.
	Inputs []string
	// Codec adds code that encodes and decodes structs whose fields have numbers.
	Codec bool
	// ImportPath are folders in which the imports of .proto files are looked for, after Dir and before the folder of the file, and
	// the includes of .thrift files, after the folder of the file that includes them.
	ImportPath []string
	// Package is the name of the Go package of .proto files without the option go_package and of .thrift
	// files without "namespace go", an identifier of Go; "" means the name of their folder.
	Package string
}

// An Output is a file that is to be written.
type Output struct {
	Name    string // its path
	Content []byte

	services []*service
}

// path is where an input is.
func (c *Config) path(input string) string {
	if filepath.IsAbs(input) {
		return input
	}
	return filepath.Join(c.Dir, input)
}

// Generate returns the files for the inputs, in the order of their names.
func Generate(ctx context.Context, cfg Config) ([]Output, error) {
	if cfg.Package != "" {
		if err := names.CheckPackage(cfg.Package); err != nil {
			return nil, err
		}
	}
	var all []Output
	var packages []string
	for _, input := range cfg.Inputs {
		var out Output
		var err error
		switch filepath.Ext(input) {
		case ".proto":
			out, err = fromProto(ctx, cfg, input)
		case ".thrift":
			out, err = fromThrift(cfg, input)
		default:
			packages = append(packages, input)
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	if len(packages) > 0 || len(cfg.Inputs) == 0 {
		files, err := fromGo(ctx, cfg, packages)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	sources, clash := make(origin.Sources), error(nil)
	all = slices.DeleteFunc(all, func(out Output) bool {
		again, err := sources.Add(out.Name, out.Content)
		clash = cmp.Or(clash, err)
		return again
	})
	slices.SortFunc(all, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	methods, errs := make(wirename.Methods), []error{clash}
	for _, out := range all {
		for _, s := range out.services {
			errs = append(errs, methods.Add(s.pos, filepath.Dir(out.Name), s.name, s.wireNames()))
		}
	}
	return all, errors.Join(errs...)
}

// Write writes the files, those that have changed. It returns their names, and an error for
// each that exists and was not written by this package, or for another source that is still there.
func Write(files []Output) (written []string, err error) {
	var errs []error
	for _, f := range files {
		old, err := os.ReadFile(f.Name)
		switch {
		case err == nil && bytes.Equal(old, f.Content):
			continue
		case err == nil:
			err = origin.Check(f.Name, old, f.Content)
		case errors.Is(err, os.ErrNotExist):
			err = nil
		}
		if err == nil {
			err = os.WriteFile(f.Name, f.Content, 0o644)
		}
		if errs = append(errs, err); err == nil {
			written = append(written, f.Name)
		}
	}
	return written, errors.Join(errs...)
}

// Check returns an error that names the files that are missing or not up to date.
func Check(files []Output) error {
	var errs []error
	for _, f := range files {
		old, err := os.ReadFile(f.Name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing", f.Name))
		case err != nil:
			errs = append(errs, err)
		case !bytes.Equal(old, f.Content):
			errs = append(errs, fmt.Errorf("%s is not up to date", f.Name))
		}
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("run weft generate, with the same arguments but -check"))
	}
	return errors.Join(errs...)
}

// beside returns the name of the output for a source: order.go has order_weft.go.
func beside(source string) string {
	return strings.TrimSuffix(source, filepath.Ext(source)) + "_weft.go"
}
