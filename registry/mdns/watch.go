package mdns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft/registry"
)

const (
	// gather is when a watch emits its first list: after two questions and the time
	// for their answers, of which one may have to wait for a second.
	gather = spacing + mostDelay + 130*time.Millisecond
	// settle is how long a change waits for others.
	settle = 20 * time.Millisecond
	// confirmEvery is after how long at most a list is emitted again.
	confirmEvery = 9 * time.Second
	// leastPause and mostPause are between two questions (RFC 6762, section 5.2).
	leastPause, mostPause = time.Second, time.Minute
	// maxAnnounced is how many instances of a service are kept.
	maxAnnounced = 1024
)

// watch is what is announced of one service. The mutex of its driver guards what is below
// it.
type watch struct {
	d       *driver
	service string
	label   string        // of the service
	changed chan struct{} // holds one when the list has changed

	session *session
	all     map[string]*announced // by label
	full    bool                  // there were too many
}

// announced is an instance as a server has announced it.
type announced struct {
	value   []byte
	ttl     time.Duration
	expires time.Time
}

// Watch listens for the instances of a service, and asks for them now and then.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	w := &watch{
		d: d, service: service, label: serviceLabel(service),
		changed: make(chan struct{}, 1), all: make(map[string]*announced),
	}
	d.mu.Lock()
	err := d.openLocked()
	if err == nil {
		w.session = d.session
		d.watches[w] = struct{}{}
	}
	d.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watches, w)
	}()
	return w.run(ctx, emit)
}

// run emits lists until ctx or the session ends.
func (w *watch) run(ctx context.Context, emit func(registry.List)) error {
	now := time.Now()
	t := timetable{ask: now, pause: leastPause, emit: now.Add(gather)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.session.done:
			return w.session.err
		case <-w.changed:
			t.change(time.Now())
		case <-timer.C:
		}
		now := time.Now()
		list, next, err := w.step(&t, now)
		if err != nil {
			return err
		}
		if list != nil {
			emit(*list)
		}
		timer.Reset(max(time.Until(next), time.Millisecond))
	}
}

// timetable is when a watch does what.
type timetable struct {
	ask   time.Time     // the next question
	asked time.Time     // the last one
	pause time.Duration // between the next question and the one after it
	emit  time.Time     // the next list
	began bool          // there was one
}

// change makes the next list come soon, if it is not the first.
func (t *timetable) change(now time.Time) {
	if soon := now.Add(settle); t.began && soon.Before(t.emit) {
		t.emit = soon
	}
}

// step does what is due, and returns the list to emit, if there is to be one, and when
// there is more to do.
func (w *watch) step(t *timetable, now time.Time) (*registry.List, time.Time, error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	renew, gone := w.age(now)
	if gone {
		t.change(now)
	}
	if again := t.asked.Add(leastPause); renew.Before(again) {
		renew = again
	}
	if !now.Before(t.ask) || !now.Before(renew) {
		if err := w.ask(now); err != nil {
			return nil, now, err
		}
		t.asked = now
		if !now.Before(t.ask) {
			t.ask, t.pause = now.Add(t.pause), min(2*t.pause, mostPause)
		}
		renew = now.Add(leastPause)
	}
	var list *registry.List
	if !now.Before(t.emit) {
		// No answer is an answer, if there is a network.
		if err := w.session.socket.look(); err != nil {
			return nil, now, err
		}
		list = w.listLocked()
		t.emit, t.began = now.Add(confirmEvery), true
	}
	next := t.emit
	for _, at := range []time.Time{t.ask, renew, w.nextEnd(next)} {
		if at.Before(next) {
			next = at
		}
	}
	return list, next, nil
}

// age forgets what has expired, and returns when to ask for what is about to.
func (w *watch) age(now time.Time) (renew time.Time, gone bool) {
	renew = now.Add(time.Hour)
	for label, h := range w.all {
		if !now.Before(h.expires) {
			delete(w.all, label)
			gone = true
		} else if at := h.expires.Add(-h.ttl / 5); at.Before(renew) {
			renew = at
		}
	}
	return renew, gone
}

// nextEnd returns when the first instance expires, if that is before a time.
func (w *watch) nextEnd(before time.Time) time.Time {
	for _, h := range w.all {
		if h.expires.Before(before) {
			before = h.expires
		}
	}
	return before
}

// ask asks for all instances but those that are known to be good for a while.
func (w *watch) ask(now time.Time) error {
	known := make(map[string]uint32)
	for label, h := range w.all {
		if left := h.expires.Sub(now); left > h.ttl/2 {
			known[label] = uint32(left / time.Second)
		}
	}
	message, err := query(w.service, known)
	if err != nil {
		return err
	}
	return w.d.sendLocked(message)
}

// takeLocked takes what a server announces.
func (w *watch) takeLocked(r record, ttl time.Duration) {
	if !isOf(w.label, r.label) {
		return
	}
	h := w.all[r.label]
	switch {
	case ttl == 0:
		if h == nil {
			return
		}
		delete(w.all, r.label)
	case h == nil && len(w.all) >= maxAnnounced:
		if w.full {
			return
		}
		w.full = true
	case h != nil && string(h.value) == string(r.value):
		h.ttl, h.expires = ttl, time.Now().Add(ttl)
		return
	default:
		w.all[r.label] = &announced{value: r.value, ttl: ttl, expires: time.Now().Add(ttl)}
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

var errFull = fmt.Errorf("mdns: more than %d instances are announced; the others are left out", maxAnnounced)

// listLocked makes a list of what was announced.
func (w *watch) listLocked() *registry.List {
	var list registry.List
	for _, label := range slices.Sorted(maps.Keys(w.all)) {
		value := w.all[label].value
		var key struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(value, &key)
		if err == nil && instanceLabel(w.service, key.ID) != label {
			err = errors.New("mdns: its name is not that of its service and ID")
		}
		if err != nil {
			list.Invalid = append(list.Invalid, registry.Invalid{ID: label, Err: err})
			continue
		}
		list.Add(w.service, key.ID, value)
	}
	if w.full {
		list.Invalid = append(list.Invalid, registry.Invalid{Err: errFull})
		w.full = false
	}
	return &list
}
