package registrytest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
)

// outages returns the checks that break the server.
func (s *suite) outages() []check {
	all := []check{
		{"killed: Watch returns an error, a new one works afterwards", checkKilledWatch},
		{"frozen: Watch returns an error, a new one works afterwards", checkFrozenWatch},
		{"killed: a client keeps its list", checkKilledClient},
		{"frozen: a client keeps its list", checkFrozenClient},
	}
	if s.Publish == nil {
		all = append(all,
			check{"killed: Refresh fails, and not with ErrLost", checkKilledRefresh},
			check{"frozen: operations end with their contexts", checkFrozenOperations},
			check{"wiped: Refresh is ErrLost, the list is empty", checkWiped},
			check{"killed: a server registers again by itself", checkKilledServer},
			check{"wiped: a server registers again by itself", checkWipedServer},
			check{"frozen: a server registers again by itself", checkFrozenServer},
		)
	}
	return all
}

// The ways to break a server. Each returns a function that mends it; it is called by
// the check, or else at its end, so that the next check finds the server running.

func (s *suite) killServer(t *testing.T) (mend func()) {
	t.Helper()
	s.Server.Kill(t)
	return mending(t, func() { s.Server.Start(t) })
}

func (s *suite) wipeServer(t *testing.T) (mend func()) {
	t.Helper()
	s.Server.Wipe(t)
	return mending(t, func() { s.Server.Start(t) })
}

func (s *suite) freezeServer(t *testing.T) (mend func()) {
	t.Helper()
	s.Server.Freeze(t)
	return mending(t, func() { s.Server.Thaw(t) })
}

func mending(t *testing.T, mend func()) func() {
	begun := false
	once := func() {
		if !begun {
			begun = true // also when mend ends the check: a second one in the cleanup would hide why
			mend()
		}
	}
	t.Cleanup(once)
	return once
}

func checkKilledWatch(t *testing.T, s *suite) {
	watchThrough(t, s, "the registry was killed", s.killServer)
}

func checkFrozenWatch(t *testing.T, s *suite) {
	watchThrough(t, s, "the registry has answered nothing for so long", s.freezeServer)
}

// watchThrough breaks the server under a watch, and mends it.
func watchThrough(t *testing.T, s *suite, why string, breakServer func(*testing.T) func()) {
	name := service()
	r := s.roster(t, name)
	r.set(t, instance(name, 0))
	d := s.driver(t)
	f := s.watch(t, d, name)
	s.sees(t, f, instance(name, 0))
	var document *feed[registry.Document]
	documents, ok := d.(registry.Documents)
	if ok {
		document = s.watchDocument(t, documents, name)
		s.seesDocument(t, document, registry.Document{})
	}
	mend := breakServer(t)
	f.returns(t, s.notice, why)
	if ok {
		document.returns(t, s.notice, why)
	}
	// One that begins now must not wait in silence: a client would not know why.
	s.watch(t, d, service()).returns(t, s.notice, why)
	mend()

	// The same driver works on; what was registered may have expired meanwhile.
	want := instances(name, 2)
	s.eventually(t, "Put after the registry is back", func(ctx context.Context) error {
		if s.Publish != nil {
			r.set(t, want...)
			return nil
		}
		return errors.Join(d.Put(ctx, want[0], s.long()), d.Put(ctx, want[1], s.long()))
	})
	s.seesAgain(t, d, name, func(list registry.List) string { return s.difference(list.Instances, want) })
	s.sees(t, s.watch(t, s.driver(t), name), want...)
}

