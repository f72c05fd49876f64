package steer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

const instancesHelp = `Lists the servers that are registered, of one service or of all, with the state and the weight that clients give them:
the rules of the service are applied, and the last column names those that made a difference. SEEN is how long ago
the server last refreshed its registration, which it should do three times within its TTL; only etcd knows. LOAD is
what it last reported: calls in flight, calls a second, mean time of a call, without those of administration, health
and reflection. Empty columns are left out.

The services of administration, health and reflection are listed with --all, or by their names. Only etcd can list all
services; with another registry, name one.`

const instancesExamples = `  weft instances
  weft instances --registry etcd://10.0.0.1:2379,10.0.0.2:2379 Arith
  weft instances --registry consul://127.0.0.1:8500 Arith -o json`

// InstancesCommand lists what is registered, and changes how much of the calls instances get.
func InstancesCommand(p *shell.Shell) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "instances [service]", GroupID: shell.GroupSee, Short: "List the servers that are registered", Long: instancesHelp, Example: instancesExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 { // more than a service: it may be a command below
				if err := shell.Misspelled(cmd, args[0]); err != nil {
					return err
				}
			}
			return shell.Arguments(0, 1)(cmd, args)
		},
		ValidArgsFunction: catalog.CompleteService(p),
		RunE:              func(cmd *cobra.Command, args []string) error { return instances(cmd.Context(), p, args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "list the services of administration, health and reflection too")
	cmd.AddCommand(changeCommands(p)...)
	return cmd
}

// instances lists what is registered, of one service or of all.
func instances(ctx context.Context, p *shell.Shell, services []string, all bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.Settings.Timeout)
	defer cancel()
	address, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	defer reg.Close()
	named := len(services) > 0
	t := &table{values: []instanceShown{}}
	if !named {
		if services, err = catalog.ListServices(ctx, address, reg); err != nil {
			return err
		}
		if !all {
			services, t.hidden = catalog.WithoutOwn(services)
		}
	}
	for _, service := range services {
		snapshot, err := catalog.Ask(ctx, reg, service)
		if err != nil {
			return err
		}
		for _, invalid := range snapshot.Invalid {
			fmt.Fprintf(p.Log, "weft: %s: entry %q is no instance: %v\n", service, invalid.ID, invalid.Err)
		}
		rules, err := reg.Load(ctx, cluster.RulesDocument(service))
		if err != nil && !errors.Is(err, registry.ErrNoDocuments) {
			return shell.FromRegistry(reg, err)
		}
		var silent map[string]time.Duration
		if address.Kind == "etcd" {
			if silent, err = etcd.Silence(ctx, address.Etcd(), service); err != nil {
				return shell.FromRegistry(reg, err)
			}
		}
		t.add(snapshot, silent, inForce(p, service, rules))
	}
	if len(t.lines) == 0 && named {
		return catalog.Unknown(ctx, address, reg, services[0])
	}
	return p.Write(t.listing(reg.Name()))
}

// inForce returns the rules of a document. It warns and returns nil if they cannot be used.
func inForce(p *shell.Shell, service string, doc registry.Document) *route.Rules {
	if doc.Version == 0 {
		return nil
	}
	rules, err := route.Parse(doc.Value)
	if err != nil {
		fmt.Fprintf(p.Log, "weft: clients cannot use the rules of %s that are kept, and stay with older ones or none: %v\n", service, err)
		return nil
	}
	return rules
}

// table is the instances of services, a line for each.
type table struct {
	lines    [][]string
	names    []string
	values   []instanceShown
	services int // that have instances
	hidden   int // services that are left out
	oldest   time.Duration
}

// instanceShown is an instance in JSON: as it is registered, and what the rules make of it.
type instanceShown struct {
	weft.Instance
	Effective effective `json:"effective"`
	Seen      *float64  `json:"seen_seconds,omitempty"`
}

type effective struct {
	State  string `json:"state"`
	Weight int    `json:"weight"`
	Why    string `json:"why,omitempty"`
}

// add adds the instances of a service.
func (t *table) add(snapshot *registry.Snapshot, silent map[string]time.Duration, rules *route.Rules) {
	if len(snapshot.Instances) > 0 {
		t.services++
	}
	t.oldest = max(t.oldest, snapshot.Age())
	plan := rules.Plan(snapshot.Instances)
	for i := range snapshot.Instances {
		instance, effect, seen := &snapshot.Instances[i], &plan.Instances[i], ""
		shown := instanceShown{Instance: *instance, Effective: effective{effect.State.String(), effect.Weight, effect.Why}}
		if d, ok := silent[instance.ID]; ok {
			seconds := d.Seconds()
			seen, shown.Seen = d.String()+" ago", &seconds
		}
		t.lines = append(t.lines, line(instance, seen, effect))
		t.names = append(t.names, instance.ID)
		t.values = append(t.values, shown)
	}
}

// listing is the table in all forms.
func (t *table) listing(registry string) *shell.Listing {
	l := &shell.Listing{
		Heads: []string{"SERVICE", "ID", "ADDRESS", "STATE", "WEIGHT", "SEEN", "LOAD", "GROUP", "VERSION", "ZONE", "TAGS", "BY RULE", "*STARTED"},
		Lines: t.lines, Names: t.names, Value: t.values, None: "nothing is registered in " + registry,
		Note: fmt.Sprintf("%s of %s in %s, %v ago", shell.Plural(len(t.lines), "instance"), shell.Plural(t.services, "service"), registry, t.oldest.Round(time.Millisecond)),
	}
	if t.hidden > 0 {
		left := fmt.Sprintf("; %s of administration, health and reflection left out, --all lists them", shell.Plural(t.hidden, "service"))
		l.None += left
		l.Note += left
	}
	return l
}

// line has a cell for each column; "" is an empty one.
func line(i *weft.Instance, seen string, effect *route.Effect) []string {
	id, load, started := i.ID, "", ""
	if id == i.Address {
		id = ""
	}
	if l := i.Load; l != nil {
		load = fmt.Sprintf("%s, %.0f/s, %v", shell.Plural(l.InFlight, "call"), l.Rate, l.Latency.Round(time.Microsecond))
	}
	if !i.Started.IsZero() {
		started = i.Started.UTC().Format(time.RFC3339)
	}
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(i.Tags)) {
		tags = append(tags, name+"="+i.Tags[name])
	}
	return []string{
		i.Service, id, i.Address, effect.State.String(), fmt.Sprint(effect.Weight), seen, load,
		i.Group, i.Version, i.Zone, strings.Join(tags, " "), effect.Why, started,
	}
}
