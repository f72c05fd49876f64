package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
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
// the error; likewise for the time of Config.Protect when the document is gone, since a
// registry that has lost its data answers, too. Of a registry that keeps no documents
// it gets ErrNoDocuments, once. It calls f from one goroutine at a time, which f must
// not hold up. After stop has returned, f is not called; stop must not be called by f.
func (r *Registry) WatchDocument(name string, f func(Document, error)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	driver, ok := r.driver.(Documents)
	if r.closed {
		return func() {}
	}
	ctx, cancel := context.WithCancel(r.life)
	w := &documentWatch{r: r, name: name, f: f}
	r.documents++
	r.wg.Add(1)
	// It ends when the watch is stopped or the registry is closed.
	go func() {
		defer r.wg.Done()
		if ok {
			w.listen(ctx, driver)
		} else {
			w.none()
		}
		w.stop()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.documents--
	}()
	return func() {
		cancel()
		w.stop()
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
	looked  bool        // for the document on the disk
	doubt   *time.Timer // runs while the document is gone and not yet believed to be

	disk sync.Mutex // held while it is written
}

func (w *documentWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.sure()
}

// sure ends a doubt. It is called with the lock held.
func (w *documentWatch) sure() {
	if w.doubt != nil {
		w.doubt.Stop()
		w.doubt = nil
	}
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
		w.r.pauseWatch(ctx, failures)
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

// errGone comes with a document that the registry had and does not have any more.
var errGone = errors.New("registry: the document is gone; it is kept for a while, since the registry may have lost its data")

// hear takes what the registry says.
func (w *documentWatch) hear(d Document) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.told && !w.failed && w.doubt == nil && d.Version == w.last.Version {
		return
	}
	if d.Version == 0 && w.r.cfg.Protect > 0 {
		if err := w.look(); err != nil {
			w.r.cfg.Logger.Warn("the cached document cannot be used", "document", w.name, "error", err)
		}
		if w.last.Version != 0 {
			w.miss()
			return
		}
	}
	w.sure()
	w.believe(d)
}

// miss keeps a document that is gone. It is called with the lock held.
func (w *documentWatch) miss() {
	if w.doubt != nil {
		return
	}
	w.r.cfg.Logger.Warn("the document is gone from the registry; the last good one stays for now",
		"document", w.name, "version", w.last.Version, "for", w.r.cfg.Protect)
	var timer *time.Timer
	timer = time.AfterFunc(w.r.cfg.Protect, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.doubt != timer {
			return // it came back, the registry is away, or nobody watches
		}
		w.doubt = nil
		w.r.cfg.Logger.Warn("the document is gone, and no longer used", "document", w.name)
		w.believe(Document{})
	})
	w.doubt = timer
	w.told, w.failed = true, false
	w.f(w.last, errGone)
}

// believe hands a document on, and keeps it on the disk: in this order, since a disk
// may be slow. It is called with the lock held.
func (w *documentWatch) believe(d Document) {
	w.last, w.told, w.failed = d, true, false
	w.f(d, nil)
	w.r.wg.Go(w.save)
}

// save writes the newest document to the disk.
func (w *documentWatch) save() {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	d := w.last
	w.mu.Unlock()
	if err := w.r.cache().saveDocument(w.name, d); err != nil {
		w.r.cfg.Logger.Warn("the document cannot be cached", "document", w.name, "error", err)
	}
}

// look takes the document on the disk if none is known yet. It is called with the lock
// held, and looks once.
func (w *documentWatch) look() error {
	if w.told || w.looked {
		return nil
	}
	w.looked = true
	cached, err := w.r.cache().loadDocument(w.name)
	if err == nil {
		w.last = cached
	}
	return err
}

// lose notes that the registry does not answer.
func (w *documentWatch) lose(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.failed {
		return
	}
	w.sure() // a registry that is away confirms nothing, however long it takes
	if cacheErr := w.look(); cacheErr != nil {
		err = errors.Join(err, cacheErr)
	}
	w.told, w.failed = true, true
	w.r.cfg.Logger.Warn("the registry does not answer; the last good document stays", "document", w.name, "error", err)
	w.f(w.last, err)
}
