package admin_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/internal/polltest"
)

// recorder is a registry that keeps what is published.
type recorder struct {
	mu  sync.Mutex
	all map[string]weft.Instance // by service
}

func newRecorder() *recorder { return &recorder{all: make(map[string]weft.Instance)} }

func (r *recorder) Register(i weft.Instance) (weft.Registration, error) {
	r.set(i)
	return registration{r, i.Service}, nil
}

func (r *recorder) set(i weft.Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[i.Service] = i
}

func (r *recorder) state(service string) weft.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[service].State
}

type registration struct {
	r       *recorder
	service string
}

func (g registration) Update(i weft.Instance) error { g.r.set(i); return nil }

func (g registration) Close(context.Context) error {
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	delete(g.r.all, g.service)
	return nil
}

func TestDrain(t *testing.T) {
	reg := newRecorder()
	r := start(t, &weft.ServerConfig{Registry: reg, Instances: map[string]weft.Instance{"Spare": {State: weft.Off}}}, &admin.Config{Token: "secret", Logger: quiet()})
	if err := weft.Handle(r.srv, "Spare.Mul", func(context.Context, *Args) (*Product, error) { return &Product{}, nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.srv.Alias("Maths.Times", "Arith.Mul"); err != nil { // clients find the service Maths too
		t.Fatal(err)
	}
	a := r.admin("secret")
	polltest.True(t, 30*time.Second, "the services are published", func() bool {
		reg.mu.Lock()
		defer reg.mu.Unlock()
		return len(reg.all) == 4
	})
	for range 2 { // the second changes nothing more
		d, err := a.Drain(t.Context(), &admin.DrainRequest{Reason: "test"})
		if err != nil || d.Phase != "serving" || d.InFlight < 0 {
			t.Fatalf("%+v, %v", d, err)
		}
		if reg.state("Arith") != weft.Draining || reg.state("Maths") != weft.Draining || reg.state("Spare") != weft.Off || reg.state("weft.Admin") != weft.On {
			t.Errorf("%+v", reg.all)
		}
	}
	d, err := a.Drain(t.Context(), &admin.DrainRequest{Undo: true})
	if err != nil || !slices.Equal(d.Services, []string{"Arith", "Maths"}) || reg.state("Arith") != weft.On || reg.state("Maths") != weft.On || reg.state("Spare") != weft.Off {
		t.Errorf("%+v, %v, %+v", d, err, reg.all)
	}
	_, err = a.Drain(t.Context(), &admin.DrainRequest{Undo: true, Shutdown: true})
	isError(t, err, weft.InvalidArgument)
	_, err = start(t, nil, &admin.Config{Token: "secret"}).admin("secret").Drain(t.Context(), nil)
	isError(t, err, weft.FailedPrecondition)
}

// What another part of the program has published in the meantime, as package health does, is not undone.
func TestDrainBesideOthers(t *testing.T) {
	reg := newRecorder()
	r := start(t, &weft.ServerConfig{Registry: reg}, &admin.Config{Token: "secret", Logger: quiet()})
	a := r.admin("secret")
	polltest.True(t, 30*time.Second, "the services are published", func() bool { return reg.state("Arith") == weft.On })
	set := func(s weft.State) {
		t.Helper()
		if err := r.srv.SetInstance("Arith", func(i *weft.Instance) { i.State = s }); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		before, between weft.State // of the service, before the drain and before it is undone
		drained, undone weft.State
	}{
		{weft.On, weft.Draining, weft.Draining, weft.On},
		{weft.Draining, weft.On, weft.Draining, weft.On}, // a check failed before the drain, and holds again
		{weft.Draining, weft.Draining, weft.Draining, weft.Draining},
		{weft.On, weft.Off, weft.Draining, weft.Off},
	} {
		set(step.before)
		if _, err := a.Drain(t.Context(), nil); err != nil || reg.state("Arith") != step.drained {
			t.Errorf("%+v: after the drain it is %v, error %v", step, reg.state("Arith"), err)
		}
		set(step.between)
		if _, err := a.Drain(t.Context(), &admin.DrainRequest{Undo: true}); err != nil || reg.state("Arith") != step.undone {
			t.Errorf("%+v: after it was undone it is %v, error %v", step, reg.state("Arith"), err)
		}
	}
}

// A shutdown by Drain answers the call that began it, and those under way.
func TestDrainWithShutdown(t *testing.T) {
	r := start(t, nil, &admin.Config{Token: "secret", Logger: quiet()})
	c, a := r.dial("", nil), r.admin("secret")
	release := make(chan struct{})
	if err := weft.Handle(r.srv, "Held.Wait", func(ctx context.Context, _ *Args) (*Product, error) {
		select {
		case <-release:
			return &Product{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}); err != nil {
		t.Fatal(err)
	}
	slow := c.Go(t.Context(), "Held.Wait", &Args{}, nil, nil, weft.WithTimeout(2*time.Minute))
	polltest.True(t, 30*time.Second, "the call runs", func() bool {
		calls, err := a.Calls(t.Context(), &admin.CallsRequest{Method: "Held.Wait"})
		return err == nil && len(calls.Calls) == 1
	})
	watch, err := a.Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Drain(t.Context(), &admin.DrainRequest{Shutdown: true})
	if err != nil || d.Phase != "shutting down" || d.InFlight < 1 {
		t.Errorf("%+v, %v", d, err)
	}
	close(release)
	if <-slow.Done; slow.Error != nil {
		t.Error(slow.Error)
	}
	for _, err := range watch.All() { // it ends by itself
		if err != nil {
			t.Error(err)
		}
	}
	polltest.True(t, 30*time.Second, "the server has shut down", func() bool { return r.srv.Phase() == weft.ShutDown })
}

func TestShutdownByTheProgram(t *testing.T) {
	called := make(chan bool, 2)
	r := start(t, nil, &admin.Config{Token: "secret", Logger: quiet(), Shutdown: func() { called <- true }})
	a := r.admin("secret")
	for range 2 {
		if _, err := a.Drain(t.Context(), &admin.DrainRequest{Shutdown: true}); err != nil {
			t.Fatal(err)
		}
	}
	<-called
	if len(called) != 0 || r.srv.Phase() != weft.Serving {
		t.Errorf("called %d times more, %v", len(called), r.srv.Phase())
	}
}

// What changes the server needs a credential over TCP, and Config.ReadOnly refuses it.
func TestChangesAreGuarded(t *testing.T) {
	open, readOnly := start(t, nil, nil), start(t, nil, &admin.Config{Token: "secret", ReadOnly: true})
	for name, a := range map[string]*admin.Client{"open": open.admin(""), "read only": readOnly.admin("secret")} {
		_, drain := a.Drain(t.Context(), nil)
		_, level := a.SetLogLevel(t.Context(), &admin.SetLogLevelRequest{Level: "debug"})
		if !errors.Is(drain, weft.PermissionDenied) || !errors.Is(level, weft.PermissionDenied) {
			t.Errorf("%s: %v; %v", name, drain, level)
		}
		if _, err := a.Stats(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
