package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft"
)

// Joined is several registries as one, for a migration from one to another: servers
// register with all of them, clients see the instances of all. Its methods may be
// called at the same time.
type Joined struct{ all []*Registry }

var (
	_ weft.Registry = (*Joined)(nil)
	_ Source        = (*Joined)(nil)
)

// Join makes one registry of several. They stay their owner's, to be closed one by
// one. An instance that more than one has counts once: as the first has it that answers
// and lists it, else the first that listed it before it went away, else the first that
// merely keeps it (Snapshot.Kept).
func Join(all ...*Registry) *Joined { return &Joined{slices.Clone(all)} }

// Register publishes the instance in every registry. An error means that one of
// them cannot register it at all; it is then registered in none.
func (j *Joined) Register(instance weft.Instance) (weft.Registration, error) {
	var all joinedRegistration
	for _, r := range j.all {
		g, err := r.Register(instance)
		if err != nil {
			return nil, errors.Join(err, all.Close(context.Background()))
		}
		all = append(all, g)
	}
	return all, nil
}

type joinedRegistration []weft.Registration

func (all joinedRegistration) Update(instance weft.Instance) error {
	var errs []error
	for _, g := range all {
		errs = append(errs, g.Update(instance))
	}
	return errors.Join(errs...)
}

func (all joinedRegistration) Close(ctx context.Context) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, g := range all {
		wg.Go(func() { errs[i] = g.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Watch calls f with the instances of all registries, as soon as one of them says
// something; see Registry.Watch. The Revision is 0.
func (j *Joined) Watch(service string, f func(*Snapshot)) (stop func()) {
	var mu sync.Mutex // held while f runs
	parts := make([]*Snapshot, len(j.all))
	stops := make([]func(), len(j.all))
	for i, r := range j.all {
		stops[i] = r.Watch(service, func(s *Snapshot) {
			mu.Lock()
			defer mu.Unlock()
			parts[i] = s
			f(merge(service, parts))
		})
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// merge makes one snapshot of those of several registries; some may be nil.
func merge(service string, parts []*Snapshot) *Snapshot {
	out := &Snapshot{Service: service, confirmed: new(atomic.Int64)}
	var sources []string
	var errs []error
	var listed, away, kept []weft.Instance
	lists := make(map[string]bool) // by ID, those that are not merely kept
	for _, s := range parts {
		if s == nil {
			continue
		}
		sources = append(sources, s.Source)
		if s.Err != nil {
			errs = append(errs, s.Err)
		}
		out.Invalid = append(out.Invalid, s.Invalid...)
		for _, i := range s.Instances {
			if slices.Contains(s.Kept, i.ID) {
				kept = append(kept, i)
				continue
			}
			lists[i.ID] = true
			if s.Err == nil {
				listed = append(listed, i)
			} else {
				away = append(away, i)
			}
		}
		// The list as a whole is as old as its oldest part.
		if s.confirmed != nil && s.confirmed.Load() != 0 && (out.confirmed.Load() == 0 || s.confirmed.Load() < out.confirmed.Load()) {
			out.confirmed = s.confirmed
		}
	}
	// Of instances with the same ID the first stays.
	out.Instances = sorted(slices.Concat(listed, away, kept))
	for _, i := range out.Instances {
		if !lists[i.ID] {
			out.Kept = append(out.Kept, i.ID)
		}
	}
	out.Source = strings.Join(sources, " and ")
	out.Err = errors.Join(errs...)
	return out
}

// WatchDocument watches the document of the first registry that keeps documents. When
// none does f gets ErrNoDocuments.
func (j *Joined) WatchDocument(name string, f func(Document, error) error) (stop func()) {
	for _, r := range j.all {
		if _, ok := r.driver.(Documents); ok {
			return r.WatchDocument(name, f)
		}
	}
	if len(j.all) > 0 {
		return j.all[0].WatchDocument(name, f)
	}
	return func() {}
}
