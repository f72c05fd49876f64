package cluster_test

import (
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
)

// The servers of a client's first list are not new: with the default balancer the slow
// one of two gets few calls from the first second on, and weights hold from the first
// call on.
func TestFirstList(t *testing.T) {
	t.Run("slow server", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, "fast", "slow")
			f.servers["fast"].slow(2 * time.Millisecond)
			f.servers["slow"].slow(50 * time.Millisecond)
			c := f.client(nil)
			if got := shares(t, c, 400); got["slow"] > 24 {
				t.Errorf("of the first 400 calls the slow server got %d, want 6 %% at most", got["slow"])
			}
		})
	})
	for _, test := range []struct {
		name    string
		weights map[string]int
		want    map[string]float64
	}{
		{"100 and 300", map[string]int{"a": 100, "b": 300}, map[string]float64{"a": 0.25, "b": 0.75}},
		{"100, 100 and 800", map[string]int{"a": 100, "b": 100, "c": 800}, map[string]float64{"a": 0.1, "b": 0.1, "c": 0.8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t)
				for name, weight := range test.weights {
					f.add(name, weft.Instance{Weight: weight}).slow(time.Millisecond)
				}
				c := f.client(nil)
				const n = 5000
				got := shares(t, c, n)
				for name, want := range test.want {
					if share := float64(got[name]) / n; share < want-0.025 || share > want+0.025 {
						t.Errorf("%s gets %.3f of the first %d calls, want %.2f", name, share, n, want)
					}
				}
			})
		})
	}
}

// A server that joins later starts slowly, and so does one of the first list that says
// that it has just started, or that was restarted in its place.
func TestNewcomers(t *testing.T) {
	slowly := func(cfg *cluster.Config) { cfg.Balancer = balance.SlowStart(time.Hour, balance.RoundRobin()) }
	old := func() weft.Instance { return weft.Instance{Started: time.Now().Add(-48 * time.Hour)} }
	wantNew := func(t *testing.T, c weft.Caller, name string) {
		t.Helper()
		time.Sleep(time.Second) // until the list has come
		if got := shares(t, c, 900); got[name] > 90 || got[name] == 0 {
			t.Errorf("the new server of three gets %d of 900 calls, want a tenth of its third", got[name])
		}
	}
	t.Run("joins later", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.add("a", old())
			f.add("b", old())
			c := f.client(slowly)
			who(t, t.Context(), c)
			f.add("c", weft.Instance{Started: time.Now()})
			wantNew(t, c, "c")
		})
	})
	t.Run("in the first list", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.add("a", old())
			f.add("b", old())
			f.add("c", weft.Instance{Started: time.Now().Add(-time.Minute)})
			wantNew(t, f.client(slowly), "c")
		})
	})
	t.Run("another clock", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.add("a", old())
			f.add("b", weft.Instance{Started: time.Now().Add(time.Hour)})
			c := f.client(slowly)
			if got := shares(t, c, 100); got["b"] < 40 {
				t.Errorf("a server of the first list that starts in an hour gets %d of 100 calls", got["b"])
			}
		})
	})
	t.Run("restarted", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.add("a", old())
			f.add("b", old())
			f.add("c", old())
			c := f.client(slowly)
			if got := shares(t, c, 300); got["c"] < 90 {
				t.Fatalf("an old server of three gets %d of 300 calls", got["c"])
			}
			// In its place before the registry or this client has missed it.
			i := weft.Instance{Service: "Who", ID: "mem://c", Address: "mem://c", Started: time.Now()}
			must(t, f.store.Driver().Put(t.Context(), i, time.Minute))
			wantNew(t, c, "c")
		})
	})
}
