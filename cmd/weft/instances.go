package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

const instancesHelp = `Lists the servers that are registered, of one service or of all, with the state and the weight
that clients give them: the rules of the service are applied, and the last column names those
that made a difference. SEEN is how long ago the server last refreshed its registration, which it should
do three times within its TTL; only etcd knows. LOAD is what it last reported: calls
in flight, calls a second, mean time of a call. Empty columns are left out.

	weft instances
	weft instances -registry etcd://10.0.0.1:2379,10.0.0.2:2379 Arith
	weft instances -registry consul://127.0.0.1:8500 Arith

Only etcd can list all services; with another registry, name one.
`

// instances lists what is registered, of one service or of all.
func (p *program) instances(ctx context.Context, args []string) error {
	flags := p.flags("instances", "[service]", instancesHelp)
	source := sourceFlags(flags)
	services, err := parse(flags, args, 0, 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, source.timeout)
	defer cancel()
	address, reg, err := source.open()
	if err != nil {
		return err
	}
	defer reg.Close()
	named := len(services) > 0
	if !named {
		if address.kind != "etcd" {
			return fmt.Errorf("instances: name a service, since only etcd can list them all; %w", errUsage)
		}
		if services, err = etcd.Services(ctx, address.etcd()); err != nil {
			return fmt.Errorf("%s: %w", reg.Name(), err)
		}
	}
	t := new(table)
	for _, service := range services {
		snapshot, err := ask(ctx, reg, service)
		if err != nil {
			return err
		}
		for _, invalid := range snapshot.Invalid {
			fmt.Fprintf(p.log, "weft: %s: entry %q is no instance: %v\n", service, invalid.ID, invalid.Err)
		}
		rules, err := reg.Load(ctx, cluster.RulesDocument(service))
		if err != nil {
			return fmt.Errorf("%s: %w", reg.Name(), err)
		}
		var silent map[string]time.Duration
		if address.kind == "etcd" {
			if silent, err = etcd.Silence(ctx, address.etcd(), service); err != nil {
				return fmt.Errorf("%s: %w", reg.Name(), err)
			}
		}
		t.add(snapshot, silent, p.inForce(service, rules))
	}
	if len(t.lines) == 0 && named {
		return unknown(ctx, address, reg, services[0])
	}
	return p.print(t, reg.Name())
}

// inForce returns the rules of a document. It warns and returns nil if they cannot be used.
func (p *program) inForce(service string, doc registry.Document) *route.Rules {
	if doc.Version == 0 {
		return nil
	}
	rules, err := route.Parse(doc.Value)
	if err != nil {
		fmt.Fprintf(p.log, "weft: clients cannot use the rules of %s that are kept, and stay with older ones or none: %v\n", service, err)
		return nil
	}
	return rules
}

// unknown is the error of a service of which no server is registered. It names the
// services that have one where the registry can list them.
func unknown(ctx context.Context, a address, reg *registry.Registry, service string) error {
	err := fmt.Errorf("no server of %s is registered in %s", service, reg.Name())
	if a.kind != "etcd" {
		return err
	}
	switch known, failed := etcd.Services(ctx, a.etcd()); {
	case failed != nil:
		return fmt.Errorf("%w, and the services there cannot be listed: %w", err, failed)
	case len(known) == 0:
		return fmt.Errorf("%w, and none of any other service", err)
	case len(known) > maxNamed:
		return fmt.Errorf("%w, only servers of %s and %d more services; 'weft instances' lists all",
			err, strings.Join(known[:maxNamed], ", "), len(known)-maxNamed)
	default:
		return fmt.Errorf("%w, only servers of %s", err, strings.Join(known, ", "))
	}
}

// maxNamed is how many services an error names.
const maxNamed = 20

// ask returns what the registry has of a service now.
func ask(ctx context.Context, reg *registry.Registry, service string) (*registry.Snapshot, error) {
	first := make(chan *registry.Snapshot, 1)
	stop := reg.Watch(service, func(s *registry.Snapshot) {
		select {
		case first <- s:
		default:
		}
	})
	defer stop()
	select {
	case s := <-first:
		if s.Err != nil {
			return nil, fmt.Errorf("%s: %w", reg.Name(), s.Err)
		}
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not answer: %w", reg.Name(), ctx.Err())
	}
}

// table is the instances of services, a line for each.
type table struct {
	lines    [][]string
	services int // that have instances
	oldest   time.Duration
}

// columns are the heads of a table.
func columns() []string {
	return []string{"SERVICE", "ID", "ADDRESS", "STATE", "WEIGHT", "SEEN", "LOAD", "GROUP", "VERSION", "ZONE", "TAGS", "BY RULE"}
}

// add adds the instances of a service.
func (t *table) add(snapshot *registry.Snapshot, silent map[string]time.Duration, rules *route.Rules) {
	if len(snapshot.Instances) > 0 {
		t.services++
	}
	t.oldest = max(t.oldest, snapshot.Age())
	plan := rules.Plan(snapshot.Instances)
	for i := range snapshot.Instances {
		instance, seen := &snapshot.Instances[i], ""
		if d, ok := silent[instance.ID]; ok {
			seen = d.String() + " ago"
		}
		t.lines = append(t.lines, line(instance, seen, &plan.Instances[i]))
	}
}

// line has a cell for each column; "" is an empty one.
func line(i *weft.Instance, seen string, effect *route.Effect) []string {
	id, load := i.ID, ""
	if id == i.Address {
		id = ""
	}
	if l := i.Load; l != nil {
		load = fmt.Sprintf("%d calls, %.0f/s, %v", l.InFlight, l.Rate, l.Latency.Round(time.Microsecond))
	}
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(i.Tags)) {
		tags = append(tags, name+"="+i.Tags[name])
	}
	return []string{
		i.Service, id, i.Address, effect.State.String(), fmt.Sprint(effect.Weight), seen, load,
		i.Group, i.Version, i.Zone, strings.Join(tags, " "), effect.Why,
	}
}

// print writes a table, and how old it is.
func (p *program) print(t *table, registry string) error {
	if len(t.lines) == 0 {
		_, err := fmt.Fprintf(p.out, "nothing is registered in %s\n", registry)
		return err
	}
	var used []int
	heads := columns()
	for c := range heads {
		if slices.ContainsFunc(t.lines, func(line []string) bool { return line[c] != "" }) {
			used = append(used, c)
		}
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{heads}, t.lines...) {
		cells := make([]string, len(used))
		for n, c := range used {
			if cells[n] = line[c]; cells[n] == "" {
				cells[n] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_, err := fmt.Fprintf(w, "\n%s of %s in %s, %v ago\n", plural(len(t.lines), "instance"), plural(t.services, "service"), registry,
		t.oldest.Round(time.Millisecond))
	return errors.Join(err, w.Flush())
}

// plural is such as "1 service" or "2 services".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
