package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var errDown = errors.New("the registry is down")

// scripted is a driver whose registry does what a test says.
type scripted struct {
	mu        sync.Mutex
	down      bool
	has       map[string]weft.Instance // by service and ID
	log       []string                 // puts, refreshes and deletes
	attempts  int
	refuse    error // of every put
	feeds     map[string][]chan List
	last      map[string]List
	documents map[string]Document
	changed   chan struct{} // closed when a document or down changes
}

func newScripted() *scripted {
	return &scripted{
		has: make(map[string]weft.Instance), feeds: make(map[string][]chan List), last: make(map[string]List),
		documents: make(map[string]Document), changed: make(chan struct{}),
	}
}

func (d *scripted) op(what string, i weft.Instance) error {
	d.attempts++
	if d.down {
		return errDown
	}
	d.log = append(d.log, what+" "+i.ID)
	return nil
}

func (d *scripted) Put(_ context.Context, i weft.Instance, _ time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("put", i); err != nil {
		return err
	}
	if d.refuse != nil {
		return d.refuse
	}
	d.has[i.Service+" "+i.ID] = i
	return nil
}

func (d *scripted) Refresh(_ context.Context, i weft.Instance, _ time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("refresh", i); err != nil {
		return err
	}
	if _, ok := d.has[i.Service+" "+i.ID]; !ok {
		return ErrLost
	}
	return nil
}

func (d *scripted) Delete(_ context.Context, i weft.Instance) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op("delete", i); err != nil {
		return err
	}
	delete(d.has, i.Service+" "+i.ID)
	return nil
}

func (d *scripted) Watch(ctx context.Context, service string, emit func(List)) error {
	d.mu.Lock()
	d.attempts++
	down, changed := d.down, d.changed
	feed := make(chan List, 64)
	if l, ok := d.last[service]; ok && !down {
		feed <- l
	}
	d.feeds[service] = append(d.feeds[service], feed)
	d.mu.Unlock()
	for !down {
		select {
		case l := <-feed:
			emit(l)
		case <-changed:
			d.mu.Lock()
			down, changed = d.down, d.changed
			d.mu.Unlock()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errDown
}

// list makes the registry say that a service has these instances.
func (d *scripted) list(service string, revision uint64, ids ...string) {
	l := List{Revision: revision}
	for _, id := range ids {
		l.Instances = append(l.Instances, instance(service, id))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[service] = l
	for _, feed := range d.feeds[service] {
		select {
		case feed <- List{slices.Clone(l.Instances), nil, l.Revision}:
		default:
		}
	}
}

// set takes the registry down or brings it back.
func (d *scripted) set(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
	clear(d.feeds)
	close(d.changed)
	d.changed = make(chan struct{})
}

// wipe has the registry lose all instances.
func (d *scripted) wipe() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.has)
}

// refreshed is how many refreshes there were.
func (d *scripted) refreshed() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.log {
		if strings.HasPrefix(line, "refresh ") {
			n++
		}
	}
	return n
}

// lose has the registry lose all documents.
func (d *scripted) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.documents)
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *scripted) Close() error { return nil }

func (d *scripted) Load(_ context.Context, name string) (Document, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return Document{}, errDown
	}
	return d.documents[name], nil
}

func (d *scripted) Store(_ context.Context, name string, value []byte, version uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return errDown
	}
	old := d.documents[name]
	if old.Version != version {
		return ErrConflict
	}
	d.documents[name] = Document{slices.Clone(value), version + 1}
	close(d.changed)
	d.changed = make(chan struct{})
	return nil
}

func (d *scripted) WatchDocument(ctx context.Context, name string, emit func(Document)) error {
	for {
		d.mu.Lock()
		down, changed, document := d.down, d.changed, d.documents[name]
		d.mu.Unlock()
		if down {
			return errDown
		}
		emit(document)
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// said is what was asked of the registry, in order.
func (d *scripted) said() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

func (d *scripted) tried() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attempts
}

func instance(service, id string) weft.Instance {
	return weft.Instance{Service: service, ID: id, Address: "tcp://127.0.0.1:1"}
}

func open(t *testing.T, d Driver, cfg *Config) *Registry {
	t.Helper()
	c := Config{NoCache: true}
	if cfg != nil {
		c = *cfg
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := New("scripted", d, &c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil && !errors.Is(err, errDown) {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// listener keeps the snapshots that a watch was told.
type listener struct {
	mu  sync.Mutex
	all []*Snapshot
}

func (e *listener) take(s *Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, s)
}

func (e *listener) last() *Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.all) == 0 {
		return nil
	}
	return e.all[len(e.all)-1]
}

func (e *listener) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all)
}

func ids(s *Snapshot) string {
	if s == nil {
		return "nothing"
	}
	var out []string
	for _, i := range s.Instances {
		out = append(out, i.ID)
	}
	return fmt.Sprint(out)
}
