package registrytest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
)

// both is a driver that keeps documents.
type both interface {
	registry.Driver
	registry.Documents
}

// fake is a registry with a server that can be broken, in memory.
type fake struct {
	mu      sync.Mutex
	store   *memory.Store
	down    bool
	trouble chan struct{} // closed when watches end
	thawed  chan struct{} // closed when a frozen server goes on; nil: it is not frozen
	prompt  bool          // operations fail at once while it is frozen
}

var _ Server = (*fake)(nil)

func newFake() *fake { return &fake{store: memory.NewStore(), trouble: make(chan struct{})} }

func (f *fake) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.trouble)
	f.trouble = make(chan struct{})
}

func (f *fake) thaw() {
	if f.thawed != nil {
		close(f.thawed)
		f.thawed = nil
	}
}

func (f *fake) Start(*testing.T) { f.change(func() { f.down = false }) }
func (f *fake) Kill(*testing.T)  { f.change(func() { f.down = true; f.thaw() }) }
func (f *fake) Wipe(*testing.T) {
	f.change(func() { f.down = true; f.thaw(); f.store = memory.NewStore() })
}
func (f *fake) Freeze(*testing.T) { f.change(func() { f.thawed = make(chan struct{}) }) }
func (f *fake) Thaw(*testing.T)   { f.change(f.thaw) }

var errDown = errors.New("fake: connection refused")

// silence is how long a fakeDriver waits for a frozen server before a watch gives up.
const silence = 100 * time.Millisecond

// reach returns the store's driver, and what is closed when it can no longer be
// reached.
func (f *fake) reach(ctx context.Context) (both, <-chan struct{}, error) {
	for {
		f.mu.Lock()
		driver, trouble, thawed, down, prompt := f.store.Driver().(both), f.trouble, f.thawed, f.down, f.prompt
		f.mu.Unlock()
		if down {
			return nil, nil, errDown
		}
		if thawed == nil {
			return driver, trouble, nil
		}
		if prompt {
			return nil, nil, errDown
		}
		select {
		case <-thawed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// probe asks the server, not through a driver. It waits for one that is frozen.
func (f *fake) probe(ctx context.Context) error {
	for {
		f.mu.Lock()
		thawed, down := f.thawed, f.down
		f.mu.Unlock()
		if down {
			return errDown
		}
		if thawed == nil {
			return nil
		}
		select {
		case <-thawed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fakeDriver reaches a fake as over a network.
type fakeDriver struct{ f *fake }

func (d fakeDriver) do(ctx context.Context, operation func(both) error) error {
	driver, _, err := d.f.reach(ctx)
	if err != nil {
		return err
	}
	return operation(driver)
}

func (d fakeDriver) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	return d.do(ctx, func(s both) error { return s.Put(ctx, i, ttl) })
}

func (d fakeDriver) Refresh(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	return d.do(ctx, func(s both) error { return s.Refresh(ctx, i, ttl) })
}

func (d fakeDriver) Delete(ctx context.Context, i weft.Instance) error {
	return d.do(ctx, func(s both) error { return s.Delete(ctx, i) })
}

func (d fakeDriver) Load(ctx context.Context, name string) (doc registry.Document, err error) {
	err = d.do(ctx, func(s both) error {
		doc, err = s.Load(ctx, name)
		return err
	})
	return doc, err
}

func (d fakeDriver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	return d.do(ctx, func(s both) error { return s.Store(ctx, name, value, version) })
}

// watch runs a watch of the store until the server has trouble.
func (d fakeDriver) watch(ctx context.Context, watch func(context.Context, both) error) error {
	reaching, stop := context.WithTimeout(ctx, silence)
	defer stop()
	driver, trouble, err := d.f.reach(reaching)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// It ends with the watch.
	go func() {
		select {
		case <-trouble:
			cancel(errors.New("fake: connection lost"))
		case <-ctx.Done():
		}
	}()
	err = watch(ctx, driver)
	return errors.Join(err, context.Cause(ctx))
}

func (d fakeDriver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	return d.watch(ctx, func(ctx context.Context, s both) error { return s.Watch(ctx, service, emit) })
}

func (d fakeDriver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	return d.watch(ctx, func(ctx context.Context, s both) error { return s.WatchDocument(ctx, name, emit) })
}

func (d fakeDriver) Close() error { return nil }

// readOnly is a registry that others write to, such as DNS.
type readOnly struct{ registry.Driver }

func (readOnly) Put(context.Context, weft.Instance, time.Duration) error {
	return registry.ErrReadOnly
}
func (readOnly) Refresh(context.Context, weft.Instance, time.Duration) error {
	return registry.ErrReadOnly
}
func (readOnly) Delete(context.Context, weft.Instance) error { return registry.ErrReadOnly }

// publisher writes to a fake for others.
func publisher(f *fake) func(t *testing.T, service string, want []weft.Instance) {
	var mu sync.Mutex
	published := make(map[string][]weft.Instance)
	return func(t *testing.T, service string, want []weft.Instance) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		d := fakeDriver{f}
		for _, i := range published[service] {
			if err := d.Delete(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range want {
			if err := d.Put(t.Context(), i, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		published[service] = want
	}
}

func TestRunAcceptsASoundDriver(t *testing.T) {
	t.Parallel()
	f := newFake()
	Run(t, Config{New: func(*testing.T) registry.Driver { return fakeDriver{f} }, Server: f})
}

func TestRunAcceptsAReadOnlyDriver(t *testing.T) {
	t.Parallel()
	f := newFake()
	Run(t, Config{
		New:     func(*testing.T) registry.Driver { return readOnly{fakeDriver{f}} },
		Server:  f,
		Publish: publisher(f),
	})
}

// TestRunAcceptsALossyDriver: of an instance only address and weight arrive.
func TestRunAcceptsALossyDriver(t *testing.T) {
	t.Parallel()
	store := memory.NewStore()
	Run(t, Config{New: func(*testing.T) registry.Driver { return lossy{store.Driver()} }, Lossy: true})
}

type lossy struct{ registry.Driver }

func (l lossy) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	return l.Driver.Watch(ctx, service, func(list registry.List) {
		for n, i := range list.Instances {
			list.Instances[n] = weft.Instance{Service: i.Service, ID: i.Address, Address: i.Address, Weight: i.Weight}
		}
		emit(list)
	})
}
