package registrytest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// feed is a watch that runs, and all that it has emitted.
type feed[T any] struct {
	what     string
	patience time.Duration
	pulse    *pulse
	inspect  func(before *T, value T) string
	show     func(T) string
	keep     func(T) T // what is kept of a value that was emitted; nil: itself
	cancel   context.CancelFunc
	final    context.CancelFunc // from now on the watch does not begin anew
	ended    chan struct{}      // closed when the watch has returned

	mu      sync.Mutex
	emitted []emission[T]
	run     int           // the watch that runs: it has begun anew so often
	excused int           // how many of those that have ended by themselves had emitted something
	inside  bool          // emit runs
	err     error         // what it returned
	wrong   string        // the first promise it broke
	news    chan struct{} // closed at every change
}

// emission is one value with the time of its arrival.
type emission[T any] struct {
	value T
	at    time.Time
	run   int // the watch that emitted it
}

// maxExcused is how often at most a watch that had worked may end because the machine or
// the registry stood still. A standstill ends a watch once.
const maxExcused = 20

// start runs a watch until the end of the test, which then fails if the watch does
// not return, or has broken a promise. A watch that ends because the machine or the
// registry stands still is begun anew, maxExcused times.
func start[T any](t *testing.T, f *feed[T], watch func(ctx context.Context, emit func(T)) error) *feed[T] {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	again, final := context.WithCancel(ctx)
	f.cancel, f.final, f.ended, f.news = cancel, final, make(chan struct{}), make(chan struct{})
	// It ends with the watch, for which the cleanup waits.
	go func() {
		defer final()
		for run := 0; ; run++ {
			err := watch(ctx, func(value T) { f.emit(run, value) })
			if f.returned(again, err) {
				return
			}
			select {
			case <-again.Done():
			case <-time.After(f.pulse.least / 5):
			}
		}
	}()
	t.Cleanup(func() {
		f.end(t)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.wrong != "" {
			t.Errorf("%s: %s", f.what, f.wrong)
		}
	})
	return f
}

// returned notes that a watch has returned, and reports whether that is the end: it is when
// again has ended, or when no standstill explains it.
func (f *feed[T]) returned(again context.Context, err error) bool {
	f.mu.Lock()
	if err == nil {
		f.blameLocked("it returned nil instead of an error")
	}
	worked := len(f.emitted) > 0 && f.emitted[len(f.emitted)-1].run == f.run
	f.run++
	f.mu.Unlock()
	explained := err != nil && again.Err() == nil && f.pulse.explains(again.Done())

	f.mu.Lock()
	defer f.mu.Unlock()
	if explained && worked {
		f.excused++
	}
	if explained && f.excused <= maxExcused {
		return false
	}
	if explained {
		err = fmt.Errorf("%w, %d times while the machine or the registry stood still: this is too slow for the test", err, f.excused)
	}
	f.err = err
	f.tellLocked()
	close(f.ended)
	return true
}

// end ends the context of the watch and waits for its return.
func (f *feed[T]) end(t *testing.T) {
	t.Helper()
	f.cancel()
	select {
	case <-f.ended:
	case <-time.After(f.patience):
		t.Errorf("%s did not return within %v of the end of its context", f.what, f.patience)
	}
}

func (f *feed[T]) emit(run int, value T) {
	f.mu.Lock()
	if f.inside {
		f.blameLocked("it called emit while emit ran")
	}
	f.inside = true
	f.mu.Unlock()
	time.Sleep(time.Millisecond) // gives a second call the time to show itself

	f.mu.Lock()
	defer f.mu.Unlock()
	f.inside = false
	if f.run != run {
		f.blameLocked("it called emit after it had returned")
	}
	var before *T
	if n := len(f.emitted); n > 0 {
		before = &f.emitted[n-1].value
	}
	if wrong := f.inspect(before, value); wrong != "" {
		f.blameLocked(wrong)
	}
	if f.keep != nil {
		value = f.keep(value)
	}
	f.emitted = append(f.emitted, emission[T]{value, time.Now(), run})
	f.tellLocked()
}

// blameLocked keeps the first broken promise.
func (f *feed[T]) blameLocked(wrong string) {
	if f.wrong == "" {
		f.wrong = wrong
	}
}

// tellLocked wakes all that wait.
func (f *feed[T]) tellLocked() {
	close(f.news)
	f.news = make(chan struct{})
}

