package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// silenceMost is how long ago a server that is well may have refreshed its registration: it does so
// three times within its TTL, which is ten seconds if it is not configured.
const silenceMost = registry.DefaultTTL

// mendFile is what to do about a registry that is a file and cannot be used.
const mendFile = "mend the file, and see whether this user may read it"

// registry looks into the registry and the instances of a service in it, "" for all.
func (r *report) registry(ctx context.Context, service string) error {
	a, reg, err := catalog.OpenRegistry(r.p)
	if err != nil {
		return err
	}
	defer reg.Close()
	services := []string{service}
	from := time.Now()
	if service == "" {
		asking, cancel := r.within(ctx)
		defer cancel()
		if services, err = catalog.ListServices(asking, a, reg); errors.Is(err, shell.ErrUsage) {
			return err
		}
	} else {
		asking, cancel := r.within(ctx)
		defer cancel()
		_, err = catalog.Ask(asking, reg, service)
	}
	if err != nil {
		do := "see whether it runs at this address, and whether a firewall is between; 'weft up' runs one on this machine"
		if a.Kind == "file" {
			do = mendFile
		} else if strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "tls:") {
			do = "see the flags --cacert, --cert and --key, and whether the address says TLS, such as etcds://"
		}
		r.fail("registry", a.String(), do, "%v", shell.InDoctor(err))
		return nil
	}
	if took := time.Since(from); took > slowAnswer {
		r.warn("registry", a.String(), "see the load of its machine and its disks; an etcd logs 'apply request took too long' when its disk is the cause", "it takes %v to answer", took.Round(time.Millisecond))
	} else {
		r.ok("registry", a.String(), "it answers in %v", took.Round(time.Microsecond))
	}
	if members := a.Members(); a.Kind == "etcd" && len(members) > 1 {
		r.members(ctx, members)
	}
	looked := make(map[string]bool)
	if service == "" {
		services = catalog.OthersOrOwn(services) // the servers of others have those of weft too
	}
	for _, name := range services {
		r.service(ctx, a, reg, name, looked)
	}
	return nil
}

// members looks into the members of an etcd one by one: the others hide one that is not there, or behind. A read that a
// member answers waits until it has all that most of them have.
func (r *report) members(ctx context.Context, members []catalog.Address) {
	for _, one := range members {
		asking, cancel := r.within(ctx)
		from := time.Now()
		_, err := etcd.Services(asking, one.Etcd())
		cancel()
		switch took := time.Since(from); {
		case err != nil:
			r.warn("member", one.String(), "the registry goes on while most of its members do: see whether this one runs, and its log; or take it out of the address", "%v", err)
		case took > slowAnswer:
			r.warn("member", one.String(), "it may be behind the others: see the load of its machine and its disks", "it takes %v to answer", took.Round(time.Millisecond))
		default:
			r.ok("member", one.String(), "it answers in %v", took.Round(time.Microsecond))
		}
	}
}

// service looks into one service. The servers in looked were looked into already.
func (r *report) service(ctx context.Context, a catalog.Address, reg *registry.Registry, name string, looked map[string]bool) {
	asking, cancel := r.within(ctx)
	defer cancel()
	snapshot, err := catalog.Ask(asking, reg, name)
	if err != nil {
		r.fail("service", name, "the registry has answered before: ask it with 'weft registry ls "+name+"', and see its log", "%v", shell.InDoctor(err))
		return
	}
	for _, invalid := range snapshot.Invalid {
		if a.Kind == "file" && filepath.IsAbs(invalid.ID) { // the file itself, which people write
			r.fail("registry", invalid.ID, mendFile, "%v", invalid.Err)
			continue
		}
		r.fail("entry", name+" "+invalid.ID, "remove it from the registry, or mend the program that wrote it", "it is no instance: %v", invalid.Err)
	}
	if len(snapshot.Instances) == 0 {
		r.fail("instances", name, "start a server of it with this registry in ServerConfig.Registry; 'weft list' names the services that there are", "none is registered")
		return
	}
	r.ok("instances", name, "%s, %v ago", shell.Plural(len(snapshot.Instances), "instance"), snapshot.Age().Round(time.Millisecond))
	if a.Kind == "etcd" {
		silent, err := etcd.Silence(asking, a.Etcd(), name)
		if err != nil {
			r.warn("silence", name, "the leases of the instances cannot be read: see the permissions of the registry's user", "%v", err)
		}
		for _, i := range snapshot.Instances {
			if d := silent[i.ID]; d > silenceMost {
				r.warn("silence", name+" "+i.ID, "see whether the server still runs ('weft health "+i.Address+"') and reaches the registry; the entry ends with its lease", "it has not refreshed its registration for %v", d)
			}
		}
	}
	r.addresses(name, snapshot.Instances)
	r.rules(asking, reg, name, snapshot.Instances)
	for _, i := range snapshot.Instances {
		if !looked[i.Address] {
			looked[i.Address] = true
			r.server(ctx, i.Address)
		}
	}
}

