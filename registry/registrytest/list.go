package registrytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// long is a time to live that is longer than any check, also on a slow machine.
func (s *suite) long() time.Duration { return max(20*s.TTL, 10*time.Minute) }

// driver makes a driver, as another process would.
func (s *suite) driver(t *testing.T) registry.Driver {
	t.Helper()
	d := s.New(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// service returns a name that was not used before.
func service() string { return fmt.Sprintf("Kit%010x", rand.Uint64()>>24) }

// instance returns the nth simple instance of a service.
func instance(service string, n int) weft.Instance {
	return weft.Instance{
		Service: service,
		ID:      fmt.Sprintf("server-%d", n),
		Address: fmt.Sprintf("tcp://10.7.%d.%d:8972", n/250, n%250+1),
		Weight:  100,
	}
}

// instances returns n of them.
func instances(service string, n int) []weft.Instance {
	all := make([]weft.Instance, n)
	for i := range all {
		all[i] = instance(service, i)
	}
	return all
}

// rich returns an instance with something in every field.
func rich(service string) weft.Instance {
	return weft.Instance{
		Service:    service,
		ID:         "tcp://10.7.0.1:8972",
		Address:    "tcp://10.7.0.1:8972",
		Weight:     250,
		Group:      "blue",
		Version:    "2.1.0-rc.1+build",
		Zone:       "eu-central-1a",
		Position:   &weft.Position{Latitude: 52.520008, Longitude: -13.404954},
		Tags:       map[string]string{"owner": "team \"A\" & <B>", "größe": "50 %", "a/b=c;d,e": ""},
		Idempotent: []string{"Get", "Größe", "*"},
		State:      weft.Draining,
		Started:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Load:       &weft.Load{InFlight: 7, Rate: 1234.5, Latency: 1500 * time.Microsecond},
	}
}

// roster is the list of a service, as the test wants it to be.
type roster struct {
	s       *suite
	service string
	driver  registry.Driver // nil when the list is published another way
	has     []weft.Instance
}

func (s *suite) roster(t *testing.T, service string) *roster {
	t.Helper()
	r := &roster{s: s, service: service}
	if s.Publish == nil {
		r.driver = s.driver(t)
	}
	return r
}

// set makes these the instances of the service.
func (r *roster) set(t *testing.T, want ...weft.Instance) {
	t.Helper()
	has := r.has
	r.has = slices.Clone(want)
	if r.driver == nil {
		r.s.Publish(t, r.service, slices.Clone(want))
		return
	}
	for _, i := range has {
		if !slices.ContainsFunc(want, func(w weft.Instance) bool { return w.ID == i.ID }) {
			r.s.delete(t, r.driver, i)
		}
	}
	for _, i := range want {
		if !slices.ContainsFunc(has, func(h weft.Instance) bool { return h.Equal(&i) }) {
			r.s.put(t, r.driver, i, r.s.long())
		}
	}
}

// do does one operation of a driver, again if it has failed because the machine or the
// registry stood still.
func (s *suite) do(t *testing.T, operation func(context.Context) error) error {
	t.Helper()
	for deadline := time.Now().Add(s.patience); ; time.Sleep(s.still / 5) {
		ctx, cancel := context.WithTimeout(t.Context(), s.patience)
		err := operation(ctx)
		cancel()
		answered := err == nil || errors.Is(err, registry.ErrLost) || errors.Is(err, registry.ErrConflict) || errors.Is(err, registry.ErrReadOnly)
		if answered || !s.pulse.explains(t.Context().Done()) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("for %v, while the machine or the registry stood still, which is too slow for the test: %w", s.patience, err)
		}
		t.Logf("the machine or the registry stood still; once more after: %v", err)
	}
}

func (s *suite) put(t *testing.T, d registry.Driver, i weft.Instance, ttl time.Duration) {
	t.Helper()
	if err := s.tryPut(t, d, i, ttl); err != nil {
		t.Fatalf("Put of instance %q of %q: %v", i.ID, i.Service, err)
	}
}

func (s *suite) tryPut(t *testing.T, d registry.Driver, i weft.Instance, ttl time.Duration) error {
	t.Helper()
	return s.do(t, func(ctx context.Context) error { return d.Put(ctx, i, ttl) })
}

func (s *suite) refresh(t *testing.T, d registry.Driver, i weft.Instance, ttl time.Duration) error {
	t.Helper()
	return s.do(t, func(ctx context.Context) error { return d.Refresh(ctx, i, ttl) })
}

func (s *suite) delete(t *testing.T, d registry.Driver, i weft.Instance) {
	t.Helper()
	if err := s.tryDelete(t, d, i); err != nil {
		t.Fatalf("Delete of instance %q of %q: %v", i.ID, i.Service, err)
	}
}

func (s *suite) tryDelete(t *testing.T, d registry.Driver, i weft.Instance) error {
	t.Helper()
	return s.do(t, func(ctx context.Context) error { return d.Delete(ctx, i) })
}

// difference tells how a list differs from the one that is wanted; "": not at all.
func (s *suite) difference(got, want []weft.Instance) string {
	key := func(i weft.Instance) string { return i.ID }
	if s.Lossy {
		key = func(i weft.Instance) string { return i.Address }
	}
	var wrong []string
	byKey := make(map[string]weft.Instance)
	for _, i := range got {
		byKey[key(i)] = i
	}
	for _, w := range want {
		g, ok := byKey[key(w)]
		delete(byKey, key(w))
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%q is missing", key(w)))
		case !s.same(g, w):
			wrong = append(wrong, fmt.Sprintf("%q is %+v, want %+v", key(w), g, w))
		}
	}
	for k := range byKey {
		wrong = append(wrong, fmt.Sprintf("%q should not be there", k))
	}
	if len(got) != len(want) && len(wrong) == 0 {
		wrong = append(wrong, fmt.Sprintf("there are %d instances, want %d", len(got), len(want)))
	}
	slices.SortFunc(wrong, cmp.Compare)
	if more := len(wrong) - 5; more > 0 {
		wrong = append(wrong[:5], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(wrong, "; ")
}

// same compares what the registry keeps.
func (s *suite) same(got, want weft.Instance) bool {
	if s.Lossy {
		return got.Address == want.Address && weight(got) == weight(want)
	}
	return got.Equal(&want)
}

func weight(i weft.Instance) int {
	if i.Weight == 0 {
		return weft.DefaultWeight
	}
	return i.Weight
}

// inspect tells what is wrong with a list whatever the test is about; before is the
// one emitted before it, nil for the first.
func (s *suite) inspect(service string, before *registry.List, list registry.List) string {
	seen := make(map[string]bool)
	for _, i := range list.Instances {
		switch err := i.Check(); {
		case err != nil:
			return fmt.Sprintf("it emitted an instance that is none: %v", err)
		case i.Service != service:
			return fmt.Sprintf("it emitted an instance of %q", i.Service)
		case seen[i.ID]:
			return fmt.Sprintf("it emitted a list with two instances %q", i.ID)
		}
		seen[i.ID] = true
	}
	for _, i := range list.Invalid {
		if i.Err == nil {
			return fmt.Sprintf("it emitted %q as invalid without an error", i.ID)
		}
	}
	if before == nil || before.Revision == 0 || list.Revision == 0 {
		return ""
	}
	if list.Revision < before.Revision {
		return fmt.Sprintf("it emitted revision %d after %d", list.Revision, before.Revision)
	}
	if list.Revision == before.Revision {
		if d := s.difference(list.Instances, before.Instances); d != "" {
			return fmt.Sprintf("it emitted two lists that differ with revision %d: %s", list.Revision, d)
		}
	}
	return ""
}
