// Package show tells what servers serve, and how they are.
package show

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/registry"
)

const listHelp = `Lists services and their methods. Of a registry each service is asked of the first of its servers that answers; a
server that does not describe itself has its services listed without methods. A server of weft describes itself
when its program has registered package admin, one of gRPC when it has the service of reflection. The services of
administration, health and reflection themselves are listed with --all only.`

const listExamples = `  weft list
  weft list Arith
  weft list tcp://127.0.0.1:8972
  weft list grpc://127.0.0.1:50051 -o name`

// ListCommand lists services and methods.
func ListCommand(p *shell.Shell) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "list [address] [service]", GroupID: shell.GroupCall, Short: "List services and methods", Long: listHelp, Example: listExamples,
		Args: shell.Arguments(0, 2), ValidArgsFunction: catalog.CompleteService(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, rest := target.Split(args)
			if len(rest) > 1 {
				return fmt.Errorf("list: %q is no address; %w", rest[0], shell.ErrUsage)
			}
			ctx, cancel := target.Within(cmd.Context(), p)
			defer cancel()
			return list(ctx, p, address, strings.Join(rest, ""), all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list the services of administration, health and reflection too")
	return cmd
}

// listed is a service with the number of its instances; -1: not known.
type listed struct {
	admin.ServiceInfo
	Instances *int   `json:"instances,omitempty"`
	Why       string `json:"error,omitempty"` // there are no methods
}

func list(ctx context.Context, p *shell.Shell, address, name string, all bool) error {
	hidden := 0
	var services []listed
	if address != "" || p.Settings.Server != "" {
		t, err := target.Open(ctx, p, address)
		if err != nil {
			return err
		}
		defer t.Close()
		found, err := t.Describe(ctx, p, name, false)
		if err != nil {
			return target.NoAdmin(err)
		}
		for _, s := range found {
			if name == "" && !all && catalog.Own(s.Name) {
				hidden++
				continue
			}
			services = append(services, listed{ServiceInfo: s})
		}
	} else {
		var err error
		if services, hidden, err = inRegistry(ctx, p, name, all); err != nil {
			return err
		}
	}
	l := &shell.Listing{Heads: []string{"SERVICE", "METHOD", "KIND", "REQUEST", "REPLY", "INSTANCES", "DOC", "*ALIASES"}, None: "there is no service", Value: services}
	if hidden > 0 {
		l.Note = fmt.Sprintf("%s of administration, health and reflection left out; --all lists them", shell.Plural(hidden, "service"))
		l.None += "; " + l.Note
	}
	if services == nil {
		l.Value = []listed{}
	}
	for _, s := range services {
		count := ""
		if s.Instances != nil {
			count = fmt.Sprint(*s.Instances)
		}
		for _, m := range s.Methods {
			doc, _, _ := strings.Cut(m.Doc, "\n")
			l.Lines = append(l.Lines, []string{s.Name, strings.TrimPrefix(m.Name, s.Name+"."), m.Kind, m.Request, m.Reply, count, doc, strings.Join(m.Aliases, " ")})
			l.Names = append(l.Names, m.Name)
		}
		if len(s.Methods) == 0 {
			l.Lines = append(l.Lines, []string{s.Name, "", "", "", "", count, "", ""})
			l.Names = append(l.Names, s.Name)
			if p.Settings.Verbose > 0 && s.Why != "" {
				fmt.Fprintf(p.Log, "weft: the methods of %s are not known: %s\n", s.Name, s.Why)
			}
		}
	}
	return p.Write(l)
}

// inRegistry lists the services of the registry.
func inRegistry(ctx context.Context, p *shell.Shell, name string, all bool) (services []listed, hidden int, err error) {
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return nil, 0, err
	}
	defer reg.Close()
	names := []string{name}
	if name == "" {
		if names, err = catalog.ListServices(ctx, a, reg); err != nil {
			return nil, 0, err
		}
		if !all {
			names, hidden = catalog.WithoutOwn(names)
		}
	}
	var snapshots []*registry.Snapshot
	for _, service := range names {
		snapshot, err := catalog.Ask(ctx, reg, service)
		if err != nil {
			return nil, 0, err
		}
		if len(snapshot.Instances) == 0 && name != "" {
			return nil, 0, catalog.Unknown(ctx, a, reg, name)
		}
		snapshots = append(snapshots, snapshot)
	}
	services = []listed{}
	for n, service := range names {
		asking, cancel := target.Share(ctx, len(names)-n)
		services = append(services, listedOf(asking, p, service, snapshots[n].Instances))
		cancel()
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return nil, 0, err // what an interrupt has ended is no service without methods
	}
	return services, hidden, nil
}

// listedOf asks the instances of a service for its methods.
func listedOf(ctx context.Context, p *shell.Shell, service string, instances []weft.Instance) listed {
	n := len(instances)
	one := listed{ServiceInfo: admin.ServiceInfo{Name: service}, Instances: &n}
	err := target.Each(ctx, instances, func(ctx context.Context, address string) error {
		found, err := describeAt(ctx, p, address, service, false)
		if err == nil && len(found) > 0 {
			one.Methods = found[0].Methods
		}
		return err
	})
	if err != nil {
		one.Why = err.Error()
	}
	return one
}

func describeAt(ctx context.Context, p *shell.Shell, address, name string, schemas bool) ([]admin.ServiceInfo, error) {
	t, err := target.Open(ctx, p, address)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.Describe(ctx, p, name, schemas)
}
