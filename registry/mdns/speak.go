package mdns

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft/registry"
)

const (
	// repeats is how often a change is announced after the first time: one second
	// later, and two seconds after that.
	repeats = 2
	// spacing is the least time between two answers with the same record (RFC 6762,
	// section 6).
	spacing = time.Second
	// A server that is asked waits for a random time, so that not all answer at once.
	leastDelay, mostDelay = 20 * time.Millisecond, 120 * time.Millisecond
	// A long list is not sent faster than this, so that receivers can follow.
	burst, burstEvery = 16, 10 * time.Millisecond
	// echoWait is how long the own announcement is waited for at most. It takes less than a
	// millisecond, unless it is lost or this process does not get to run.
	echoWait = time.Second
)

// published is a record that this driver has published, or withdrawn.
type published struct {
	record
	gone    bool      // it was withdrawn, and that is still repeated
	expires time.Time // without another Refresh
	sent    time.Time // when it was last announced
	due     time.Time // when it is to be announced; zero: not before a client asks
	repeats int       // how often it is announced without a question

	// back says that its announcement came back. All machines receive everything in
	// the same order, so what another server says of the same instance counts if it
	// arrives later than that, and is outdated if it arrives earlier.
	back bool
	echo chan struct{} // closed when it comes back the next time; nil: nothing waits
	// withdrawn says that another speaker has withdrawn it.
	withdrawn bool
}

// publishLocked announces a record as the latest of its instance.
func (d *driver) publishLocked(r record, ttl time.Duration) error {
	d.version++
	r.writer, r.version = d.id, d.version
	p := &published{record: r, expires: time.Now().Add(ttl), repeats: repeats}
	if err := d.announceLocked(p); err != nil {
		return err
	}
	d.own[r.label] = p
	return nil
}

// withdrawLocked announces the end of an instance, also of one of another server.
func (d *driver) withdrawLocked(r record) error {
	if old := d.own[r.label]; old != nil {
		r = old.record
		delete(d.own, r.label)
	}
	d.version++
	r.writer, r.version = d.id, d.version
	p := &published{record: r, gone: true, expires: time.Now().Add(time.Minute), repeats: repeats}
	if err := d.announceLocked(p); err != nil {
		return err
	}
	d.own[r.label] = p
	return nil
}

// renewLocked announces a published record, and returns what is closed when it comes back.
func (d *driver) renewLocked(label string, ttl time.Duration) (*published, <-chan struct{}, error) {
	now := time.Now()
	p := d.own[label]
	if p == nil || p.gone || !now.Before(p.expires) {
		return nil, nil, registry.ErrLost
	}
	p.expires = now.Add(ttl)
	if p.echo == nil {
		p.echo = make(chan struct{})
	}
	return p, p.echo, d.announceLocked(p)
}

// confirmLocked reports whether a record that was renewed is still published.
func (d *driver) confirmLocked(p *published) error {
	switch {
	case d.own[p.label] == p:
		return nil
	case p.withdrawn && d.own[p.label] == nil:
		// The announcement came after the goodbye and has undone it.
		return errors.Join(registry.ErrLost, d.withdrawLocked(p.record))
	}
	return registry.ErrLost
}

// announceLocked sends a record now.
func (d *driver) announceLocked(p *published) error {
	now := time.Now()
	message, err := response([]record{p.record}, []uint32{p.ttl(now)})
	if err == nil {
		err = d.sendLocked(message)
	}
	if err == nil {
		p.wasSent(now)
		d.wakeLocked()
	}
	return err
}

// ttl is for how many seconds a record is good: no less than it is published for.
func (p *published) ttl(now time.Time) uint32 {
	if p.gone {
		return 0
	}
	left := min(p.expires.Sub(now), maxTTL)
	return uint32(max(1, (left+time.Second-1)/time.Second))
}

// wasSent notes when a record is to be announced again: the time doubles.
func (p *published) wasSent(now time.Time) {
	p.sent, p.due = now, time.Time{}
	if p.repeats > 0 {
		p.due = now.Add(spacing << (repeats - p.repeats))
		p.repeats--
	}
}

// wakeLocked tells the speaker to look what is due.
func (d *driver) wakeLocked() {
	select {
	case d.session.wake <- struct{}{}:
	default:
	}
}

// askedLocked notes which records answer a query.
func (d *driver) askedLocked(m message) {
	if len(m.questions) == 0 {
		return
	}
	now := time.Now()
	for _, p := range d.own {
		// What the asker knows for at least half of its time is not repeated.
		known := m.known[p.label]
		if p.gone || known > 0 && known >= p.ttl(now)/2 || !p.answers(m.questions) {
			continue
		}
		at := now.Add(leastDelay + rand.N(mostDelay-leastDelay))
		if again := p.sent.Add(spacing); at.Before(again) {
			at = again
		}
		if p.due.IsZero() || at.Before(p.due) {
			p.due = at
		}
	}
	d.wakeLocked()
}

// compareLocked holds what is said against what this driver has published: another speaker
// may have replaced or withdrawn it.
func (d *driver) compareLocked(r record, ttl time.Duration) {
	p := d.own[r.label]
	switch {
	case p == nil:
	case r.writer == d.id:
		p.back = p.back || r.version == p.version
		if p.echo != nil && r.version == p.version {
			close(p.echo)
			p.echo = nil
		}
	case p.back && (p.gone != (ttl == 0) || string(p.value) != string(r.value)):
		p.withdrawn = ttl == 0
		delete(d.own, r.label)
	}
}

// speak announces what is due, for as long as the session lasts.
func (d *driver) speak(s *session) {
	defer d.wg.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-s.wake:
		case <-timer.C:
		}
		d.mu.Lock()
		wait := time.Hour
		if d.session == s {
			wait = d.speakUpLocked(time.Now())
		}
		d.mu.Unlock()
		timer.Reset(wait)
	}
}

// speakUpLocked announces what is due, as much as receivers can take at once, and returns
// when to look again.
func (d *driver) speakUpLocked(now time.Time) time.Duration {
	var due []*published
	for label, p := range d.own {
		switch {
		case !now.Before(p.expires), p.gone && p.due.IsZero():
			delete(d.own, label) // it was not refreshed, or its end was announced
		case !p.due.IsZero() && !now.Before(p.due):
			due = append(due, p)
		}
	}
	for range burst {
		if len(due) == 0 {
			break
		}
		due = due[d.speakOneLocked(due, now):]
	}
	next := now.Add(time.Hour)
	if len(due) > 0 {
		next = now.Add(burstEvery)
	}
	for _, p := range d.own {
		if p.expires.Before(next) {
			next = p.expires
		}
		if !p.due.IsZero() && p.due.After(now) && p.due.Before(next) {
			next = p.due
		}
	}
	return max(next.Sub(now), time.Millisecond)
}

// speakOneLocked announces as many records as fit in a usual packet, at least one, and
// returns how many.
func (d *driver) speakOneLocked(due []*published, now time.Time) int {
	var records []record
	var ttls []uint32
	var packed []byte
	n := 0
	for n < len(due) {
		records, ttls = append(records, due[n].record), append(ttls, due[n].ttl(now))
		longer, err := response(records, ttls)
		if n > 0 && (err != nil || len(longer) > usualPacket) {
			break
		}
		packed = longer
		n++
	}
	// When it cannot be sent now, Refresh of the records returns why.
	_ = d.sendLocked(packed)
	for _, p := range due[:n] {
		p.wasSent(now)
	}
	return n
}
