package registrytest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// checkExpiry publishes three instances: one is refreshed, one is not, and the driver
// of the third is closed. The second and the third must go, neither before its time
// to live nor much later, and the first must stay in every list.
func checkExpiry(t *testing.T, s *suite) {
	name := service()
	kept, silent, orphan := instance(name, 0), instance(name, 1), instance(name, 2)
	keeper, other, closed := s.driver(t), s.driver(t), s.New(t)
	f := s.watch(t, s.driver(t), name)
	documents := s.storeLasting(t, keeper, name)

	k := &refresher{s: s, driver: keeper, instance: kept}
	k.put(t)
	began := time.Now()
	s.put(t, other, silent, s.TTL)
	s.put(t, closed, orphan, s.TTL)
	if err := closed.Close(); err != nil {
		t.Errorf("Close of a driver that has published: %v", err)
	}

	deadline := began.Add(s.Expires + s.patience)
	for {
		all := f.all()
		if n := len(all); n > 0 {
			left := all[n-1].value.Instances
			gone := !has(left, silent) && !has(left, orphan)
			// On a machine that stands still they may come and go unseen.
			if gone && (seen(all, silent) && seen(all, orphan) || time.Since(began) > s.Expires) {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("instances that were put for %v and not refreshed are there after %v, want them gone after %v%s",
				s.TTL, time.Since(began), s.Expires, f.history())
		}
		k.refresh(t)
		select {
		case <-f.ended:
			t.Fatalf("%s returned %v, while the registry was there", f.what, f.err)
		case <-time.After(s.TTL / 5):
		}
	}
	all := f.all()
	if lived := vanished(all, silent).Sub(began); seen(all, silent) && lived < s.TTL*9/10 {
		t.Errorf("an instance that was put for %v was gone after %v", s.TTL, lived)
	}
	k.stayed(t, f)
	ctx, cancel := s.operation(t)
	defer cancel()
	if err := other.Refresh(ctx, silent, s.TTL); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of an instance that has expired returned %v, want ErrLost", err)
	}
	documents()
}

// refresher keeps an instance published.
type refresher struct {
	s        *suite
	driver   registry.Driver
	instance weft.Instance
	last     time.Time // when the last Put or Refresh began that went well
	stalled  bool      // the machine stood still for longer than the time to live
}

func (k *refresher) put(t *testing.T) {
	t.Helper()
	k.last = time.Now()
	k.s.put(t, k.driver, k.instance, k.s.TTL)
}

func (k *refresher) refresh(t *testing.T) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), k.s.patience)
	defer cancel()
	err := k.driver.Refresh(ctx, k.instance, k.s.TTL)
	switch {
	case err == nil:
		k.last = began
	case errors.Is(err, registry.ErrLost) && time.Since(k.last) > k.s.TTL*3/4:
		k.stalled = true
		k.put(t)
	default:
		t.Fatalf("Refresh %v after the one before, with a time to live of %v: %v", time.Since(k.last), k.s.TTL, err)
	}
}

// stayed fails the test unless every list since the first with the instance has it.
func (k *refresher) stayed(t *testing.T, f *feed[registry.List]) {
	t.Helper()
	if k.stalled {
		t.Logf("the machine stood still for longer than %v, so %q may have been gone", k.s.TTL, k.instance.ID)
		return
	}
	all := f.all()
	first := slices.IndexFunc(all, func(e emission[registry.List]) bool { return has(e.value.Instances, k.instance) })
	if first < 0 {
		t.Fatalf("%q was never seen%s", k.instance.ID, f.history())
	}
	for _, e := range all[first:] {
		if !has(e.value.Instances, k.instance) {
			t.Fatalf("%q was refreshed all the time and was gone all the same%s", k.instance.ID, f.history())
		}
	}
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