// all returns what has been emitted.
func (f *feed[T]) all() []emission[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.emitted[:len(f.emitted):len(f.emitted)]
}

// confirmed reports whether the watch that emitted the value before has emitted another
// one, beside the first so many.
func (f *feed[T]) confirmed(had int) bool {
	all := f.all()
	n := len(all)
	return n > had && all[n-1].run == all[n-2].run
}

// change returns a channel that is closed at the next change.
func (f *feed[T]) change() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.news
}

// until waits until the last value is as wanted, for which lacks returns "", and
// otherwise what is wrong with it.
func (f *feed[T]) until(t *testing.T, within time.Duration, want string, lacks func(T) string) T {
	t.Helper()
	deadline := time.After(within + f.patience)
	for {
		news := f.change()
		all := f.all()
		problem := "it has emitted nothing"
		if n := len(all); n > 0 {
			problem = lacks(all[n-1].value)
			if problem == "" {
				return all[n-1].value
			}
		}
		select {
		case <-f.ended:
			t.Fatalf("%s returned %v, while the registry was there; want %s", f.what, f.err, want)
		case <-news:
		case <-deadline:
			t.Fatalf("%s: want %s within %v; it was not so after %v: %s%s", f.what, want, within, within+f.patience, problem, f.history())
		}
	}
}

// returns waits until the watch has returned by itself.
func (f *feed[T]) returns(t *testing.T, within time.Duration, why string) {
	t.Helper()
	f.final()
	select {
	case <-f.ended:
	case <-time.After(within + f.patience):
		t.Fatalf("%s did not return within %v, though %s", f.what, within+f.patience, why)
	}
}

// history shows the last few values.
func (f *feed[T]) history() string {
	all := f.all()
	text := fmt.Sprintf("; %d emitted", len(all))
	for _, e := range all[max(0, len(all)-3):] {
		text += "\n\t" + e.at.Format("15:04:05.000 ") + f.show(e.value)
	}
	return text
}

// watch watches a service until the end of the test.
func (s *suite) watch(t *testing.T, d registry.Driver, service string) *feed[registry.List] {
	t.Helper()
	return s.watchKeeping(t, d, service, nil)
}

func (s *suite) watchKeeping(t *testing.T, d registry.Driver, service string, keep func(registry.List) registry.List) *feed[registry.List] {
	t.Helper()
	f := &feed[registry.List]{
		what: fmt.Sprintf("Watch of %q", service), patience: s.patience, pulse: s.pulse,
		inspect: func(before *registry.List, list registry.List) string { return s.inspect(service, before, list) },
		show:    showList,
		keep:    keep,
	}
	return start(t, f, func(ctx context.Context, emit func(registry.List)) error { return d.Watch(ctx, service, emit) })
}

func showList(list registry.List) string {
	text := fmt.Sprintf("revision %d, %d instances", list.Revision, len(list.Instances))
	for _, i := range list.Instances[:min(len(list.Instances), 5)] {
		text += fmt.Sprintf(" %q", i.ID)
	}
	for _, i := range list.Invalid[:min(len(list.Invalid), 3)] {
		text += fmt.Sprintf(", invalid %q: %v", i.ID, i.Err)
	}
	return text
}

// sees waits until a watch shows exactly these instances.
func (s *suite) sees(t *testing.T, f *feed[registry.List], want ...weft.Instance) registry.List {
	t.Helper()
	return f.until(t, s.Settle, fmt.Sprintf("a list of %d instances", len(want)), func(list registry.List) string {
		return s.difference(list.Instances, want)
	})
}

// watchDocument watches a document until the end of the test.
func (s *suite) watchDocument(t *testing.T, d registry.Documents, name string) *feed[registry.Document] {
	t.Helper()
	f := &feed[registry.Document]{
		what: fmt.Sprintf("WatchDocument of %q", name), patience: s.patience, pulse: s.pulse,
		inspect: func(before *registry.Document, d registry.Document) string {
			if d.Version == 0 && len(d.Value) > 0 {
				return "it emitted a document with version 0"
			}
			if before != nil && before.Version == d.Version && string(before.Value) != string(d.Value) {
				return fmt.Sprintf("it emitted two values with version %d", d.Version)
			}
			return ""
		},
		show: func(d registry.Document) string { return fmt.Sprintf("version %d: %.60q", d.Version, d.Value) },
	}
	return start(t, f, func(ctx context.Context, emit func(registry.Document)) error { return d.WatchDocument(ctx, name, emit) })
}
