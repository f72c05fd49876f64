package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	store := memory.NewStore()
	registrytest.Run(t, registrytest.Config{New: func(*testing.T) registry.Driver { return store.Driver() }})
}

// TestClock: instances expire by the clock of package time, to the moment.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := memory.NewStore().Driver()
		short := weft.Instance{Service: "Arith", ID: "short", Address: "tcp://10.0.0.1:1"}
		long := weft.Instance{Service: "Arith", ID: "long", Address: "tcp://10.0.0.2:1"}
		if err := errors.Join(d.Put(t.Context(), short, time.Minute), d.Put(t.Context(), long, time.Hour)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var sizes []int
		var at []time.Duration
		err := d.Watch(ctx, "Arith", func(list registry.List) {
			if n := len(sizes); n == 0 || sizes[n-1] != len(list.Instances) {
				sizes, at = append(sizes, len(list.Instances)), append(at, time.Since(began))
			}
			if len(list.Instances) == 0 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v", err)
		}
		if len(at) != 3 || at[0] != 0 || at[1] != time.Minute || at[2] != time.Hour {
			t.Errorf("lists of %d instances came at %v, want 2, 1, 0 at 0, 1m, 1h", sizes, at)
		}
		if err := d.Refresh(t.Context(), short, time.Minute); !errors.Is(err, registry.ErrLost) {
			t.Errorf("Refresh after the end: %v", err)
		}
	})
}

// TestOneBubble: a server and a client of one registry live in a bubble.
func TestOneBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, err := memory.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		registration, err := reg.Register(weft.Instance{Service: "Arith", ID: "a", Address: "tcp://10.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		var last *registry.Snapshot
		stop := reg.Watch("Arith", func(s *registry.Snapshot) { last = s })
		defer stop()
		time.Sleep(24 * time.Hour) // many times longer than an instance lives by itself
		synctest.Wait()
		if len(last.Instances) != 1 || last.Age() > 10*time.Second {
			t.Errorf("after a day there are %d instances, confirmed %v ago", len(last.Instances), last.Age())
		}
		if err := registration.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(last.Instances) != 0 {
			t.Errorf("after Close there are %d instances", len(last.Instances))
		}
	})
}

func TestStoresAreApart(t *testing.T) {
	one, two := memory.NewStore().Driver(), memory.NewStore().Driver()
	i := weft.Instance{Service: "Arith", ID: "a", Address: "tcp://10.0.0.1:1"}
	if err := one.Put(t.Context(), i, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := two.Refresh(t.Context(), i, time.Minute); !errors.Is(err, registry.ErrLost) {
		t.Errorf("another store has the instance: %v", err)
	}
}
