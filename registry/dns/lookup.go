package dns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"golang.org/x/net/dns/dnsmessage"
)

const (
	// maxInstances is how many instances a service can have, and how many records of
	// one kind a name.
	maxInstances = 1000
	// atOnce is how many hosts of one list are asked for at the same time.
	atOnce = 8
	// lookTimeout is how long it may take to find out a list, however many hosts it
	// has and however slowly the servers answer.
	lookTimeout = 20 * time.Second
)

var errSlow = fmt.Errorf("dns: the servers took longer than %v for all records of the service", lookTimeout)

// look asks for the instances of a service, and tells how long they are good.
func (d *driver) look(ctx context.Context, service string) (registry.List, time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, errSlow)
	defer cancel()
	b := builder{service: service, scheme: d.scheme, at: make(map[string]int)}
	ttl, err := d.build(ctx, &b)
	if err != nil {
		return registry.List{}, 0, err
	}
	if n := len(b.list.Instances); n > maxInstances {
		return registry.List{}, 0, fmt.Errorf("dns: service %s has %d instances, at most %d are allowed", service, n, maxInstances)
	}
	slices.SortFunc(b.list.Instances, func(a, b weft.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return b.list, min(max(time.Duration(ttl)*time.Second, d.min), d.max), nil
}

func (d *driver) build(ctx context.Context, b *builder) (ttl uint32, err error) {
	name := d.name(b.service)
	if d.port != 0 {
		h, err := d.host(ctx, name)
		for _, a := range h.addrs {
			b.add(a, uint16(d.port), weft.Instance{})
		}
		return h.ttl, err
	}
	q, err := ask(name, dnsmessage.TypeSRV)
	if err != nil {
		return 0, err
	}
	a, err := d.resolve(ctx, q)
	if err != nil {
		return 0, err
	}
	if len(a.records) > maxInstances {
		return 0, fmt.Errorf("dns: %v has %d records, at most %d are allowed", q, len(a.records), maxInstances)
	}
	hosts, err := d.targets(ctx, a)
	if err != nil {
		return 0, err
	}
	ttl = a.ttl
	share := shares(a.records)
	for i, r := range a.records {
		target := canonical(r.srv.Target)
		if target == "." {
			continue // there is decidedly no such service (RFC 2782)
		}
		h := hosts[target]
		ttl = min(ttl, h.ttl)
		for _, addr := range h.addrs {
			b.add(addr, r.srv.Port, share[i])
		}
		if len(h.addrs) == 0 {
			b.invalid(fmt.Sprintf("%s:%d", target, r.srv.Port), errors.New("dns: the host has no address"))
		}
	}
	return ttl, nil
}

// host asks for the addresses of a name.
func (d *driver) host(ctx context.Context, name string) (host, error) {
	h := host{ttl: ^uint32(0)}
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
		q, err := ask(name, kind)
		if err != nil {
			return h, err
		}
		a, err := d.resolve(ctx, q)
		if err != nil {
			return h, err
		}
		if len(a.records) > maxInstances {
			return h, fmt.Errorf("dns: %v has %d records, at most %d are allowed", q, len(a.records), maxInstances)
		}
		h.ttl = min(h.ttl, a.ttl)
		for _, r := range a.records {
			h.addrs = append(h.addrs, r.addr)
		}
		if len(h.addrs) > 0 {
			h.ttl = a.ttl
			break
		}
	}
	return h, nil
}

// targets returns the addresses of the targets of SRV records: those that came with
// them, or else those that are asked for. One that cannot be found out fails all: a
// list that misses some would be taken for a list without them.
func (d *driver) targets(ctx context.Context, a answer) (map[string]host, error) {
	hosts := make(map[string]host)
	var unknown []string
	for _, r := range a.records {
		target := canonical(r.srv.Target)
		if _, done := hosts[target]; done || target == "." {
			continue
		}
		h := host{}
		if added := a.hosts[target]; added != nil {
			h = added.preferred()
		}
		hosts[target] = h
		if len(h.addrs) == 0 {
			unknown = append(unknown, target)
		}
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var mu sync.Mutex // guards hosts
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, target := range unknown {
		slots <- struct{}{}
		// It ends with its question, or when another one has failed.
		wg.Go(func() {
			defer func() { <-slots }()
			h, err := d.host(ctx, target)
			if err != nil {
				fail(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			hosts[target] = h
		})
	}
	wg.Wait()
	return hosts, context.Cause(ctx)
}

// preferred returns a host with its IPv4 addresses alone. It has no addresses if
// those were not added: there may be some.
func (h *host) preferred() host {
	only := host{ttl: h.ttl}
	for _, a := range h.addrs {
		if a.Is4() {
			only.addrs = append(only.addrs, a)
		}
	}
	return only
}

// shares makes weights and states of the priorities and weights of SRV records.
func shares(records []record) []weft.Instance {
	var levels []uint16 // the priorities, the lowest first
	weighted := make(map[uint16]bool)
	for _, r := range records {
		levels = append(levels, r.srv.Priority)
		weighted[r.srv.Priority] = weighted[r.srv.Priority] || r.srv.Weight > 0
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	out := make([]weft.Instance, len(records))
	for i, r := range records {
		weight := int(r.srv.Weight)
		if weight == 0 && weighted[r.srv.Priority] {
			weight = 1
		}
		switch slices.Index(levels, r.srv.Priority) {
		case 0:
			out[i].Weight = weight
		case 1:
			out[i].Weight = -max(weight, 1)
		default:
			out[i].Weight, out[i].State = weight, weft.Draining
		}
	}
	return out
}

// builder makes a list of what was found.
type builder struct {
	service string
	scheme  string
	list    registry.List
	at      map[string]int // the index of each address in list.Instances; -1: it is invalid
}

// add adds an instance with the weight and the state of share. Of two records of the
// same address, the one that is called first counts.
func (b *builder) add(a netip.Addr, port uint16, share weft.Instance) {
	a = a.Unmap()
	address := b.scheme + "://" + netip.AddrPortFrom(a, port).String()
	switch {
	case port == 0:
		b.invalid(address, errors.New("dns: port 0"))
		return
	case a.IsUnspecified() || a.IsMulticast():
		b.invalid(address, fmt.Errorf("dns: %v is not the address of a host", a))
		return
	}
	share.Service, share.ID, share.Address = b.service, address, address
	i, found := b.at[address]
	switch {
	case !found:
		b.at[address] = len(b.list.Instances)
		b.list.Instances = append(b.list.Instances, share)
	case rank(share) < rank(b.list.Instances[i]):
		b.list.Instances[i] = share
	}
}

// rank is the place in which an instance is called.
func rank(i weft.Instance) int {
	switch {
	case i.State == weft.Draining:
		return 2
	case i.Weight < 0:
		return 1
	}
	return 0
}

func (b *builder) invalid(id string, err error) {
	if _, found := b.at[id]; !found {
		b.at[id] = -1
		b.list.Invalid = append(b.list.Invalid, registry.Invalid{ID: id, Err: err})
	}
}
