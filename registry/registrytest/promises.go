package registrytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

func checkEmpty(t *testing.T, s *suite) {
	s.sees(t, s.watch(t, s.driver(t), service()))
}

func checkWhole(t *testing.T, s *suite) {
	name := service()
	s.roster(t, name).set(t, rich(name))
	list := s.sees(t, s.watch(t, s.driver(t), name), rich(name))
	if len(list.Invalid) > 0 {
		t.Errorf("Watch lists a sound instance as invalid too: %v", list.Invalid[0].Err)
	}
}

// checkServices publishes services whose names begin alike.
func checkServices(t *testing.T, s *suite) {
	base := service()
	names := []string{base, base + "x", base + "1", base[:len(base)-1], "A" + base}
	if !s.Lossy {
		names = append(names, base+".Sub", base+"/Sub", base+"%2FSub", strings.ToLower(base))
	}
	var rosters []*roster
	for n, name := range names {
		r := s.roster(t, name)
		r.set(t, instances(name, n+1)...)
		rosters = append(rosters, r)
	}
	s.seesEach(t, s.driver(t), rosters)
}

// seesEach watches several services at the same time, until each shows its roster.
func (s *suite) seesEach(t *testing.T, d registry.Driver, rosters []*roster) {
	t.Helper()
	var feeds []*feed[registry.List]
	for _, r := range rosters {
		feeds = append(feeds, s.watch(t, d, r.service))
	}
	for n, f := range feeds {
		s.sees(t, f, rosters[n].has...)
	}
}

func checkLong(t *testing.T, s *suite) {
	name := service()
	want := instances(name, 200)
	s.roster(t, name).set(t, want...)
	s.sees(t, s.watch(t, s.driver(t), name), want...)
}

// checkListOwner spoils every list it is given, which must change nothing for
// other watches.
func checkListOwner(t *testing.T, s *suite) {
	name := service()
	want := rich(name)
	r := s.roster(t, name)
	r.set(t, want)
	d := s.driver(t)
	spoiled := s.watchKeeping(t, d, name, spoil)
	s.sees(t, spoiled, want)
	s.sees(t, s.watch(t, d, name), want)
	if !s.Fixed {
		r.set(t, want, instance(name, 1))
		s.sees(t, spoiled, want, instance(name, 1))
	}
}

// spoil returns a copy of a list, and makes the list useless.
func spoil(list registry.List) registry.List {
	kept := list
	kept.Instances = nil
	for n := range list.Instances {
		i := &list.Instances[n]
		kept.Instances = append(kept.Instances, i.Clone())
		i.Address, i.Weight = "spoiled", -1
		if i.Tags != nil {
			i.Tags["owner"] = "spoiled"
		}
		if i.Position != nil {
			i.Position.Latitude = 0
		}
		if i.Load != nil {
			i.Load.InFlight = -1
		}
		if len(i.Idempotent) > 0 {
			i.Idempotent[0] = "spoiled"
		}
	}
	return kept
}

func checkConfirmed(t *testing.T, s *suite) {
	name := service()
	s.roster(t, name).set(t, instance(name, 0))
	f := s.watch(t, s.driver(t), name)
	s.sees(t, f, instance(name, 0))
	had := len(f.all())
	deadline := time.After(s.confirm + s.patience)
	for !f.confirmed(had) {
		news := f.change()
		select {
		case <-f.ended:
			t.Fatalf("%s returned %v, while the registry was there", f.what, f.err)
		case <-news:
		case <-deadline:
			t.Fatalf("%s emitted nothing for %v; it promises to, at least every %v, while the registry confirms the list",
				f.what, s.confirm+s.patience, s.confirm)
		}
	}
}

func checkWatchEnds(t *testing.T, s *suite) {
	d := s.driver(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
	}{{"an open context", t.Context()}, {"an ended context", ended}} {
		for deadline := time.Now().Add(s.patience); !checkWatchEnd(t, s, d, test.name, test.ctx); time.Sleep(s.still / 5) {
			if time.Now().After(deadline) {
				t.Fatalf("with %s, Watch ended by itself for %v, while the machine or the registry stood still: this is too slow for the test",
					test.name, s.patience)
			}
		}
	}
}

// checkWatchEnd ends the context of a watch, if it has not ended. It returns false when the
// watch has ended by itself, because the machine or the registry stood still.
func checkWatchEnd(t *testing.T, s *suite, d registry.Driver, name string, ctx context.Context) bool {
	t.Helper()
	open := ctx.Err() == nil
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	emitted := make(chan struct{}, 1)
	result := make(chan error, 1)
	// It ends with its context, or when the test gives up on it.
	go func() {
		result <- d.Watch(ctx, service(), func(registry.List) {
			select {
			case emitted <- struct{}{}:
			default:
			}
		})
	}()
	if open {
		select {
		case <-emitted:
		case err := <-result:
			if err != nil && s.pulse.explains(ctx.Done()) {
				t.Logf("the machine or the registry stood still; once more after: %v", err)
				return false
			}
			t.Errorf("Watch returned %v before it emitted anything", err)
			return true
		case <-time.After(s.Settle + s.patience):
			t.Errorf("Watch emitted nothing within %v", s.Settle+s.patience)
		}
	}
	cancel()
	select {
	case err := <-result:
		if err == nil {
			t.Errorf("with %s, Watch returned nil at its end; it promises an error", name)
		}
	case <-time.After(s.patience):
		t.Errorf("with %s, Watch did not return within %v of its end", name, s.patience)
	}
	return true
}

