package registrytest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// checkExpiry publishes three instances: one is refreshed, one is not, and the driver
// of the third is closed. The second and the third must go, neither before its time
// to live nor much later, and the first must stay in every list.
//
// When the machine or the registry stands still, all of them may go too early: the check is
// made again then with a longer time to live, at most twice.
func checkExpiry(t *testing.T, s *suite) {
	ttl, expires := s.TTL, s.Expires
	for try := 1; ; try++ {
		early := checkExpiryOf(t, s, ttl, expires)
		if early == "" {
			return
		}
		early += ", while the machine or the registry stood still"
		if try == 3 {
			t.Fatalf("%s, as with shorter times to live: this is too slow for the test", early)
		}
		t.Logf("%s; once more with a longer time to live", early)
		expires += 6 * ttl
		ttl *= 3
	}
}

// checkExpiryOf makes the check with a time to live, after which an instance is gone within
// expires. It returns what was gone too early while the machine or the registry stood still;
// "": nothing.
func checkExpiryOf(t *testing.T, s *suite, ttl, expires time.Duration) (early string) {
	t.Helper()
	name := service()
	kept, silent, orphan := instance(name, 0), instance(name, 1), instance(name, 2)
	keeper, other, closed := s.driver(t), s.driver(t), s.New(t)
	f := s.watch(t, s.driver(t), name)
	documents := s.storeLasting(t, keeper, name)

	k := &refresher{s: s, driver: keeper, instance: kept, ttl: ttl}
	k.put(t)
	began := time.Now()
	s.put(t, other, silent, ttl)
	s.put(t, closed, orphan, ttl)
	if err := closed.Close(); err != nil {
		t.Errorf("Close of a driver that has published: %v", err)
	}

	deadline := began.Add(expires + s.patience)
	for {
		all := f.all()
		if n := len(all); n > 0 {
			left := all[n-1].value.Instances
			gone := !has(left, silent) && !has(left, orphan)
			// On a machine that stands still they may come and go unseen.
			if gone && (seen(all, silent) && seen(all, orphan) || time.Since(began) > expires) {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("instances that were put for %v and not refreshed are there after %v, want them gone after %v%s",
				ttl, time.Since(began), expires, f.history())
		}
		k.refresh(t)
		select {
		case <-f.ended:
			t.Fatalf("%s returned %v, while the registry was there", f.what, f.err)
		case <-time.After(ttl / 5):
		}
	}
	all := f.all()
	stood := s.pulse.stoodSince(began)
	if lived := vanished(all, silent).Sub(began); seen(all, silent) && lived < ttl*9/10 {
		early = fmt.Sprintf("an instance that was put for %v was gone after %v", ttl, lived)
		if !stood {
			t.Error(early)
			early = ""
		}
	}
	if !k.stayed(t, f, stood) {
		early = fmt.Sprintf("%q was put for %v, refreshed all the time, and gone all the same", kept.ID, ttl)
	}
	if err := s.refresh(t, other, silent, ttl); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of an instance that has expired returned %v, want ErrLost", err)
	}
	documents()
	return early
}

// refresher keeps an instance published.
type refresher struct {
	s        *suite
	driver   registry.Driver
	instance weft.Instance
	ttl      time.Duration
	last     time.Time // when the last Put or Refresh began that went well
	stalled  bool      // it was gone while the machine or the registry stood still, or was refreshed too late
}

func (k *refresher) put(t *testing.T) {
	t.Helper()
	k.last = time.Now()
	k.s.put(t, k.driver, k.instance, k.ttl)
}

func (k *refresher) refresh(t *testing.T) {
	t.Helper()
	began := time.Now()
	err := k.s.refresh(t, k.driver, k.instance, k.ttl)
	switch {
	case err == nil:
		k.last = began
	case errors.Is(err, registry.ErrLost) && (time.Since(k.last) > k.ttl*3/4 || k.s.pulse.explains(t.Context().Done())):
		k.stalled = true
		k.put(t)
	default:
		t.Fatalf("Refresh %v after the one before, with a time to live of %v: %v", time.Since(k.last), k.ttl, err)
	}
}

// stayed reports whether the instance was never lost, and every list since the first with it
// has it. If one has not, that fails the test unless the machine or the registry stood still,
// or the instance was not refreshed in time.
func (k *refresher) stayed(t *testing.T, f *feed[registry.List], stood bool) bool {
	t.Helper()
	all := f.all()
	first := slices.IndexFunc(all, func(e emission[registry.List]) bool { return has(e.value.Instances, k.instance) })
	if first < 0 {
		t.Fatalf("%q was never seen%s", k.instance.ID, f.history())
	}
	for _, e := range all[first:] {
		switch {
		case has(e.value.Instances, k.instance):
		case stood || k.stalled:
			return false
		default:
			t.Fatalf("%q was refreshed all the time and was gone all the same%s", k.instance.ID, f.history())
		}
	}
	return !k.stalled
}

func has(list []weft.Instance, i weft.Instance) bool {
	return slices.ContainsFunc(list, func(l weft.Instance) bool { return l.Address == i.Address })
}

// seen reports whether some list had an instance.
func seen(all []emission[registry.List], i weft.Instance) bool {
	return slices.ContainsFunc(all, func(e emission[registry.List]) bool { return has(e.value.Instances, i) })
}

// vanished returns the arrival of the first list without an instance after one that
// had it.
func vanished(all []emission[registry.List], i weft.Instance) time.Time {
	had := false
	for _, e := range all {
		if now := has(e.value.Instances, i); had && !now {
			return e.at
		} else if now {
			had = true
		}
	}
	return time.Time{}
}
