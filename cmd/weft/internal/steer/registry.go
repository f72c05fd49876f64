package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/registry"
)

// RegistryCommand shows and copies what is in a registry.
func RegistryCommand(p *shell.Shell) *cobra.Command {
	status := &cobra.Command{
		Use: "status", Short: "Tell whether the registry answers", Args: shell.Arguments(0, 0),
		Long:    "Tells whether the registry answers, how fast, and how much is in it. The exit code is 4 when it does not answer.",
		Example: "  weft registry status\n  weft registry status --registry etcds://10.0.0.1:2379 --cacert ca.pem --cert me.pem --key me.key",
		RunE:    func(cmd *cobra.Command, _ []string) error { return registryStatus(cmd.Context(), p) },
	}
	ls := &cobra.Command{
		Use: "ls [service ...]", Short: "List services with their instances and rules", Args: shell.Arguments(0, -1), ValidArgsFunction: catalog.CompleteService(p),
		Long:    "Lists services: how many instances each has, and which version of the rules.\nOnly etcd can list all services; with another registry, name them.",
		Example: "  weft registry ls\n  weft registry ls Arith Greeter -o json",
		RunE:    func(cmd *cobra.Command, args []string) error { return registryList(cmd.Context(), p, args) },
	}
	count := 0
	watch := &cobra.Command{
		Use: "watch service", Short: "Show the instances of a service as they change", Args: shell.Arguments(1, 1), ValidArgsFunction: catalog.CompleteService(p),
		Long:    "Shows the instances of a service as they are, and a line for each change until it is interrupted:\n+ for one that comes, - for one that goes, ~ for one that changes.",
		Example: "  weft registry watch Arith\n  weft registry watch Arith -o json",
		RunE:    func(cmd *cobra.Command, args []string) error { return registryWatch(cmd.Context(), p, args[0], count) },
	}
	watch.Flags().IntVar(&count, "count", 0, "end after this `number` of lines; 0: go on")
	to, force := "", false
	copies := &cobra.Command{
		Use: "copy --to address service ...", Short: "Copy rules to another registry", Args: shell.Arguments(1, -1), ValidArgsFunction: catalog.CompleteService(p),
		Long: `Copies the rules of services, with their history, to another registry, of any kind that keeps documents. Instances are not
copied: servers register themselves, and those that are to be in both registries name both, with registry.Join. Rules
that the other registry has already are left, unless --force is given.`,
		Example: "  weft registry copy --to consul://10.0.0.9:8500 Arith Greeter",
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return fmt.Errorf("registry copy: --to is missing; %w", shell.ErrUsage)
			}
			return registryCopy(cmd.Context(), p, to, force, args)
		},
	}
	copies.Flags().StringVar(&to, "to", "", "the `address` of the other registry")
	copies.Flags().BoolVar(&force, "force", false, "replace rules that the other registry has")
	return shell.Group(shell.GroupRegistry, "registry", "Show and copy what is in a registry", "Shows and copies what is in a registry.", status, ls, watch, copies)
}

func registryStatus(ctx context.Context, p *shell.Shell) error {
	ctx, cancel := context.WithTimeout(ctx, p.Settings.Timeout)
	defer cancel()
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	defer reg.Close()
	type status struct {
		Address  string  `json:"address"`
		Kind     string  `json:"kind"`
		Answers  float64 `json:"answer_seconds"`
		Services *int    `json:"services,omitempty"` // where they can be listed
	}
	s := status{Address: a.String(), Kind: a.Kind}
	from := time.Now()
	// A service of no server shows as well as any whether the registry answers.
	if _, err := catalog.Ask(ctx, reg, "weft.registry.status"); err != nil {
		return err
	}
	s.Answers = time.Since(from).Seconds()
	services := ""
	if all, err := catalog.ListServices(ctx, a, reg); err == nil {
		n := len(all)
		s.Services, services = &n, fmt.Sprint(n)
	} else if !errors.Is(err, shell.ErrUsage) {
		return err
	}
	took := shell.Seconds(s.Answers)
	return p.Write(&shell.Listing{
		Heads: []string{"ADDRESS", "KIND", "ANSWERS IN", "SERVICES"}, Lines: [][]string{{s.Address, s.Kind, took.String(), services}},
		Names: []string{s.Address}, Value: s,
	})
}

func registryList(ctx context.Context, p *shell.Shell, services []string) error {
	ctx, cancel := context.WithTimeout(ctx, p.Settings.Timeout)
	defer cancel()
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	defer reg.Close()
	if len(services) == 0 {
		if services, err = catalog.ListServices(ctx, a, reg); err != nil {
			return err
		}
	}
	type entry struct {
		Service   string `json:"service"`
		Instances int    `json:"instances"`
		On        int    `json:"on"`
		Invalid   int    `json:"invalid,omitempty"`
		Rules     int    `json:"rules_version,omitempty"`
	}
	values := []entry{}
	l := &shell.Listing{Heads: []string{"SERVICE", "INSTANCES", "ON", "INVALID", "RULES"}, None: "nothing is registered in " + reg.Name()}
	for _, service := range services {
		snapshot, err := catalog.Ask(ctx, reg, service)
		if err != nil {
			return err
		}
		doc, err := reg.Load(ctx, cluster.RulesDocument(service))
		if err != nil && !errors.Is(err, registry.ErrNoDocuments) {
			return shell.FromRegistry(reg, err)
		}
		rules := inForce(p, service, doc)
		e := entry{Service: service, Instances: len(snapshot.Instances), Invalid: len(snapshot.Invalid), Rules: rules.Version()}
		for _, effect := range rules.Plan(snapshot.Instances).Instances {
			if effect.State == weft.On {
				e.On++
			}
		}
		invalid, version := "", ""
		if e.Invalid > 0 {
			invalid = fmt.Sprint(e.Invalid)
		}
		if e.Rules > 0 {
			version = fmt.Sprintf("version %d", e.Rules)
		}
		values = append(values, e)
		l.Lines = append(l.Lines, []string{service, fmt.Sprint(e.Instances), fmt.Sprint(e.On), invalid, version})
		l.Names = append(l.Names, service)
	}
	l.Value = values
	return p.Write(l)
}