func checkWatchers(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	one, two := s.driver(t), s.driver(t)
	feeds := []*feed[registry.List]{s.watch(t, one, name), s.watch(t, one, name), s.watch(t, two, name)}
	all := instances(name, 4)
	for _, want := range [][]weft.Instance{nil, all[:1], all[:3], all[1:3], all} {
		r.set(t, want...)
		for _, f := range feeds {
			s.sees(t, f, want...)
		}
	}
}

func checkReplace(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	f := s.watch(t, s.driver(t), name)
	old, young := instance(name, 0), instance(name, 0)
	young.Weight, young.State, young.Zone = 7, weft.Draining, "b"
	if !s.Lossy {
		young.Address = "tcp://10.7.9.9:1"
	}
	r.set(t, old)
	s.sees(t, f, old)
	r.set(t, young)
	s.sees(t, f, young)
}

// checkQuick makes changes faster than a watch may see them.
func checkQuick(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	f := s.watch(t, s.driver(t), name)
	s.sees(t, f)
	all := instances(name, 5)
	for n := range 20 {
		all[n%5].Weight = 100 + n
		r.set(t, all[:n%5+1]...)
	}
	s.sees(t, f, r.has...)
	// A second watch, which has seen nothing of all that, must agree.
	s.sees(t, s.watch(t, s.driver(t), name), r.has...)
}

func checkBecomesEmpty(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	f := s.watch(t, s.driver(t), name)
	s.sees(t, f)
	r.set(t, instances(name, 2)...)
	s.sees(t, f, instances(name, 2)...)
	r.set(t)
	s.sees(t, f)
}

// checkSilence changes the list after a watch has returned, and lets another watch,
// which runs, tell when the changes could have been seen.
func checkSilence(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	d := s.driver(t)
	ended, runs := s.watch(t, d, name), s.watch(t, d, name)
	r.set(t, instance(name, 0))
	s.sees(t, ended, instance(name, 0))
	ended.end(t)
	had := len(ended.all())
	for n := 2; n <= 5; n++ {
		r.set(t, instances(name, n)...)
		s.sees(t, runs, instances(name, n)...)
	}
	if more := len(ended.all()) - had; more > 0 {
		t.Errorf("%s emitted %d lists after it had returned", ended.what, more)
	}
}

// checkRevisions compares what every watch says anyhow, over changes that come from
// two processes, and what a watch that begins later says.
func checkRevisions(t *testing.T, s *suite) {
	name := service()
	r := s.roster(t, name)
	one, two := s.driver(t), s.driver(t)
	f := s.watch(t, one, name)
	all := instances(name, 4)
	var last registry.List
	for n := range all {
		r.set(t, all[:n+1]...)
		last = s.sees(t, f, all[:n+1]...)
	}
	later := s.sees(t, s.watch(t, two, name), all...)
	if (last.Revision == 0) != (later.Revision == 0) {
		t.Errorf("one watch has revision %d and another %d: a registry has revisions or it has none", last.Revision, later.Revision)
	}
	if later.Revision < last.Revision {
		t.Errorf("a watch that began later has revision %d, older than %d", later.Revision, last.Revision)
	}
}

func checkReadOnly(t *testing.T, s *suite) {
	d := s.driver(t)
	i := instance(service(), 0)
	for _, test := range []struct {
		name string
		err  error
	}{
		{"Put", s.tryPut(t, d, i, s.TTL)},
		{"Refresh", s.refresh(t, d, i, s.TTL)},
		{"Delete", s.tryDelete(t, d, i)},
	} {
		if !errors.Is(test.err, registry.ErrReadOnly) {
			t.Errorf("%s returned %v, want registry.ErrReadOnly", test.name, test.err)
		}
	}
}

func checkDelete(t *testing.T, s *suite) {
	name := service()
	one, two := s.driver(t), s.driver(t)
	f := s.watch(t, s.driver(t), name)
	all := instances(name, 3)
	s.delete(t, one, all[0]) // there is none, which is no error
	for _, i := range all {
		s.put(t, one, i, s.long())
	}
	s.sees(t, f, all...)
	s.delete(t, one, all[1])
	s.sees(t, f, all[0], all[2])
	s.delete(t, two, all[1]) // again, from another process
	s.put(t, one, all[1], s.long())
	s.sees(t, f, all...)
}

