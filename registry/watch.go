package registry

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// debounce is the least time between two snapshots of a service: a deployment
	// changes a list many times in a second.
	debounce = 100 * time.Millisecond
	// cacheAfter is how long a registry may take for its first answer before the
	// list on disk is used.
	cacheAfter = 50 * time.Millisecond
	// cacheDoubts is how old a list on the disk may be to be held against a registry
	// that has lost most of it: servers may still be on their way back to it.
	cacheDoubts = time.Hour
)

// topic is the list of one service, for all that watch it.
type topic struct {
	r         *Registry
	service   string
	cancel    context.CancelFunc
	wake      chan struct{} // holds one when there is something to do
	confirmed atomic.Int64  // when the registry last confirmed the list

	mu      sync.Mutex
	list    *List // what the registry said last; nil: nothing yet
	fresh   bool  // it has not been looked at
	failed  error // why the registry cannot be watched now
	lost    bool  // it was logged that it does not answer
	back    bool  // the list that has not been looked at is the first after a failure
	watches map[*watch]struct{}

	// What follows belongs to the goroutine that delivers.
	accepted  accepted
	loaded    bool // the list on the disk has been asked for
	cached    bool // the accepted list is from the disk
	cachedAge time.Duration
	invalid   []Invalid
	last      *Snapshot
	lastTime  time.Time // of the last delivery
	saved     time.Time // when the list was last written to the disk
	unsaved   bool      // it has changed since
	again     time.Time // when to look at the list again; zero: not before it changes
	started   time.Time
}

// watch is one function that is told.
type watch struct {
	f    func(*Snapshot)
	told *Snapshot

	mu      sync.Mutex // held while f runs
	stopped bool
}

// Watch calls f with what is known of the instances of a service: as soon as the
// registry has said something, or the list on the disk has been read, or it is
// known that the registry cannot be reached; and then whenever that changes, at most
// ten times a second. It calls f from one goroutine at a time, which f must not hold
// up. After stop has returned, f is not called; stop must not be called by f.
//
// All watches of a service share one of the registry's.
func (r *Registry) Watch(service string, f func(*Snapshot)) (stop func()) {
	w := &watch{f: f}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return func() {}
	}
	t := r.topics[service]
	if t == nil {
		t = &topic{
			r: r, service: service, wake: make(chan struct{}, 1), watches: make(map[*watch]struct{}),
			accepted: accepted{protect: r.cfg.Protect}, started: time.Now(),
		}
		ctx, cancel := context.WithCancel(r.life)
		t.cancel = cancel
		r.topics[service] = t
		r.wg.Add(2)
		// This goroutine and the next end when the last watch is stopped or the registry
		// is closed, which waits for them.
		go t.listen(ctx)
		go t.deliver(ctx)
	}
	t.mu.Lock()
	t.watches[w] = struct{}{}
	t.mu.Unlock()
	t.wakeUp()
	return func() { t.stop(w) }
}

// stop ends one watch, and the topic with the last one.
func (t *topic) stop(w *watch) {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watches, w)
	if len(t.watches) == 0 && t.r.topics[t.service] == t {
		delete(t.r.topics, t.service)
		t.cancel()
	}
}

func (t *topic) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// listen watches the registry for as long as the topic lives.
func (t *topic) listen(ctx context.Context) {
	defer t.r.wg.Done()
	failures := 0
	for ctx.Err() == nil {
		answered := false
		err := t.r.driver.Watch(ctx, t.service, func(list List) {
			answered = true
			t.answer(list)
		})
		if ctx.Err() != nil {
			return
		}
		if answered {
			failures = 0
		}
		failures++
		t.fail(err)
		t.r.pauseWatch(ctx, failures)
	}
}

// answer takes a list of the registry.
func (t *topic) answer(list List) {
	list.Instances = sorted(list.Instances)
	age := t.age()
	t.confirmed.Store(time.Now().UnixNano())
	t.mu.Lock()
	back := t.failed != nil && t.lost
	t.back = t.back || t.failed != nil
	t.list, t.fresh, t.failed, t.lost = &list, true, nil, false
	t.mu.Unlock()
	if back {
		t.r.tellBack("the registry is back", "service", t.service, "instances", len(list.Instances), "age", age)
	}
	t.wakeUp()
}