// change is a line of registryWatch.
type change struct {
	Time     time.Time      `json:"time"`
	Change   string         `json:"change"` // "+", "-", "~" or "error"
	Instance *weft.Instance `json:"instance,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func registryWatch(ctx context.Context, p *shell.Shell, service string, count int) error {
	_, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	defer reg.Close()
	var mu sync.Mutex
	var waiting []*registry.Snapshot
	came := make(chan struct{}, 1)
	stop := reg.Watch(service, func(s *registry.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, s)
		select {
		case came <- struct{}{}:
		default:
		}
	})
	defer stop()
	known := make(map[string]weft.Instance)
	failing, begun := "", false
	lines := 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-came:
		}
		mu.Lock()
		snapshots := waiting
		waiting = nil
		mu.Unlock()
		for _, s := range snapshots {
			var changes []change
			if s.Err != nil && s.Err.Error() != failing {
				changes = append(changes, change{time.Now(), "error", nil, s.Err.Error()})
			}
			if failing = ""; s.Err != nil {
				failing = s.Err.Error()
			} else {
				changes = append(changes, changesOf(known, s.Instances)...)
				if !begun && len(changes) == 0 {
					fmt.Fprintf(p.Log, "weft: no server of %s is registered in %s; changes are shown as they come\n", service, reg.Name())
				}
				begun = true
			}
			for _, c := range changes {
				if err := writeChange(p, &c); err != nil {
					return err
				}
				if lines++; count > 0 && lines >= count {
					return nil
				}
			}
		}
	}
}

// changesOf compares a list of instances with those that are known, and notes them.
func changesOf(known map[string]weft.Instance, instances []weft.Instance) []change {
	var changes []change
	now := time.Now()
	there := make(map[string]bool)
	for _, i := range instances {
		there[i.ID] = true
		old, before := known[i.ID]
		known[i.ID] = i
		switch {
		case !before:
			changes = append(changes, change{now, "+", &i, ""})
		case !old.Equal(&i):
			changes = append(changes, change{now, "~", &i, ""})
		}
	}
	for id, i := range known {
		if !there[id] {
			delete(known, id)
			changes = append(changes, change{now, "-", &i, ""})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return strings.Compare(a.Instance.ID, b.Instance.ID) })
	return changes
}

func writeChange(p *shell.Shell, c *change) error {
	if !p.ForPeople() {
		if c.Instance != nil {
			return p.WriteItem(c.Instance.ID, c)
		}
		if p.Settings.Output != "name" {
			return p.WriteItem("", c)
		}
		fmt.Fprintf(p.Log, "weft: the registry does not answer: %s\n", c.Error) // which has no name
		return nil
	}
	at := c.Time.Format(time.TimeOnly)
	if c.Instance == nil {
		_, err := fmt.Fprintf(p.Out, "%s  !  the registry does not answer: %s\n", at, c.Error)
		return err
	}
	i := c.Instance
	text := fmt.Sprintf("%s  %s  %s  %s", at, c.Change, i.ID, i.State)
	if i.ID != i.Address {
		text += "  " + i.Address
	}
	if l := i.Load; l != nil {
		text += fmt.Sprintf("  %s, %.0f/s", shell.Plural(l.InFlight, "call"), l.Rate)
	}
	_, err := fmt.Fprintln(p.Out, text)
	return err
}

func registryCopy(ctx context.Context, p *shell.Shell, to string, force bool, services []string) error {
	ctx, cancel := context.WithTimeout(ctx, p.Settings.Timeout)
	defer cancel()
	_, from, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	defer from.Close()
	_, other, err := catalog.Open(p, to)
	if err != nil {
		return err
	}
	defer other.Close()
	type copied struct {
		Service string `json:"service"`
		To      string `json:"to"`
		Rules   int    `json:"rules_version"`
	}
	done := &shell.Listing{}
	values := []copied{}
	for _, service := range services {
		name := cluster.RulesDocument(service)
		doc, err := from.Load(ctx, name)
		if err != nil {
			return shell.FromRegistry(from, err)
		}
		if doc.Version == 0 {
			fmt.Fprintf(p.Log, "weft: %s has no rules in %s\n", service, from.Name())
			continue
		}
		rules, err := route.Parse(doc.Value)
		if err != nil {
			return fmt.Errorf("registry copy: the rules of %s cannot be used: %w", service, err)
		}
		there, err := other.Load(ctx, name)
		if err != nil {
			return shell.FromRegistry(other, err)
		}
		if there.Version != 0 && !force {
			return fmt.Errorf("registry copy: %s has rules of %s already; --force replaces them", other.Name(), service)
		}
		if err := other.Store(ctx, name, doc.Value, there.Version); err != nil {
			return shell.FromRegistry(other, err)
		}
		values = append(values, copied{service, other.Name(), rules.Version()})
		done.Names = append(done.Names, service)
		if p.ForPeople() {
			if _, err := fmt.Fprintf(p.Out, "the rules of %s are in %s\n", service, other.Name()); err != nil {
				return err
			}
		}
	}
	if p.ForPeople() {
		return nil
	}
	done.Value = values
	return p.Write(done)
}
