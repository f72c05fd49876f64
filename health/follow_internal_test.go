package health

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

// A server that stays as it is is not looked into; a new service and a new phase are noticed at once.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := mem.New()
		srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{net}, Logger: slog.New(slog.DiscardHandler)})
		defer srv.Close()
		h, err := New(srv, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// noticed forgets all statuses, so that a look at the server finds changes, and tells whether there was one within a minute.
		noticed := func(change func()) bool {
			h.mu.Lock()
			clear(h.last)
			changed := h.changed
			h.mu.Unlock()
			change()
			select {
			case <-changed:
				return true
			case <-time.After(time.Minute):
				return false
			}
		}
		listed := h.services()
		if noticed(func() {}) || h.services() != listed {
			t.Error("a server that has not changed was looked into")
		}
		if !noticed(func() {
			if err := weft.Handle(srv, "Orders.Get", func(_ context.Context, n *int) (*int, error) { return n, nil }); err != nil {
				t.Error(err)
			}
		}) {
			t.Error("a new service was not noticed")
		}
		if _, ok := h.Status("Orders"); !ok {
			t.Error("the new service has no status")
		}
		if !noticed(func() {
			l, err := srv.Listen(t.Context(), "mem://server")
			if err != nil {
				t.Error(err)
				return
			}
			go srv.Serve(l) // it ends with the server
		}) {
			t.Error("the server serves, which was not noticed")
		}
		if s, _ := h.Status("Orders"); s != Serving || !h.isStarted() {
			t.Errorf("the service is %v, started %v", s, h.isStarted())
		}
		if noticed(func() {}) {
			t.Error("a server that has not changed was looked into")
		}
	})
}

func (h *Health) isStarted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started
}

// A service that the program has turned off while a check fails is published as draining when the program turns it on.
func TestFollowProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, err := memory.NewStore().Registry(&registry.Config{Logger: slog.New(slog.DiscardHandler), NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		net := mem.New()
		srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{net}, Registry: reg, Logger: slog.New(slog.DiscardHandler)})
		defer srv.Close()
		if err := weft.Handle(srv, "Orders.Get", func(_ context.Context, n *int) (*int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		set := func(s weft.State) {
			t.Helper()
			if err := srv.SetInstance("Orders", func(i *weft.Instance) { i.State = s }); err != nil {
				t.Fatal(err)
			}
		}
		set(weft.Off)
		fails := Check{Name: "database", Period: 24 * time.Hour, Func: func(context.Context) error { return errors.New("it is down") }}
		if _, err := New(srv, &Config{Checks: []Check{fails}, Logger: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		l, err := srv.Listen(t.Context(), "mem://server")
		if err != nil {
			t.Fatal(err)
		}
		go srv.Serve(l) // it ends with the server
		state := func() (s weft.State) {
			time.Sleep(time.Second)
			if err := srv.SetInstance("Orders", func(i *weft.Instance) { s = i.State }); err != nil {
				t.Error(err)
			}
			return s
		}
		if s := state(); s != weft.Off {
			t.Errorf("the service is %v, and the program has turned it off", s)
		}
		set(weft.On)
		if s := state(); s != weft.Draining {
			t.Errorf("the service is %v, and its check fails", s)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// refuser is a registry that refuses to change what is published of the service Orders as long as it has an error.
type refuser struct {
	mu    sync.Mutex
	err   error
	told  int // how often
	state weft.State
}

func (r *refuser) Register(weft.Instance) (weft.Registration, error) { return r, nil }

func (r *refuser) Update(i weft.Instance) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i.Service != "Orders" {
		return nil
	}
	if r.told++; r.err == nil {
		r.state = i.State
	}
	return r.err
}

func (*refuser) Close(context.Context) error { return nil }

// counter counts records of a log.
type counter struct {
	slog.Handler
	n *atomic.Int32
}

func (c counter) Handle(context.Context, slog.Record) error {
	c.n.Add(1)
	return nil
}
func (counter) Enabled(context.Context, slog.Level) bool { return true }

// A state that the registry refuses is published again with pauses, and the log says so once a minute, or when the error is another one.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := &refuser{err: errors.New("read only")}
		net := mem.New()
		srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{net}, Registry: reg, Logger: slog.New(slog.DiscardHandler), LoadReportInterval: -1})
		defer srv.Close()
		if err := weft.Handle(srv, "Orders.Get", func(_ context.Context, n *int) (*int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		var logged atomic.Int32
		h, err := New(srv, &Config{Logger: slog.New(counter{n: &logged})})
		if err != nil {
			t.Fatal(err)
		}
		l, err := srv.Listen(t.Context(), "mem://server")
		if err != nil {
			t.Fatal(err)
		}
		go srv.Serve(l) // it ends with the server
		time.Sleep(time.Second)
		seen := func() (told, records int, state weft.State) {
			reg.mu.Lock()
			defer reg.mu.Unlock()
			return reg.told, int(logged.Load()), reg.state
		}
		fail := func(err error) {
			reg.mu.Lock()
			defer reg.mu.Unlock()
			reg.err = err
		}
		within := func(what string, act func(), d time.Duration, tells, records int) {
			t.Helper()
			told, had, _ := seen()
			act()
			time.Sleep(d)
			now, have, _ := seen()
			if off := now - told - tells; max(off, -off) > tells/20 {
				t.Errorf("%s: the registry was told %d times, want about %d", what, now-told, tells)
			}
			if have-had != records {
				t.Errorf("%s: %d records, want %d", what, have-had, records)
			}
		}
		within("before", func() {}, time.Minute, 0, 0)
		within("at once", func() { h.Set("Orders", false) }, time.Millisecond, 1, 1)
		within("in ten minutes", func() {}, 10*time.Minute, 66, 9)
		within("with another error", func() { fail(errors.New("full")) }, 10*time.Minute, 60, 10)
		within("without an error", func() { fail(nil) }, time.Minute, 1, 0)
		if _, _, state := seen(); state != weft.Draining {
			t.Errorf("the service is published as %v", state)
		}
		within("afterwards", func() { h.Set("Orders", true) }, time.Millisecond, 1, 0)
		if _, _, state := seen(); state != weft.On {
			t.Errorf("the service is published as %v", state)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What the registry has not taken is noted before publish returns, so that another publish cannot note the contrary of what came behind it.
func TestPublishNotesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, err := memory.NewStore().Registry(&registry.Config{Logger: slog.New(slog.DiscardHandler), NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		srv := weft.NewServer(&weft.ServerConfig{Registry: reg, Logger: slog.New(slog.DiscardHandler)})
		defer srv.Close()
		h, err := New(srv, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if h.behind.Load() {
			t.Error("something is left of a server that is ready")
		}
		h.mu.Lock()
		h.set["Removed"] = true
		h.mu.Unlock()
		h.publish([]string{"Removed"}) // which the server does not have
		if !h.behind.Load() {
			t.Error("what could not be published is not noted")
		}
		time.Sleep(time.Second)
		if h.behind.Load() {
			t.Error("what is left was not published a second later")
		}
	})
}
