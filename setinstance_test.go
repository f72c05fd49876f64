package weft_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport/mem"
)

// published returns what a registry has of a service.
func (b *recorder) published(t *testing.T, service string) weft.Instance {
	t.Helper()
	i, ok := b.get(service)
	if !ok {
		t.Fatalf("service %s is not published", service)
	}
	return i
}

func TestInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{}
		start(t, &weft.ServerConfig{
			Registry: b, Instance: weft.Instance{Zone: "a", Weight: 7},
			Instances: map[string]weft.Instance{
				"Other":     {Weight: 9, Tags: map[string]string{"disk": "fast"}},
				"Elsewhere": {Address: "tcp://10.0.0.7:1"},
			},
		}, func(s *weft.Server) error {
			for _, name := range []string{"Arith", "Other", "Elsewhere"} {
				if err := s.RegisterName(name, Arith{}); err != nil {
					return err
				}
			}
			return nil
		})
		synctest.Wait()
		if i := b.published(t, "Arith"); i.Zone != "a" || i.Weight != 7 {
			t.Errorf("a service without an instance of its own is published as %+v", i)
		}
		if i := b.published(t, "Other"); i.Zone != "" || i.Weight != 9 || i.Tags["disk"] != "fast" || i.Address != address || i.ID != address {
			t.Errorf("a service with an instance of its own is published as %+v", i)
		}
		if i := b.published(t, "Elsewhere"); i.Address != "tcp://10.0.0.7:1" || i.ID != i.Address {
			t.Errorf("a service with an address of its own is published as %+v", i)
		}
	})

	for name, cfg := range map[string]weft.ServerConfig{
		"Instances[\"Arith\"].Service": {Instances: map[string]weft.Instance{"Arith": {Service: "Other"}}},
		"Instances[\"Arith\"]":         {Instances: map[string]weft.Instance{"Arith": {Weight: 1 << 30}}},
		"Instance: ":                   {Instance: weft.Instance{Address: "10.0.0.7"}},
	} {
		srv := weft.NewServer(&cfg)
		if err := srv.Register(Arith{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a wrong configuration gives %v, want an error with %q", err, name)
		}
	}
}

func TestSetInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{}
		w := start(t, &weft.ServerConfig{
			Registry: b, Instance: weft.Instance{Zone: "a", Weight: 7, Tags: map[string]string{"k": "v"}}, LoadReportInterval: 10 * time.Second,
		}, func(s *weft.Server) error {
			return errors.Join(s.Register(Arith{}), s.RegisterName("Other", Arith{}))
		})
		synctest.Wait()

		var kept map[string]string
		must(t, w.srv.SetInstance("Arith", func(i *weft.Instance) {
			if i.Zone != "a" || i.Weight != 7 {
				t.Errorf("the change gets %+v, want what is configured", i)
			}
			i.Weight, i.State, i.Tags["k"] = 3, weft.Draining, "w"
			kept = i.Tags
		}))
		kept["k"] = "spoiled"
		is := func(what, service string, weight int, state weft.State, tag string) {
			t.Helper()
			if i := b.published(t, service); i.Weight != weight || i.State != state || i.Tags["k"] != tag || i.Zone != "a" || i.Address != address {
				t.Errorf("%s: %s is published as %+v, want weight %d, state %v, tag %s", what, service, i, weight, state, tag)
			}
		}
		is("at once", "Arith", 3, weft.Draining, "w")
		is("the other service", "Other", 7, weft.On, "v")

		// It survives a report of the load, and the service.
		c := w.dial(nil)
		for range 200 {
			if _, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{6, 7}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(11 * time.Second)
		if i := b.published(t, "Arith"); i.Load == nil || i.Load.Rate < 19 {
			t.Errorf("the load is %+v", i.Load)
		}
		is("with a load", "Arith", 3, weft.Draining, "w")
		must(t, w.srv.Unregister("Arith"))
		synctest.Wait()
		must(t, w.srv.Register(Arith{}))
		synctest.Wait()
		is("registered again", "Arith", 3, weft.Draining, "w")

		// All of them, and those to come.
		must(t, w.srv.SetInstance("", func(i *weft.Instance) { i.State = weft.Off }))
		is("all", "Arith", 3, weft.Off, "w")
		is("all", "Other", 7, weft.Off, "v")
		must(t, w.srv.RegisterName("Later", Arith{}))
		synctest.Wait()
		is("to come", "Later", 7, weft.Off, "v")

		said := b.said()
		for want, change := range map[string]func(*weft.Instance){
			"cannot be changed": func(i *weft.Instance) { i.ID = "x" },
			"no state":          func(i *weft.Instance) { i.State = 77 },
		} {
			for _, service := range []string{"Arith", ""} {
				if err := w.srv.SetInstance(service, change); weft.CodeOf(err) != weft.InvalidArgument || !strings.Contains(err.Error(), want) {
					t.Errorf("SetInstance of %q returned %v, want an error with %q", service, err, want)
				}
			}
		}
		if err := w.srv.SetInstance("Missing", func(*weft.Instance) {}); weft.CodeOf(err) != weft.NotFound {
			t.Errorf("SetInstance of a service that is not there returned %v", err)
		}
		if got := b.said(); got != said {
			t.Errorf("wrong changes have been published: %s", got)
		}
		is("after wrong changes", "Arith", 3, weft.Off, "w")
	})

	t.Run("before the server serves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &recorder{}
			srv := weft.NewServer(&weft.ServerConfig{Registry: b, Transports: transports(mem.New())})
			must(t, srv.Register(Arith{}))
			must(t, srv.SetInstance("Arith", func(i *weft.Instance) { i.Weight = 5 }))
			serve(t, srv, "mem://server")
			synctest.Wait()
			if i := b.published(t, "Arith"); i.Weight != 5 {
				t.Errorf("published is %+v", i)
			}
			must(t, srv.Shutdown(t.Context()))
			must(t, srv.SetInstance("Arith", func(i *weft.Instance) { i.Weight = 6 }))
			if got := b.said(); got != "+Arith -Arith" {
				t.Errorf("the registry was told %q", got)
			}
		})
	})

	t.Run("without a registry", func(t *testing.T) {
		srv := weft.NewServer(nil)
		must(t, srv.Register(Arith{}))
		if err := srv.SetInstance("Arith", func(*weft.Instance) {}); weft.CodeOf(err) != weft.FailedPrecondition {
			t.Errorf("SetInstance returned %v", err)
		}
	})

	t.Run("beside each other", func(t *testing.T) {
		b := &recorder{}
		srv := weft.NewServer(&weft.ServerConfig{Registry: b, Transports: transports(mem.New()), LoadReportInterval: time.Millisecond})
		must(t, srv.Register(Arith{}))
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- srv.ListenAndServe(ctx, "mem://server") }()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if err := srv.SetInstance("Arith", func(i *weft.Instance) { i.Weight++ }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for ok := false; !ok; time.Sleep(time.Millisecond) {
			var i weft.Instance
			if i, ok = b.get("Arith"); ok && i.Weight != 200 {
				t.Errorf("the weight is %d after 200 changes by one", i.Weight)
			}
		}
		cancel()
		must(t, <-over)
	})
}

// What a removed method has done does not come off what the server does.
func TestLoadAfterUnregister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &recorder{}
		w := start(t, &weft.ServerConfig{Registry: b, LoadReportInterval: 10 * time.Second}, nil)
		c := w.dial(nil)
		call := func(n int) {
			t.Helper()
			for range n {
				if _, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{6, 7}); err != nil {
					t.Fatal(err)
				}
			}
		}
		call(500)
		time.Sleep(11 * time.Second)
		must(t, w.srv.Unregister("Arith"))
		synctest.Wait()
		must(t, w.srv.Register(Arith{}))
		call(200)
		time.Sleep(10 * time.Second)
		if i := b.published(t, "Arith"); i.Load == nil || i.Load.Rate != 20 || i.Load.Latency < 0 || i.Load.Latency > time.Second {
			t.Errorf("the load is %+v, want 20 calls a second", i.Load)
		}
	})
}
