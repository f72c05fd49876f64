package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Store is what registries keep in memory. Its methods may be called at the same
// time. It needs no Close: it has no goroutines, and what has expired is dropped when
// the service is read.
type Store struct {
	mu        sync.Mutex
	revision  uint64 // grows with every change
	services  map[string]*service
	documents map[string]registry.Document
	changed   chan struct{} // closed at the next change
}

// service is the instances of one service, at least one.
type service struct {
	entries  map[string]entry // by ID
	revision uint64           // of the last change
}

type entry struct {
	instance weft.Instance
	expires  time.Time
}

// NewStore makes an empty store.
func NewStore() *Store {
	return &Store{
		services:  make(map[string]*service),
		documents: make(map[string]registry.Document),
		changed:   make(chan struct{}),
	}
}

// changeLocked counts a change and wakes all watches, of which a small program has few.
func (s *Store) changeLocked() uint64 {
	s.revision++
	close(s.changed)
	s.changed = make(chan struct{})
	return s.revision
}

// liveLocked returns the entries of a service that have not expired, after it has dropped
// the others; nil: there are none.
func (s *Store) liveLocked(name string, now time.Time) *service {
	v := s.services[name]
	if v == nil {
		return nil
	}
	had := len(v.entries)
	maps.DeleteFunc(v.entries, func(_ string, e entry) bool { return !now.Before(e.expires) })
	if len(v.entries) != had {
		v.revision = s.changeLocked()
	}
	if len(v.entries) == 0 {
		delete(s.services, name)
		return nil
	}
	return v
}

func (s *Store) put(i weft.Instance, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	v := s.liveLocked(i.Service, now)
	if v == nil {
		v = &service{entries: make(map[string]entry)}
		s.services[i.Service] = v
	}
	v.entries[i.ID] = entry{i.Clone(), now.Add(ttl)}
	v.revision = s.changeLocked()
}

// refresh reports whether there was anything to refresh.
func (s *Store) refresh(name, id string, ttl time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	v := s.liveLocked(name, now)
	if v == nil {
		return false
	}
	e, ok := v.entries[id]
	if ok {
		v.entries[id] = entry{e.instance, now.Add(ttl)}
	}
	return ok
}

func (s *Store) delete(name, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.liveLocked(name, time.Now())
	if v == nil {
		return
	}
	if _, ok := v.entries[id]; !ok {
		return
	}
	delete(v.entries, id)
	v.revision = s.changeLocked()
	if len(v.entries) == 0 {
		delete(s.services, name)
	}
}

// view is a service at a moment.
type view struct {
	list     registry.List
	revision uint64          // of the last change of this service; 0: it has no instances
	expires  time.Time       // when the next instance does; zero: none
	changed  <-chan struct{} // closed at the next change of the store
}

func (s *Store) view(name string) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	var w view
	if v := s.liveLocked(name, time.Now()); v != nil {
		w.revision = v.revision
		for _, id := range slices.Sorted(maps.Keys(v.entries)) {
			e := v.entries[id]
			if err := e.instance.Check(); err != nil {
				w.list.Invalid = append(w.list.Invalid, registry.Invalid{ID: id, Err: err})
			} else {
				w.list.Instances = append(w.list.Instances, e.instance.Clone())
			}
		}
		w.expires = slices.MinFunc(slices.Collect(maps.Values(v.entries)), func(a, b entry) int {
			return a.expires.Compare(b.expires)
		}).expires
	}
	w.list.Revision, w.changed = s.revision, s.changed
	return w
}

// load returns a copy of a document, and what is closed at the next change of the
// store.
func (s *Store) load(name string) (registry.Document, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[name]
	d.Value = slices.Clone(d.Value)
	return d, s.changed
}

func (s *Store) store(name string, value []byte, version uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents[name].Version != version {
		return registry.ErrConflict
	}
	s.documents[name] = registry.Document{Value: slices.Clone(value), Version: s.changeLocked()}
	return nil
}