func checkInstanceOwner(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	mine := rich(name)
	s.put(t, d, mine, s.long())
	mine.Tags["owner"] = "spoiled"
	mine.Position.Latitude = 0
	mine.Idempotent[0] = "spoiled"
	s.sees(t, s.watch(t, d, name), rich(name))
}

func checkLost(t *testing.T, s *suite) {
	name := service()
	one, two := s.driver(t), s.driver(t)
	i := instance(name, 0)
	refresh := func(d registry.Driver) error { return s.refresh(t, d, i, s.long()) }
	if err := refresh(one); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of an instance that was never published returned %v, want ErrLost", err)
	}
	s.put(t, one, i, s.long())
	if err := refresh(one); err != nil {
		t.Errorf("Refresh after Put: %v", err)
	}
	s.delete(t, one, i)
	if err := refresh(one); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh after Delete returned %v, want ErrLost", err)
	}
	s.put(t, one, i, s.long())
	f := s.watch(t, two, name)
	s.sees(t, f, i)
	s.delete(t, two, i)
	s.sees(t, f)
	if err := refresh(one); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh after another process has deleted the instance returned %v, want ErrLost", err)
	}
	s.put(t, one, i, s.long())
	s.sees(t, f, i)
}

func checkConcurrent(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	f := s.watch(t, s.driver(t), name)
	all := instances(name, 8)
	var wg sync.WaitGroup
	for _, i := range all {
		wg.Go(func() {
			for n := range 10 {
				i.Weight = 1 + n
				err := errors.Join(s.tryPut(t, d, i, s.long()), s.refresh(t, d, i, s.long()), s.tryDelete(t, d, i))
				if err != nil {
					t.Errorf("Put, Refresh and Delete of %q beside others: %v", i.ID, err)
					return
				}
			}
			i.Weight = 100
			if err := s.tryPut(t, d, i, s.long()); err != nil {
				t.Errorf("Put of %q beside others: %v", i.ID, err)
			}
		})
	}
	wg.Wait()
	s.sees(t, f, all...)
}

// checkOddIDs: an ID is any printable text of up to 255 bytes, addresses among them.
func checkOddIDs(t *testing.T, s *suite) {
	name := service()
	var all []weft.Instance
	for n, id := range []string{
		"tcp://[2001:db8::1%25eth0]:8972", "/", "//a//", "a/b", "a/b/c", "a%2Fb", "%", "%00", ".", "..", "../up", " ", " a ",
		"größe", "服务", "a\\b", `"'`, "`$(x)`", "*?[a-z]{b}", "#a?b=c&d", "a:b:c", "a,b;c|d", "~", "-x", "_", "A", "a",
		strings.Repeat("x", 255), strings.Repeat("x", 254) + "y", strings.Repeat("/", 255), strings.Repeat("服", 85),
	} {
		i := instance(name, n)
		i.ID = id
		all = append(all, i)
	}
	r := s.roster(t, name)
	r.set(t, all...)
	f := s.watch(t, s.driver(t), name)
	s.sees(t, f, all...)
	r.set(t, all[5:]...)
	s.sees(t, f, all[5:]...)
	for _, i := range r.has {
		if err := s.refresh(t, r.driver, i, s.long()); err != nil {
			t.Errorf("Refresh of instance %q: %v", i.ID, err)
		}
	}
}

// checkOddServices: the name of a service is any text without spaces.
func checkOddServices(t *testing.T, s *suite) {
	base := service()
	d := s.driver(t)
	var rosters []*roster
	for n, odd := range []string{"/", "/a/b", "//", "%2F", ".", "/..", "/../x", "größe", "服务", "\\", "*", "?[x]{y}", "\"'", ":", ",", "#", "&=", "~", "|"} {
		name := base + odd
		r := s.roster(t, name)
		r.set(t, instance(name, n), instance(name, n+1))
		rosters = append(rosters, r)
	}
	s.seesEach(t, d, rosters)
}

func checkInvalid(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	good, bad := instance(name, 0), instance(name, 1)
	bad.Address = "nowhere"
	s.put(t, d, good, s.long())
	f := s.watch(t, s.driver(t), name)
	s.sees(t, f, good)
	if refuses(t, s, d, bad) {
		return
	}
	f.until(t, s.Settle, fmt.Sprintf("%q alone, and %q among the invalid entries", good.ID, bad.ID), func(list registry.List) string {
		for _, i := range list.Invalid {
			if i.ID == bad.ID {
				return s.difference(list.Instances, []weft.Instance{good})
			}
		}
		return "it is not"
	})
}

// refuses reports whether a driver does not take an instance, as it may, and fails every time, while the registry takes others. A Put
// that has failed is not excused by a standstill, which would repeat it for as long as the machine is slow.
func refuses(t *testing.T, s *suite, d registry.Driver, bad weft.Instance) bool {
	t.Helper()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), s.patience)
		err := d.Put(ctx, bad, s.long())
		cancel()
		if err == nil {
			return false
		}
		s.put(t, d, instance(bad.Service, 0), s.long())
	}
	return true
}
