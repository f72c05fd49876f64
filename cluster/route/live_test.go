package route_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/cluster/route"
)

// timeouts are rules that can be told apart.
func timeouts(d string) []byte { return []byte(`{"methods":{"*":{"timeout":"` + d + `"}}}`) }

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live route.Live
		began := time.Now()
		check := func(what, method string, version uint64, since time.Duration, refused uint64, refusedSince time.Duration) {
			t.Helper()
			s := live.Status()
			if got := live.Rules().Method("M").String(); got != method || s.Version != version || s.Since.Sub(began) != since {
				t.Errorf("%s: %s of version %d since %v, want %s of %d since %v", what, got, s.Version, s.Since.Sub(began), method, version, since)
			}
			if (s.Err != nil) != (refused != 0) || s.RefusedVersion != refused || refused != 0 && s.RefusedSince.Sub(began) != refusedSince {
				t.Errorf("%s: refused version %d since %v because %v, want %d since %v", what, s.RefusedVersion, s.RefusedSince.Sub(began), s.Err, refused, refusedSince)
			}
		}
		update := func(doc []byte, version uint64) error {
			time.Sleep(time.Second)
			return live.Update(doc, version)
		}
		good := func(doc []byte, version uint64) {
			t.Helper()
			if err := update(doc, version); err != nil {
				t.Error(err)
			}
		}
		if s := live.Status(); s != (route.Status{}) || live.Rules() != nil {
			t.Errorf("the zero Live has %+v", s)
		}
		good(nil, 0)
		check("no document", "as configured", 0, 1*time.Second, 0, 0)
		good(timeouts("1s"), 10)
		check("the first", "timeout 1s", 10, 2*time.Second, 0, 0)
		good(timeouts("1s"), 10)
		check("the same again", "timeout 1s", 10, 2*time.Second, 0, 0)
		if err := update([]byte(`{"routes":1}`), 11); err == nil {
			t.Error("a wrong document is taken")
		}
		check("a wrong one", "timeout 1s", 10, 2*time.Second, 11, 4*time.Second)
		if err := update([]byte(`{"routes":1}`), 11); err == nil || !strings.Contains(err.Error(), "routes") {
			t.Errorf("the wrong one again: %v", err)
		}
		check("the wrong one again", "timeout 1s", 10, 2*time.Second, 11, 4*time.Second)
		if err := update(nil, 12); err == nil {
			t.Error("a document without bytes is taken")
		}
		check("an empty one", "timeout 1s", 10, 2*time.Second, 12, 6*time.Second)
		good(timeouts("2s"), 13)
		check("repaired", "timeout 2s", 13, 7*time.Second, 0, 0)
		good(nil, 0)
		check("removed", "as configured", 0, 8*time.Second, 0, 0)
	})
}

// TestLiveConcurrently: readers see whole rules, old or new. It needs -race to
// find a lock that is missing.
func TestLiveConcurrently(t *testing.T) {
	var live route.Live
	if err := live.Update(timeouts("1s"), 1); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() { // ends when stop is closed
			for {
				select {
				case <-stop:
					return
				default:
				}
				p := live.Rules().Plan(fleet())
				if got := live.Rules().Method("M").Timeout; got == 0 || p.Route(route.Call{}).Subset != 0 {
					t.Errorf("timeout %v", got)
					return
				}
				live.Status()
			}
		})
	}
	for i := range uint64(500) {
		doc := timeouts("1s")
		if i%3 == 0 {
			doc = doc[1:]
		}
		if err := live.Update(doc, i+2); (err != nil) != (i%3 == 0) {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}