// eventually does an operation again and again until it goes well: a connection may
// need some time to come back.
func (s *suite) eventually(t *testing.T, what string, operation func(context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(s.Expires + s.patience)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := operation(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still after %v: %v", what, s.Expires+s.patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// seesAgain watches with a driver whose server was away, as often as it takes.
func (s *suite) seesAgain(t *testing.T, d registry.Driver, service string, lacks func(registry.List) string) {
	t.Helper()
	s.eventually(t, "Watch after the registry is back", func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		problem := "it has emitted nothing"
		err := d.Watch(ctx, service, func(list registry.List) {
			if problem = lacks(list); problem == "" {
				cancel()
			}
		})
		if problem == "" {
			return nil
		}
		return errors.Join(errors.New(problem), err)
	})
}

func checkKilledRefresh(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	i := instance(name, 0)
	s.put(t, d, i, s.long())
	mend := s.killServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := d.Refresh(ctx, i, s.long()); err == nil || errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh while the registry is down returned %v, want an error that is not ErrLost", err)
	}
	if err := d.Put(ctx, i, s.long()); err == nil {
		t.Error("Put while the registry is down went well")
	}
	mend()
	s.eventually(t, "Put after the registry is back", func(ctx context.Context) error { return d.Put(ctx, i, s.long()) })
	s.sees(t, s.watch(t, s.driver(t), name), i)
}

func checkFrozenOperations(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	i := instance(name, 0)
	s.put(t, d, i, s.long())
	mend := s.freezeServer(t)
	operations := map[string]func(context.Context) error{
		"Put":     func(ctx context.Context) error { return d.Put(ctx, i, s.long()) },
		"Refresh": func(ctx context.Context) error { return d.Refresh(ctx, i, s.long()) },
		"Delete":  func(ctx context.Context) error { return d.Delete(ctx, instance(name, 1)) },
	}
	if documents, ok := d.(registry.Documents); ok {
		operations["Load"] = func(ctx context.Context) error { _, err := documents.Load(ctx, name); return err }
		operations["Store"] = func(ctx context.Context) error { return documents.Store(ctx, name, []byte("x"), 0) }
	}
	var wg sync.WaitGroup
	for what, operation := range operations {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			result := make(chan error, 1)
			// It ends with its context, or when the server goes on.
			go func() { result <- operation(ctx) }()
			select {
			case err := <-result:
				if err == nil || errors.Is(err, registry.ErrLost) {
					t.Errorf("%s while the registry is frozen returned %v, want an error that is not ErrLost", what, err)
				}
			case <-time.After(s.patience):
				t.Errorf("%s while the registry is frozen did not return within %v of the end of its context", what, s.patience)
			}
		})
	}
	wg.Wait()
	mend()
	s.eventually(t, "Put after the registry is back", func(ctx context.Context) error { return d.Put(ctx, i, s.long()) })
	s.seesAgain(t, d, name, func(list registry.List) string {
		if !has(list.Instances, i) {
			return "the instance is not there"
		}
		return ""
	})
}

func checkWiped(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	i := instance(name, 0)
	s.put(t, d, i, s.long())
	mend := s.wipeServer(t)
	mend()
	s.eventually(t, "ErrLost from Refresh after the registry has lost its data", func(ctx context.Context) error {
		err := d.Refresh(ctx, i, s.long())
		switch {
		case err == nil:
			t.Fatal("Refresh went well, though the registry has lost its data; it promises ErrLost")
		case errors.Is(err, registry.ErrLost):
			return nil
		}
		return err
	})
	s.seesAgain(t, d, name, func(list registry.List) string { return s.difference(list.Instances, nil) })
	s.put(t, d, i, s.long())
	s.sees(t, s.watch(t, s.driver(t), name), i)
}

func checkKilledClient(t *testing.T, s *suite) { clientThrough(t, s, s.killServer) }
func checkFrozenClient(t *testing.T, s *suite) { clientThrough(t, s, s.freezeServer) }

// clientThrough breaks the server under a client, and mends it.
func clientThrough(t *testing.T, s *suite, breakServer func(*testing.T) func()) {
	name := service()
	i := instance(name, 0)
	r := s.roster(t, name)
	r.set(t, i)
	c := s.client(t, s.registry(t, s.TTL, 0), name)
	c.sees(t, s.Settle, i)
	mend := breakServer(t)
	c.notices(t, s.notice)
	c.kept(t, i)
	mend()
	// Whether it still has the instance is not known.
	s.eventually(t, "publishing after the registry is back", func(ctx context.Context) error {
		if s.Publish != nil {
			s.Publish(t, name, r.has)
			return nil
		}
		return r.driver.Put(ctx, i, s.long())
	})
	c.sees(t, s.Expires, i)
	c.kept(t, i)
}

func checkKilledServer(t *testing.T, s *suite) { serverThrough(t, s, s.killServer) }
func checkWipedServer(t *testing.T, s *suite)  { serverThrough(t, s, s.wipeServer) }
func checkFrozenServer(t *testing.T, s *suite) { serverThrough(t, s, s.freezeServer) }

// serverThrough breaks the registry's server under a server that has registered, and
// mends it. The registration must come back by itself, and no client may miss it.
func serverThrough(t *testing.T, s *suite, breakServer func(*testing.T) func()) {
	name := service()
	i := instance(name, 0)
	server := s.registry(t, s.TTL, 0)
	c := s.client(t, s.registry(t, s.TTL, 0), name)
	g, err := server.Register(i)
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	c.sees(t, s.Settle, i)
	mend := breakServer(t)
	c.notices(t, s.notice)
	mend()
	back := time.Now()

	// What a client sees could be its memory; a new watch sees what is registered.
	d := s.driver(t)
	s.seesAgain(t, d, name, func(list registry.List) string { return s.difference(list.Instances, instances(name, 1)) })
	c.sees(t, s.Expires, i)
	t.Logf("registered again, and seen, %v after the registry was back", time.Since(back).Round(time.Millisecond))
	c.kept(t, i)
	s.withdraw(t, g, i)
	s.seesAgain(t, d, name, func(list registry.List) string { return s.difference(list.Instances, nil) })
}