// addresses looks into the addresses that instances publish.
func (r *report) addresses(service string, instances []weft.Instance) {
	ids := make(map[string]string)
	local, remote := 0, 0
	for _, i := range instances {
		if other, twice := ids[i.Address]; twice {
			r.warn("duplicate", service+" "+i.ID, "remove the one that is left over from a server that was ended; an ID that stays the same takes its old place",
				"it has the address %s of instance %s", i.Address, other)
		}
		ids[i.Address] = i.ID
		_, rest, _ := strings.Cut(i.Address, "://")
		host, _, err := net.SplitHostPort(rest)
		if err != nil {
			continue
		}
		switch ip := net.ParseIP(host); {
		case ip == nil && host != "localhost":
			remote++
		case ip != nil && ip.IsUnspecified():
			r.fail("address", service+" "+i.ID, "set ServerConfig.Instance.Address to an address that clients can reach", "it publishes %s, which is no address to connect to", i.Address)
		case ip == nil || ip.IsLoopback():
			local++
		default:
			remote++
		}
	}
	if local > 0 && remote > 0 {
		r.warn("address", service, "set ServerConfig.Instance.Address of these to an address that clients can reach",
			"%s of this service at loopback addresses, which only their own machine can reach, and others at real ones", shell.Plural(local, "instance"))
	}
}

// rules looks into the rules of a service.
func (r *report) rules(ctx context.Context, reg *registry.Registry, service string, instances []weft.Instance) {
	doc, err := reg.Load(ctx, cluster.RulesDocument(service))
	switch {
	case errors.Is(err, registry.ErrNoDocuments), err == nil && doc.Version == 0:
		return
	case err != nil:
		r.fail("rules", service, "clients keep the rules that they have: see the permissions of the registry's user, and its log", "%v", err)
		return
	}
	rules, err := route.Parse(doc.Value)
	if err != nil {
		r.fail("rules", service, "clients stay with older rules or none: mend them with 'weft rules apply', or go back with 'weft rules rollback "+service+"'", "they cannot be used: %v", err)
		return
	}
	v := rules.Revision()
	before := len(r.findings)
	for n, rule := range v.Instances {
		if !matches(&rule.Match, instances) {
			r.warn("rules", service, "see 'weft rules show "+service+"'; remove the rule, or mend what it asks for", "the instance rule %q matches no instance", name(rule.Name, n))
		}
	}
	for _, rule := range v.Routes {
		for n := range rule.To {
			if !matches(&rule.To[n].Match, instances) {
				r.warn("rules", service, "see 'weft rules show "+service+"'; calls of this side go elsewhere or fail", "side %d of the route %q matches no instance", n+1, rule.Name)
			}
		}
	}
	if len(r.findings) == before {
		r.ok("rules", service, "version %d", rules.Version())
	}
}

func name(name string, n int) string {
	if name == "" {
		return fmt.Sprintf("instances[%d]", n)
	}
	return name
}

// probeWeight is a weight by which matches tells the instances that match.
const probeWeight = 12345

// matches reports whether any instance is what a rule asks for.
func matches(m *route.Match, instances []weft.Instance) bool {
	weight := probeWeight
	v := route.Revision{Instances: []route.InstanceRule{{Match: *m, Weight: &weight}}}
	text, err := v.Encode()
	if err != nil {
		return true // an empty match is one of all
	}
	rules, err := route.Parse(text)
	if err != nil {
		return true
	}
	for _, effect := range rules.Plan(instances).Instances {
		if effect.Weight == probeWeight {
			return true
		}
	}
	return false
}
