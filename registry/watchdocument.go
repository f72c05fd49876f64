package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// WatchDocument calls f with a document as soon as it is known, the zero Document
// if there is none, and whenever it changes. While the registry does not answer, f
// gets the document as it was last known, at the start as it is on the disk, with the
// error; likewise for the time of Config.Protect when a document is gone, since a
// registry that has lost its data answers, too. What the registry answers goes before
// what is on the disk. Of a registry that keeps no documents f gets ErrNoDocuments,
// once.
//
// An error of f says that it cannot use the document. Such a document is not kept on
// the disk. If f could use none before, it is called again with the one on the disk,
// or the zero Document if there is none, and an error that is ErrUnusable.
//
// f is called from one goroutine at a time, which it must not hold up. After stop has
// returned, f is not called; stop must not be called by f.
func (r *Registry) WatchDocument(name string, f func(Document, error) error) (stop func()) {
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
			w.follow(ctx, driver)
		} else {
			w.unsupported()
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

// ErrUnusable comes with what is used in place of a document that the function of the
// watch cannot use.
var ErrUnusable = errors.New("registry: the document in the registry cannot be used")

// documentWatch is one function that is told of one document.
type documentWatch struct {
	r    *Registry
	name string
	f    func(Document, error) error

	mu      sync.Mutex // held while f runs
	stopped bool
	told    bool        // f was called
	away    bool        // the registry does not answer
	last    Document    // what the registry last answered
	used    Document    // the last document that f could use
	good    bool        // there is such a document, or f knows that there is none
	looked  bool        // for the document on the disk
	gone    *time.Timer // runs while the document is gone and used all the same

	disk sync.Mutex // held while it is written
}

func (w *documentWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.stopTimerLocked()
}

// stopTimerLocked ends the time for which a document that is gone is used.
func (w *documentWatch) stopTimerLocked() {
	if w.gone != nil {
		w.gone.Stop()
		w.gone = nil
	}
}

// follow watches the registry until ctx ends.
func (w *documentWatch) follow(ctx context.Context, driver Documents) {
	failures := 0
	for ctx.Err() == nil {
		answered := false
		err := driver.WatchDocument(ctx, w.name, func(d Document) {
			answered = true
			w.answer(d)
		})
		if ctx.Err() != nil {
			return
		}
		if answered {
			failures = 0
		}
		failures++
		w.fail(err)
		w.r.pauseWatch(ctx, failures)
	}
}

// unsupported tells that the registry keeps no documents.
func (w *documentWatch) unsupported() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		_ = w.f(Document{}, ErrNoDocuments) // there is nothing that f could not use
	}
}

// errGone comes with a document that the registry had and does not have any more.
var errGone = errors.New("registry: the document is gone; it is kept for a while, since the registry may have lost its data")

// answer takes what the registry answers.
func (w *documentWatch) answer(d Document) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.told && !w.away && w.gone == nil && d.Version == w.last.Version {
		return
	}
	if w.away {
		w.r.tellBack("the registry is back", "document", w.name, "registry_revision", d.Version)
	}
	if d.Version == 0 && w.last.Version != 0 && w.r.cfg.Protect > 0 {
		w.keepLocked()
		return
	}
	w.stopTimerLocked()
	w.useLocked(d)
}

// keepLocked keeps a document that is gone.
func (w *documentWatch) keepLocked() {
	if w.gone != nil {
		return
	}
	w.r.cfg.Logger.Warn("the document is gone from the registry; the last good one stays for now",
		"document", w.name, "registry_revision", w.used.Version, "for", w.r.cfg.Protect)
	var timer *time.Timer
	timer = time.AfterFunc(w.r.cfg.Protect, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.gone != timer {
			return // it came back, the registry is away, or the watch has ended
		}
		w.gone = nil
		w.r.cfg.Logger.Warn("the document is gone, and no longer used", "document", w.name)
		w.useLocked(Document{})
	})
	w.gone = timer
	w.told, w.away = true, false
	w.recallLocked(errGone)
}

// useLocked hands a document of the registry on, and keeps it on the disk if f can use
// it: in this order, since a disk may be slow. In place of the first one, if f cannot
// use it, f gets the one on the disk.
func (w *documentWatch) useLocked(d Document) {
	w.last, w.told, w.away = d, true, false
	err := w.f(d, nil)
	if err == nil {
		w.used, w.good = d, true
		w.r.wg.Go(func() { w.save(d) })
		return
	}
	if w.good {
		return
	}
	if cacheErr := w.readDiskLocked(); cacheErr != nil {
		w.r.cfg.Logger.Warn("the cached document cannot be used", "document", w.name, "error", cacheErr)
	}
	if w.used.Version != 0 {
		w.r.cfg.Logger.Warn("the document in the registry cannot be used; the last good one of the cache is",
			"document", w.name, "registry_revision", d.Version, "cached", w.used.Version, "error", err)
	}
	w.recallLocked(fmt.Errorf("%w: %w", ErrUnusable, err))
}

// save writes a document to the disk, unless there is a newer one.
func (w *documentWatch) save(d Document) {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.mu.Lock()
	newest := w.used.Version == d.Version
	w.mu.Unlock()
	if !newest {
		return
	}
	if err := w.r.cache().saveDocument(w.name, d); err != nil {
		w.r.tellUncached(err, "the document cannot be cached", "document", w.name)
	}
}

// readDiskLocked takes the document on the disk if f could use none before. It looks
// once.
func (w *documentWatch) readDiskLocked() error {
	if w.good || w.looked {
		return nil
	}
	w.looked = true
	cached, err := w.r.cache().loadDocument(w.name)
	if err == nil {
		w.used = cached
	}
	return err
}

// fail notes that the registry does not answer.
func (w *documentWatch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.away {
		return
	}
	w.stopTimerLocked() // a registry that is away confirms nothing, however long it takes
	if cacheErr := w.readDiskLocked(); cacheErr != nil {
		err = errors.Join(err, cacheErr)
	}
	w.told, w.away = true, true
	if w.used.Version != 0 {
		w.r.tellLost("the registry does not answer; the last good document stays", "document", w.name, "error", err)
	} else {
		w.r.tellLost("the registry does not answer, and no document is known", "document", w.name, "error", err)
	}
	w.recallLocked(err)
}

// recallLocked gives f the last document that it could use, or the one on the disk, or
// the zero Document.
func (w *documentWatch) recallLocked(why error) {
	if w.f(w.used, why) == nil {
		w.good = w.good || w.used.Version != 0
		return
	}
	w.r.cfg.Logger.Warn("the cached document cannot be used either", "document", w.name, "registry_revision", w.used.Version)
	w.used = Document{}
	_ = w.f(w.used, why) // there is nothing that f could not use
}
