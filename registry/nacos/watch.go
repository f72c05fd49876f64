package nacos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/weftrpc/weft/registry"
)

const (
	// usualPoll is the time from one question of a watch to the next.
	usualPoll = 2 * time.Second
	// pollTimeout is how long an answer may take.
	pollTimeout = 3 * time.Second
)

// poll asks again and again, until an answer is missing.
func poll(ctx context.Context, every time.Duration, ask func(context.Context) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		limit, cancel := context.WithTimeout(ctx, pollTimeout)
		err := ask(limit)
		cancel()
		if err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Watch implements registry.Driver.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	err := poll(ctx, d.pollEvery, func(limit context.Context) error {
		entries, err := d.entries(limit, service)
		if err == nil && ctx.Err() == nil {
			emit(list(service, entries))
		}
		return err
	})
	return fmt.Errorf("nacos: watch %s: %w", service, err)
}

// entry is an instance as Nacos has it.
type entry struct {
	IP       string
	Port     int
	Healthy  bool
	Metadata map[string]string
}

func (e entry) place() place { return place{e.IP, e.Port} }

// id is the ID that the instance gives itself; "": it is none of weft's.
func (e entry) id() string {
	var named struct{ ID string }
	if json.Unmarshal([]byte(e.Metadata[metaInstance]), &named) != nil {
		return ""
	}
	return named.ID
}

// since is when the instance was put.
func (e entry) since() int64 {
	n, err := strconv.ParseInt(e.Metadata[metaSince], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// entries asks for all instances of a service that are not offline.
func (d *driver) entries(ctx context.Context, service string) ([]entry, error) {
	var entries []entry
	r := request{method: http.MethodGet, path: instancePath + "/list", form: d.form(service, place{})}
	err := d.client.call(ctx, r, &entries)
	return entries, err
}

var errForeign = errors.New("nacos: it was not registered by weft, or its metadata is damaged")

// list reads what Nacos has under the name of a service.
func list(service string, entries []entry) registry.List {
	// While a server with a new address takes its old place, it is there twice.
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.since(), a.since()) })
	var list registry.List
	seen := make(map[string]bool)
	for _, e := range entries {
		id := e.id()
		switch {
		case !e.Healthy: // it is silent, and about to go
		case id == "":
			list.Invalid = append(list.Invalid, registry.Invalid{ID: fmt.Sprintf("%s#%d", e.IP, e.Port), Err: errForeign})
		case !seen[id]:
			seen[id] = true
			list.Add(service, id, []byte(e.Metadata[metaInstance]))
		}
	}
	return list
}
