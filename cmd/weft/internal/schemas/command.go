// Package schemas writes the schema of services in other languages, and compares two of them.
package schemas

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/export"
)

const schemaHelp = `Writes the methods and messages of services: as .proto files, as JSON Schema or OpenAPI, or as types of TypeScript or
Python. With -o json it is the schema itself, to be saved and compared later.

The source is the address of a server, a service in the registry, a package of Go, as ./orders, in which interfaces are
marked with //weft:service, a .proto file, or a schema that was saved as a .json file; "-" is the standard input. A server
of weft tells its schema when its program has registered package admin, one of gRPC when it has the service of
reflection. Without names of services or methods behind the source these are all but those of weft and gRPC themselves.

What a format cannot express is left out, and named on the standard error. docs/guide/schema.md of the repository says
how types are written.`

const schemaExamples = `  weft schema tcp://127.0.0.1:8972 Arith -o typescript
  weft schema tcp://127.0.0.1:8972 -o json --out schema.json
  weft schema ./orders -o proto --out orders.proto
  weft schema shop.proto -o python --out shop.py
  weft schema grpc://127.0.0.1:50051 -o proto --out proto/`

// exporting are the flags of the command.
type exporting struct {
	format, out    string
	title, version string
	protoPath      []string
}

// Command writes schemas. The commands below it compare them.
func Command(p *shell.Shell) *cobra.Command {
	var e exporting
	cmd := &cobra.Command{
		Use: "schema [source] [service ...]", GroupID: shell.GroupOther, Short: "Write the schema of services in other languages, or compare two", Long: schemaHelp, Example: schemaExamples,
		Args: shell.Arguments(0, -1), ValidArgsFunction: target.CompleteMethod(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, names, err := sourceOf(p, args, e.protoPath)
			if err != nil {
				return err
			}
			return e.run(cmd.Context(), p, s, names)
		},
	}
	var formats []string
	for _, f := range export.Formats() {
		formats = append(formats, string(f))
	}
	cmd.Flags().StringVarP(&e.format, "output", "o", "proto", "the `format`: "+shell.Alternatives(formats))
	cmd.Flags().StringVar(&e.out, "out", "", "the `file` to write, or a folder, with a slash behind its name (default the standard output)")
	cmd.Flags().StringVar(&e.title, "title", "", "the `title` of an OpenAPI document (default the names of the services)")
	cmd.Flags().StringVar(&e.version, "api-version", "", "the `version` in an OpenAPI document (default 0)")
	cmd.Flags().StringArrayVarP(&e.protoPath, "proto-path", "I", nil, "a `folder` with the imports of .proto files; may be repeated")
	// The flag is there, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(diffCommand(p), checkCommand(p))
	return cmd
}

func (e *exporting) run(ctx context.Context, p *shell.Shell, s source, names []string) error {
	known := false
	var formats []string
	for _, f := range export.Formats() {
		known = known || e.format == string(f)
		formats = append(formats, string(f))
	}
	if !known {
		return fmt.Errorf("--output is %q, want %s; %w", e.format, shell.Alternatives(formats), shell.ErrUsage)
	}
	if s.service != "" && len(names) == 0 {
		names = []string{s.service}
	}
	m, err := s.read(ctx, p, names)
	if err != nil {
		return err
	}
	if m, err = m.Select(names...); err != nil {
		return err
	}
	info := schema.Info{Title: e.title, Version: e.version}
	if info.Title == "" {
		var all []string
		for _, one := range m.Services {
			all = append(all, one.Name)
		}
		info.Title = strings.Join(all, ", ")
	}
	out, err := export.Write(m, export.Format(e.format), info)
	if err != nil && e.format == string(export.Proto) {
		return fmt.Errorf("%w; -o openapi, jsonschema, typescript and python have forms for all types", err)
	}
	if err != nil {
		return err
	}
	for _, line := range out.LeftOut {
		fmt.Fprintf(p.Log, "weft: left out: %s\n", line)
	}
	return e.write(p, s, out.Files)
}

// Proto writes a service, or the method of it that name is, as .proto files, one behind the other: as the server at an address
// describes it, "" for that of the settings, or else one that the registry has. By gRPC the names are those of the server's reflection.
func Proto(ctx context.Context, p *shell.Shell, address, service, name string) error {
	s := source{address: cmp.Or(address, p.Settings.Server), service: service, proto: true}
	m, err := s.read(ctx, p, []string{name})
	if err != nil {
		return err
	}
	if m, err = m.Select(name); err != nil {
		return err
	}
	out, err := export.Write(m, export.Proto, schema.Info{})
	if err != nil {
		return fmt.Errorf("%w; --as schema has a form for all types", err)
	}
	for n, f := range out.Files {
		head := ""
		if len(out.Files) > 1 {
			head = "// " + f.Name + "\n"
		}
		if n > 0 {
			head = "\n" + head
		}
		if _, err := fmt.Fprintf(p.Out, "%s%s", head, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// write writes the files of a source to where they were asked for.
func (e *exporting) write(p *shell.Shell, s source, files []export.File) error {
	folder := strings.HasSuffix(e.out, "/") || strings.HasSuffix(e.out, string(filepath.Separator))
	if info, err := os.Stat(e.out); err == nil && info.IsDir() {
		folder = true
	}
	if len(files) > 1 && !folder {
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		return fmt.Errorf("schema: these are %d files, %s: name a folder for them, as --out proto/, or fewer services; %w", len(files), strings.Join(names, ", "), shell.ErrUsage)
	}
	for _, f := range files {
		at := e.out
		switch {
		case at == "":
			if _, err := p.Out.Write(f.Content); err != nil {
				return err
			}
			continue
		case folder:
			name := filepath.FromSlash(f.Name)
			if !filepath.IsLocal(name) {
				return fmt.Errorf("schema: the source has a file %q, which is not below a folder%s", f.Name, s.below())
			}
			at = filepath.Join(e.out, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(at, f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
