package consul

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft/registry"
)

const (
	// wait is how long Consul holds back an answer that has not changed. The answer
	// then confirms the last one.
	wait = 4 * time.Second
	// slack is how much longer an answer may take. Consul itself adds up to a
	// sixteenth of the wait.
	slack = 3 * time.Second
	// askEvery is the least time between two questions of one watch: what is watched
	// may change quickly, and Consul also answers when something near it has changed.
	askEvery = 100 * time.Millisecond
)

// Watch implements registry.Driver.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	name := d.serviceName(service)
	err := follow(ctx, d.datacenter,
		func(q *api.QueryOptions) ([]*api.ServiceEntry, *api.QueryMeta, error) {
			return d.client.Health().Service(name, "", true, q)
		},
		func(entries []*api.ServiceEntry, index uint64) {
			list := d.list(service, entries)
			list.Revision = index
			emit(list)
		})
	return fmt.Errorf("consul: watch %s: %w", service, explain(err, fmt.Sprintf("service:read for %q and node:read", name)))
}

// follow asks the same again and again and hands every answer on, until an answer is
// missing. It is what Consul calls a blocking query
// (developer.hashicorp.com/consul/api-docs/features/blocking).
func follow[T any](ctx context.Context, datacenter string, ask func(*api.QueryOptions) (T, *api.QueryMeta, error), emit func(T, uint64)) error {
	var index uint64
	for {
		began := time.Now()
		q := &api.QueryOptions{Datacenter: datacenter, WaitIndex: index, WaitTime: wait}
		limit, cancel := context.WithTimeout(ctx, wait+slack)
		answer, meta, err := ask(q.WithContext(limit))
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && meta.ResultsFilteredByACLs {
			err = errFiltered
		}
		if err != nil {
			return err
		}
		emit(answer, meta.LastIndex)
		if meta.LastIndex < index {
			index = 0 // Consul was restored from a backup, and counts from there
		} else {
			index = max(meta.LastIndex, 1) // 0 would not wait
		}
		select {
		case <-time.After(askEvery - time.Since(began)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errFiltered keeps a token that has lost its rights from looking like an empty list.
// Consul says so since version 1.11.
var errFiltered = errors.New("something was left out, because the token may not read it: it needs service:read and node:read")

var errForeign = errors.New("consul: it was not registered by weft, or its meta is damaged")

// list reads what Consul has under the name of a service.
func (d *driver) list(service string, entries []*api.ServiceEntry) registry.List {
	name := d.serviceName(service)
	entries = slices.DeleteFunc(entries, func(e *api.ServiceEntry) bool {
		// Consul takes names that differ by large and small letters for the same.
		return e == nil || e.Service == nil || e.Service.Service != name
	})
	// A server that has come back with another agent is listed twice until its older
	// instance expires.
	slices.SortStableFunc(entries, func(a, b *api.ServiceEntry) int {
		return cmp.Compare(b.Service.ModifyIndex, a.Service.ModifyIndex)
	})
	var list registry.List
	seen := make(map[string]bool)
	for _, e := range entries {
		if seen[e.Service.ID] {
			continue
		}
		seen[e.Service.ID] = true
		value := join(e.Service.Meta)
		var named struct{ ID string }
		if err := json.Unmarshal(value, &named); err != nil || d.serviceID(service, named.ID) != e.Service.ID {
			list.Invalid = append(list.Invalid, registry.Invalid{ID: e.Service.ID, Err: errForeign})
			continue
		}
		list.Add(service, named.ID, value)
	}
	return list
}