// age is the time since the registry has confirmed the list, in seconds; 0: it never did.
func (t *topic) age() time.Duration {
	at := t.confirmed.Load()
	if at == 0 {
		return 0
	}
	return max(0, time.Since(time.Unix(0, at))).Round(time.Second)
}

// fail notes that the registry does not answer.
func (t *topic) fail(err error) {
	t.mu.Lock()
	t.failed = err
	t.mu.Unlock()
	t.wakeUp()
}

// tellFailed logs that the registry does not answer, once the list on the disk has been looked for: it says whether there is a list.
func (t *topic) tellFailed() {
	t.mu.Lock()
	failed := t.failed
	tell := failed != nil && !t.lost
	t.lost = t.lost || tell
	t.mu.Unlock()
	switch {
	case tell && t.accepted.any:
		t.r.tellLost("the registry does not answer; the last good list stays", "service", t.service, "age", t.age(), "error", failed)
	case tell:
		t.r.tellLost("the registry does not answer, and no list is known", "service", t.service, "error", failed)
	}
}

// deliver makes snapshots of what the registry answers and hands them out.
func (t *topic) deliver(ctx context.Context) {
	defer t.r.wg.Done()
	timer := time.NewTimer(cacheAfter)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		}
		now := time.Now()
		if wait := t.lastTime.Add(debounce).Sub(now); wait > 0 && t.last != nil {
			// What comes within the time is delivered together, but a new watch is told
			// at once.
			t.tell(t.last)
			timer.Reset(wait)
			continue
		}
		s := t.snapshot(now)
		if s != nil && !s.same(t.last) {
			t.last, t.lastTime, t.unsaved = s, now, true
		}
		t.tell(t.last)
		t.save(now) // behind tell, which a slow disk must not hold up
		timer.Reset(t.next(now))
	}
}

// next is how long there is nothing to do unless the registry answers.
func (t *topic) next(now time.Time) time.Duration {
	next := saveEvery
	if t.last == nil {
		next = cacheAfter
	}
	if !t.again.IsZero() {
		next = min(next, max(t.again.Sub(now), time.Millisecond))
	}
	if t.vouched() {
		next = min(next, max(t.saveAt().Sub(now), time.Millisecond))
	}
	return next
}

// snapshot makes a snapshot of what is known now; nil: nothing is.
func (t *topic) snapshot(now time.Time) *Snapshot {
	t.mu.Lock()
	list, fresh, back, failed := t.list, t.fresh, t.back, t.failed
	t.fresh, t.back = false, false
	t.mu.Unlock()
	due := failed == nil && !t.again.IsZero() && !now.Before(t.again)
	if list != nil && len(list.Instances) == 0 && !t.accepted.any {
		t.load() // a registry that has just lost its data answers, too
	}
	if back {
		t.accepted.restart(now)
	}
	if list != nil && (fresh || due) {
		t.accept(*list, now)
	}
	if failed != nil {
		// A registry that is away confirms nothing, however long it takes.
		t.again = time.Time{}
	}
	if list == nil && !t.accepted.any && (failed != nil || now.Sub(t.started) >= cacheAfter) {
		t.load()
	}
	t.tellFailed()
	if !t.accepted.any && failed == nil {
		return nil
	}
	s := &Snapshot{
		Service: t.service, Instances: t.accepted.instances, Kept: t.accepted.kept(), Invalid: t.invalid,
		Source: t.r.name, Revision: t.accepted.revision, Err: failed, confirmed: &t.confirmed,
	}
	if t.cached {
		s.Source = "cache of " + t.r.name
	}
	return s
}

