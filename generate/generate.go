// Package generate writes the Go code that goes with weft services: clients and register functions for Go interfaces and for .proto and
// .thrift files, messages for the latter two, and code that encodes and decodes messages. The command "weft generate" and the plugin
// protoc-gen-weft are this package.
//
// It writes one file beside each source: order.go gets order_weft.go. The output is the same
// for the same input, and a file that it has not written itself is never replaced or removed.
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

	"github.com/weftrpc/weft/generate/internal/declared"
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

// An Output is a file that is to be written, or to be removed.
type Output struct {
	Name    string // its path
	Content []byte
	Stale   string // why it is to be removed, such as "its source order.go is gone"; "": it is to be written

	services []*service        // that are in it
	notes    []string          // about what is left out of it
	places   map[string]string // where names that it declares are in a source that is no Go
}

// path is where an input is.
func (c *Config) path(input string) string {
	if filepath.IsAbs(input) {
		return input
	}
	return filepath.Join(c.Dir, input)
}

// stale is the output of a source that is no longer to have one.
func stale(source, why string) Output {
	return Output{Name: origin.Output(source), Stale: "its source " + filepath.Base(source) + " " + why}
}

// Generate returns the files for the inputs, in the order of their names, and then those that were generated from sources in the same folders
// that are gone, or have nothing to generate. Of the folder of a file it looks at the output for that file alone.
func Generate(ctx context.Context, cfg Config) ([]Output, error) {
	all, _, err := generate(ctx, cfg)
	return all, err
}

// generate is Generate. It returns also the outputs in the packages of Go whose sources are no Go.
func generate(ctx context.Context, cfg Config) (all []Output, kept []string, err error) {
	if err := names.CheckPackage(cfg.Package); cfg.Package != "" && err != nil {
		return nil, nil, err
	}
	cfg.ImportPath = slices.Clone(cfg.ImportPath)
	for i, folder := range cfg.ImportPath {
		cfg.ImportPath[i] = cfg.path(folder)
		if _, err := os.ReadDir(cfg.ImportPath[i]); err != nil {
			return nil, nil, fmt.Errorf("a folder for imports: %w", err)
		}
	}
	var packages []string
	for _, input := range cfg.Inputs {
		var out Output
		var err error
		switch source, kind := cfg.path(input), filepath.Ext(input); {
		case origin.Has(source) && !origin.Exists(source):
			out = stale(source, "is gone")
		case kind != ".proto" && kind != ".thrift":
			packages = append(packages, input)
			continue
		case !origin.Exists(source):
			err = fmt.Errorf("%s: there is no such file", source)
		case kind == ".proto":
			out, err = fromProto(ctx, cfg, input)
		default:
			out, err = fromThrift(cfg, input)
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, out)
	}
	if len(packages) > 0 || len(cfg.Inputs) == 0 {
		var files []Output
		if files, kept, err = fromGo(ctx, cfg, packages); err != nil {
			return nil, nil, err
		}
		all = append(all, files...)
	}
	slices.SortStableFunc(all, func(a, b Output) int {
		return cmp.Or(strings.Compare(a.Stale, b.Stale), strings.Compare(a.Name, b.Name))
	})
	sources, clash := make(origin.Sources), error(nil)
	all = slices.DeleteFunc(all, func(out Output) bool {
		again, err := sources.Add(out.Name, out.Content)
		clash = cmp.Or(clash, err)
		return again
	})
	methods, declares, errs := make(wirename.Methods), make(declared.Names), []error{clash}
	for _, out := range all {
		if out.Stale == "" && clash == nil {
			errs = append(errs, declares.Add(out.Name, out.Content, out.places))
		}
		for _, s := range out.services {
			errs = append(errs, methods.Add(s.pos, filepath.Dir(out.Name), s.name, s.wireNames()))
		}
	}
	return all, kept, errors.Join(errs...)
}

// Write writes the files, those that have changed, and removes those that are stale. It returns these, and an error for
// each that exists and was not written by this package, or for another source that is still there.
func Write(files []Output) (changed []Output, err error) {
	var errs []error
	for _, f := range files {
		done, err := f.write()
		if errs = append(errs, err); done && err == nil {
			changed = append(changed, f)
		}
	}
	return changed, errors.Join(errs...)
}

// write reports whether it has written or removed the file, unless there is an error.
func (f *Output) write() (changed bool, err error) {
	if f.Stale != "" {
		return true, os.Remove(f.Name)
	}
	old, err := os.ReadFile(f.Name)
	switch {
	case err == nil && bytes.Equal(old, f.Content):
		return false, nil
	case err == nil:
		err = origin.Check(f.Name, old, f.Content)
	case errors.Is(err, os.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = os.WriteFile(f.Name, f.Content, 0o644)
	}
	return true, err
}

// Check returns an error that names the files that are missing, not up to date or stale, and those that Write does not replace.
func Check(files []Output) error {
	var errs []error
	refused := 0 // files that Write does not replace
	for _, f := range files {
		old, err := os.ReadFile(f.Name)
		switch {
		case f.Stale != "":
			errs = append(errs, fmt.Errorf("%s is to be removed: %s", f.Name, f.Stale))
		case errors.Is(err, os.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing", f.Name))
		case err != nil:
			errs = append(errs, err)
		case !bytes.Equal(old, f.Content):
			if err := origin.Check(f.Name, old, f.Content); err != nil {
				errs = append(errs, err)
				refused++
				continue
			}
			errs = append(errs, fmt.Errorf("%s is not up to date", f.Name))
		}
	}
	if len(errs) > refused {
		errs = append(errs, errors.New("run weft generate, with the same arguments but -check"))
	}
	return errors.Join(errs...)
}
