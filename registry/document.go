package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Documents is implemented by drivers whose registries also keep documents: named
// values without an end, such as the rules of a service.
type Documents interface {
	// Load returns a document as it is now; the zero Document if there is none.
	Load(ctx context.Context, name string) (Document, error)

	// Store replaces a document whose version is still the given one, 0 if there
	// must be none yet; otherwise it returns ErrConflict and changes nothing.
	Store(ctx context.Context, name string, value []byte, version uint64) error

	// WatchDocument calls emit with a document, first as it is, the zero Document if
	// there is none, and then whenever it has changed. In all else it is like
	// Driver.Watch.
	WatchDocument(ctx context.Context, name string, emit func(Document)) error
}

// Document is a value that a registry keeps until it is replaced.
type Document struct {
	Value   []byte
	Version uint64 // another one after every change; 0: there is no such document
}

// MaxDocument is how many bytes a document can have.
const MaxDocument = 256 << 10

// ErrConflict is what Store returns when somebody else was faster.
var ErrConflict = errors.New("registry: the document has changed meanwhile; load it again")

// ErrNoDocuments is what documents of a registry that cannot keep any end with.
var ErrNoDocuments = errors.New("registry: this registry keeps no documents")

func errTooLong(name string, size int) error {
	return fmt.Errorf("registry: document %q has %d bytes, at most %d are allowed", name, size, MaxDocument)
}

// Load returns a document as the registry has it now; the zero Document if there is
// none.
func (r *Registry) Load(ctx context.Context, name string) (Document, error) {
	d, ok := r.driver.(Documents)
	if !ok {
		return Document{}, ErrNoDocuments
	}
	return d.Load(ctx, name)
}

// Store replaces a document whose version is still the given one, 0 if there must
// be none yet; otherwise it returns ErrConflict.
func (r *Registry) Store(ctx context.Context, name string, value []byte, version uint64) error {
	d, ok := r.driver.(Documents)
	if !ok {
		return ErrNoDocuments
	}
	if len(value) > MaxDocument {
		return errTooLong(name, len(value))
	}
	return d.Store(ctx, name, value, version)
}

// WatchDocument calls f with a document as soon as it is known, the zero Document
// if there is none, and whenever it changes. While the registry cannot be reached,
// f gets the document as it was last known, at the start as it is on the disk, with
// the error. Of a registry that keeps no documents it gets ErrNoDocuments, once. It calls
// f from one goroutine at a time, which f must not hold up. After stop has returned, f is
// not called; stop must not be called by f.
func (r *Registry) WatchDocument(name string, f func(Document, error)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	driver, ok := r.driver.(Documents)
	if r.closed {
		return func() {}
	}
	ctx, cancel := context.WithCancel(r.life)
	w := &documentWatch{r: r, name: name, f: f}
	r.wg.Add(1)
	// It ends when the watch is stopped or the registry is closed.
	go func() {
		defer r.wg.Done()
		if ok {
			w.listen(ctx, driver)
		} else {
			w.none()
		}
	}()
	return func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stopped = true
	}
}

// documentWatch is one function that is told of one document.
type documentWatch struct {
	r    *Registry
	name string
	f    func(Document, error)

	mu      sync.Mutex // held while f runs
	stopped bool
	last    Document
	told    bool
	failed  bool
}

func (w *documentWatch) listen(ctx context.Context, driver Documents) {
	failures := 0
	for ctx.Err() == nil {
		answered := false
		err := driver.WatchDocument(ctx, w.name, func(d Document) {
			answered = true
			w.hear(d)
		})
		if ctx.Err() != nil {
			return
		}
		if answered {
			failures = 0
		}
		failures++
		w.lose(err)
		w.r.pause(ctx, failures, nil)
	}
}

// none tells that the registry keeps no documents.
func (w *documentWatch) none() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.f(Document{}, ErrNoDocuments)
	}
}

// hear takes what the registry says.
func (w *documentWatch) hear(d Document) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.told && !w.failed && d.Version == w.last.Version {
		return
	}
	w.last, w.told, w.failed = d, true, false
	if err := w.r.cache().saveDocument(w.name, d); err != nil {
		w.r.cfg.Log.Warn("the document cannot be cached", "document", w.name, "error", err)
	}
	w.f(d, nil)
}

// lose notes that the registry does not answer.
func (w *documentWatch) lose(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.failed {
		return
	}
	if !w.told {
		cached, cacheErr := w.r.cache().loadDocument(w.name)
		if cacheErr != nil {
			err = errors.Join(err, cacheErr)
		} else {
			w.last = cached
		}
	}
	w.told, w.failed = true, true
	w.r.cfg.Log.Warn("the registry does not answer; the last good document stays", "document", w.name, "error", err)
	w.f(w.last, err)
}
