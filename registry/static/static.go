// Package static is a registry with a fixed list, for a handful of servers that stay
// where they are.
//
//	reg, err := static.New("tcp://10.0.0.7:8972", "tcp://10.0.0.8:8972")
//	client, err := cluster.New(&cluster.Config{Registry: reg})
//
// Servers cannot register themselves here. For a list that changes see package file.
package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// New makes a registry in which every service is at these addresses, which are as
// weft.Dial takes them: "tcp://10.0.0.7:8972", "10.0.0.7:8972", "unix:///run/app.sock".
func New(addresses ...string) (*registry.Registry, error) {
	instances := make([]weft.Instance, len(addresses))
	for i, a := range addresses {
		instances[i].Address = a
	}
	return Of(instances...)
}

// Of makes a registry of these instances, with weights, zones and all, and addresses as
// New takes them. One without a Service has every service; one without an ID has its
// address for an ID. Of two with the same ID that a service has so, the one that names
// the service counts.
//
// An instance that is none is an error, and so are no instances at all and two with
// the same Service and ID.
func Of(instances ...weft.Instance) (*registry.Registry, error) {
	d, err := newDriver(instances)
	if err != nil {
		return nil, err
	}
	// There is no outage to get over, so nothing is doubted, and nothing cached.
	return registry.New("static", d, &registry.Config{NoCache: true, Protect: -1})
}

// driver is a list by services; those under "" are in all of them.
type driver map[string][]weft.Instance

func newDriver(instances []weft.Instance) (driver, error) {
	if len(instances) == 0 {
		return nil, errors.New("static: there are no addresses")
	}
	d := make(driver)
	for n, i := range instances {
		i = i.Clone()
		address, err := withScheme(i.Address)
		if err != nil {
			return nil, fmt.Errorf("static: instance %d of the list: %w", n+1, err)
		}
		i.Address = address
		i.ID = cmp.Or(i.ID, i.Address)
		checked := i
		checked.Service = cmp.Or(i.Service, "Any")
		if err := checked.Check(); err != nil {
			return nil, fmt.Errorf("static: instance %d of the list: %w", n+1, err)
		}
		if slices.ContainsFunc(d[i.Service], func(o weft.Instance) bool { return o.ID == i.ID }) {
			return nil, fmt.Errorf("static: instance %d of the list: service %q has another one with the ID %q", n+1, i.Service, i.ID)
		}
		d[i.Service] = append(d[i.Service], i)
	}
	return d, nil
}

// withScheme returns an address with its scheme, which is that of TCP if it has none.
func withScheme(address string) (string, error) {
	if strings.Contains(address, "://") {
		return address, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil || strings.ContainsAny(address, "@/") {
		return "", fmt.Errorf("address %q is neither \"host:port\" nor one with a scheme, such as \"tcp://host:port\"", address)
	}
	return "tcp://" + address, nil
}

// list returns what a service has.
func (d driver) list(service string) registry.List {
	var list registry.List
	for _, i := range d[service] {
		list.Instances = append(list.Instances, i.Clone())
	}
	for _, i := range d[""] {
		if !slices.ContainsFunc(list.Instances, func(o weft.Instance) bool { return o.ID == i.ID }) {
			i = i.Clone()
			i.Service = service
			list.Instances = append(list.Instances, i)
		}
	}
	return list
}

// confirmEvery is how often a list is emitted.
const confirmEvery = 5 * time.Second

func (d driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	ticker := time.NewTicker(confirmEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		emit(d.list(service))
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return ctx.Err()
}

func (driver) Put(context.Context, weft.Instance, time.Duration) error { return registry.ErrReadOnly }
func (driver) Refresh(context.Context, weft.Instance, time.Duration) error {
	return registry.ErrReadOnly
}
func (driver) Delete(context.Context, weft.Instance) error { return registry.ErrReadOnly }
func (driver) Close() error                                { return nil }