// accept uses a list, or as much of it as is accepted.
func (t *topic) accept(list List, now time.Time) {
	if t.cached && len(list.Instances) > 0 && t.cachedAge > cacheDoubts {
		// What was on the disk was a stopgap.
		t.accepted = accepted{protect: t.accepted.protect}
	}
	t.cached = false
	trusted := t.accepted.asSent()
	t.again = t.accepted.take(list, now)
	t.tellInvalid(list.Invalid)
	t.invalid = list.Invalid
	switch {
	case trusted && !t.again.IsZero():
		t.r.cfg.Logger.Warn("the list of the registry is not accepted yet", "service", t.service, "why", t.accepted.why,
			"has", len(list.Instances), "used", len(t.accepted.instances), "for", t.r.cfg.Protect)
	case !trusted && t.again.IsZero():
		t.r.cfg.Logger.Info("the list of the registry is accepted again", "service", t.service, "has", len(list.Instances))
	}
}

// tellInvalid logs the first of the entries that cannot be used and were not among them before, and that there is none any more.
func (t *topic) tellInvalid(invalid []Invalid) {
	if slices.EqualFunc(invalid, t.invalid, Invalid.same) {
		return // as most often: the registry has confirmed the list
	}
	fresh := slices.IndexFunc(invalid, func(i Invalid) bool { return !slices.ContainsFunc(t.invalid, i.same) })
	switch {
	case fresh >= 0:
		t.r.tellInvalid(slog.LevelWarn, "the registry has entries that cannot be used", "service", t.service, "entries", len(invalid),
			"entry", invalid[fresh].ID, "error", invalid[fresh].Err)
	case len(invalid) == 0 && len(t.invalid) > 0:
		t.r.tellInvalid(slog.LevelInfo, "all entries of the registry can be used again", "service", t.service)
	}
}

// tell hands a snapshot to every watch that does not have it.
func (t *topic) tell(s *Snapshot) {
	if s == nil {
		return
	}
	t.mu.Lock()
	var late []*watch
	for w := range t.watches {
		if w.told != s {
			late = append(late, w)
		}
	}
	t.mu.Unlock()
	for _, w := range late {
		w.told = s
		w.mu.Lock()
		if !w.stopped {
			w.f(s)
		}
		w.mu.Unlock()
	}
}

// load takes the list on the disk, if there is one. It looks only once.
func (t *topic) load() {
	if t.loaded {
		return
	}
	t.loaded = true
	instances, confirmed, err := t.r.cache().loadList(t.service)
	if err != nil {
		t.r.cfg.Logger.Warn("the cached list cannot be used", "service", t.service, "error", err)
	}
	if len(instances) == 0 {
		return
	}
	t.accepted.instances, t.accepted.any, t.cached, t.cachedAge = sorted(instances), true, true, time.Since(confirmed)
	t.confirmed.Store(confirmed.UnixNano())
	t.r.cfg.Logger.Warn("the registry does not answer; the list of the cache is used", "service", t.service,
		"instances", len(instances), "age", time.Since(confirmed).Round(time.Second))
}

const (
	// saveEvery is the longest time that the cache says an older time of the last
	// confirmation than is true.
	saveEvery = 5 * time.Minute
	// saveChanges is the least time between two lists that are written to the disk.
	saveChanges = 5 * time.Second
)

// vouched reports whether the list is one that the registry vouches for, and worth
// having on the disk.
func (t *topic) vouched() bool {
	return !t.cached && t.accepted.any && len(t.accepted.instances) > 0 && t.accepted.asSent()
}

// saveAt is when to write the list to the disk; the zero time: it never was.
func (t *topic) saveAt() time.Time {
	switch {
	case t.saved.IsZero():
		return time.Time{}
	case t.unsaved:
		return t.saved.Add(saveChanges)
	}
	return t.saved.Add(saveEvery)
}

// save writes the list to the disk, if the registry vouches for it and it is time.
func (t *topic) save(now time.Time) {
	if !t.vouched() || now.Before(t.saveAt()) {
		return
	}
	t.saved, t.unsaved = now, false
	if err := t.r.cache().saveList(t.service, t.accepted.instances, time.Unix(0, t.confirmed.Load())); err != nil {
		t.r.tellUncached(err, "the list cannot be cached", "service", t.service)
	}
}
