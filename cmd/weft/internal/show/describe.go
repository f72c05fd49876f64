package show

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/schemas"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const describeHelp = `Describes a method, or all methods of a service: the kind, the types of its messages, what its author says of it.
--as says how the types are written: as structs of Go, as a .proto file, as JSON Schema, or as a template, which is a
request to be filled in and given to 'weft call'. In a .proto file messages have the names of Go; of a server at grpc://
that has gRPC's reflection, the names that it gives them, as other programs of gRPC see them. 'weft schema' writes whole
services, into files and in other languages.`

const describeExamples = `  weft describe Arith.Mul
  weft describe tcp://127.0.0.1:8972 Arith --as schema
  weft describe Greeter.Say --as proto
  weft describe Arith.Mul --as template >request.json
  weft call Arith.Mul @request.json`

// DescribeCommand describes services and methods.
func DescribeCommand(p *shell.Shell) *cobra.Command {
	as := ""
	forms := []string{"go", "proto", "schema", "template"}
	cmd := &cobra.Command{
		Use: "describe [address] Service[.Method]", GroupID: shell.GroupCall, Short: "Describe methods and their messages", Long: describeHelp, Example: describeExamples,
		Args: shell.Arguments(1, 2), ValidArgsFunction: target.CompleteMethod(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, rest := target.Split(args)
			if len(rest) != 1 {
				return fmt.Errorf("describe: want one service or method; %w", shell.ErrUsage)
			}
			if !slices.Contains(forms, as) {
				return fmt.Errorf("--as is %q, want %s; %w", as, shell.Alternatives(forms), shell.ErrUsage)
			}
			ctx, cancel := target.Within(cmd.Context(), p)
			defer cancel()
			services, err := find(ctx, p, address, rest[0])
			if err != nil {
				return err
			}
			if len(services) == 1 && len(services[0].Methods) == 0 {
				return fmt.Errorf("the server describes no method of %s; 'weft describe' with its address of weft's own wire, such as tcp://, may tell more", services[0].Name)
			}
			if as == "proto" && p.ForPeople() && len(services) > 0 {
				return schemas.Proto(ctx, p, address, services[0].Name, rest[0])
			}
			return describe(p, services, as)
		},
	}
	cmd.Flags().StringVar(&as, "as", "go", "the `form` of the types: "+shell.Alternatives(forms))
	// The flag is there, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// find asks a server, or those of the service in the registry, for a description with schemas.
func find(ctx context.Context, p *shell.Shell, address, name string) ([]admin.ServiceInfo, error) {
	if address != "" || p.Settings.Server != "" {
		services, err := describeAt(ctx, p, address, name, true)
		if err != nil {
			return nil, target.NoAdmin(err)
		}
		return services, nil
	}
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	service := name
	snapshot, err := catalog.Ask(ctx, reg, service)
	if err != nil {
		return nil, err
	}
	if at := strings.LastIndexByte(name, '.'); len(snapshot.Instances) == 0 && at > 0 {
		service = name[:at]
		if snapshot, err = catalog.Ask(ctx, reg, service); err != nil {
			return nil, err
		}
	}
	if len(snapshot.Instances) == 0 {
		return nil, catalog.Unknown(ctx, a, reg, service)
	}
	var services []admin.ServiceInfo
	err = target.Each(ctx, snapshot.Instances, func(ctx context.Context, address string) error {
		services, err = describeAt(ctx, p, address, name, true)
		return err
	})
	if err != nil {
		return nil, target.NoAdmin(err)
	}
	return services, nil
}

func describe(p *shell.Shell, services []admin.ServiceInfo, as string) error {
	if !p.ForPeople() {
		var names []string
		for _, s := range services {
			for _, m := range s.Methods {
				names = append(names, m.Name)
			}
		}
		return p.Write(&shell.Listing{Names: names, Value: services})
	}
	var b strings.Builder
	for _, s := range services {
		for _, m := range s.Methods {
			if err := write(&b, &m, as); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
	}
	_, err := p.Out.Write([]byte(b.String()))
	return err
}

// write writes a method in one of the forms.
func write(b *strings.Builder, m *admin.MethodInfo, as string) error {
	request, err := parseSchema(m.RequestSchema)
	if err != nil {
		return err
	}
	reply, err := parseSchema(m.ReplySchema)
	if err != nil {
		return err
	}
	switch as {
	case "template":
		text, err := shell.Encode(request.sample(), true)
		b.Write(text)
		return err
	case "schema":
		text, err := shell.Encode(map[string]any{"method": m.Name, "request": json.RawMessage(m.RequestSchema), "reply": json.RawMessage(m.ReplySchema)}, true)
		b.Write(text)
		return err
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	for line := range strings.Lines(m.Doc) {
		b.WriteString(strings.TrimSpace("// "+strings.TrimSpace(line)) + "\n")
	}
	fmt.Fprintf(b, "%s: %s\n", m.Name, m.Kind)
	if m.Idempotent {
		b.WriteString("  idempotent: it may be called again without another effect\n")
	}
	if m.Timeout > 0 {
		fmt.Fprintf(b, "  timeout: %gs\n", m.Timeout)
	}
	if len(m.Aliases) > 0 {
		fmt.Fprintf(b, "  also called: %s\n", strings.Join(m.Aliases, ", "))
	}
	fmt.Fprintf(b, "  request: %s\n  reply:   %s\n", request.goType(), reply.goType())
	written := make(map[string]bool)
	request.goStructs(b, written)
	reply.goStructs(b, written)
	return nil
}
