package simulation

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// weather is how the bytes of a connection travel.
type weather struct {
	Delay, Jitter time.Duration // of a segment: Delay and a random part of Jitter
	Piece         int           // the longest segment; a write is cut into random ones up to it
	Buffer        int           // bytes under way before a write waits
}

// segment is bytes that arrive together.
type segment struct {
	sent, at time.Time // at is when they arrive
	data     []byte
}

// line is the bytes that travel one way of a connection.
type line struct {
	weather weather

	mu       sync.Mutex
	readable sync.Cond // there may be something to read, or a reason to give up
	writable sync.Cond // there may be room, or a reason to give up
	random   *rand.Rand
	segments []segment
	held     int           // bytes in segments
	last     time.Time     // when the last segment arrives
	sent     int64         // bytes since the connection began
	rate     int           // bytes a second; 0: no limit
	extra    time.Duration // by which segments arrive later
	writing  bool
	stalled  bool // nothing arrives
	ended    bool // the writing end has closed, or a fault has closed its direction
	unread   bool // the reading end has closed
	cut      bool

	reads, writes limit
	arrival       *time.Timer

	road   *road
	number int // of the connection among those of the road
}

// road is the same direction of all connections between two programs.
type road struct {
	mu        sync.Mutex
	newest    map[int]time.Time // when the segment was sent that was read last, by the connection's number
	overtaken int               // segments that were read behind one that was sent later, on a newer connection
}

// read notes that a segment has been read from a connection.
func (r *road) read(number int, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest[number] = sent
	for n, other := range r.newest {
		if n > number && other.After(sent) {
			r.overtaken++
			return
		}
	}
}

func newLine(w weather, random *rand.Rand, r *road, number int) *line {
	l := &line{weather: w, random: random, last: time.Now(), road: r, number: number}
	l.readable.L, l.writable.L = &l.mu, &l.mu
	return l
}

// limit is a deadline.
type limit struct {
	at     time.Time
	passed bool
	timer  *time.Timer
}

// setLocked replaces the deadline; the lock is that of c.
func (d *limit) setLocked(c *sync.Cond, t time.Time) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at, d.passed = t, false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		c.Broadcast()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		c.L.Lock()
		defer c.L.Unlock()
		if d.timer == timer {
			d.passed = true
			c.Broadcast()
		}
	})
	d.timer = timer
}

func (l *line) read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.unread:
			return 0, net.ErrClosed
		case l.reads.passed:
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		}
		now := time.Now()
		if !l.stalled && len(l.segments) > 0 && !l.segments[0].at.After(now) {
			return l.takeLocked(b), nil
		}
		if l.cut {
			return 0, syscall.ECONNRESET
		}
		if !l.stalled {
			switch {
			case len(l.segments) > 0:
				l.wakeAtLocked(l.segments[0].at)
			case l.ended && !l.last.After(now):
				return 0, io.EOF
			case l.ended:
				l.wakeAtLocked(l.last)
			}
		}
		l.readable.Wait()
	}
}

// takeLocked gives the reader what has arrived of the first segment.
func (l *line) takeLocked(b []byte) int {
	s := &l.segments[0]
	n := copy(b, s.data)
	if s.data = s.data[n:]; len(s.data) == 0 {
		l.road.read(l.number, s.sent)
		l.segments = l.segments[1:]
	}
	l.held -= n
	l.writable.Broadcast()
	return n
}

// wakeAtLocked has the readers look again at a time.
func (l *line) wakeAtLocked(at time.Time) {
	if l.arrival != nil {
		l.arrival.Stop()
	}
	l.arrival = time.AfterFunc(time.Until(at), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.readable.Broadcast()
	})
}

func (l *line) write(b []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		if err := l.refusalLocked(); err != nil {
			return 0, err
		}
		l.writable.Wait()
	}
	l.writing = true
	for n < len(b) {
		if err = l.refusalLocked(); err != nil {
			break
		}
		room := l.weather.Buffer - l.held
		if room <= 0 {
			l.writable.Wait()
			continue
		}
		n += l.sendLocked(b[n:], room)
	}
	l.writing = false
	l.writable.Broadcast()
	return n, err
}

// sendLocked puts one segment on its way.
func (l *line) sendLocked(b []byte, room int) int {
	n := min(len(b), room)
	if p := l.weather.Piece; p > 0 {
		n = min(n, 1+l.random.IntN(p))
	}
	at := time.Now().Add(l.weather.Delay + l.extra + time.Duration(l.random.Int64N(int64(l.weather.Jitter)+1)))
	if l.rate > 0 {
		from := time.Now()
		if l.last.After(from) {
			from = l.last
		}
		if slow := from.Add(time.Duration(n) * time.Second / time.Duration(l.rate)); slow.After(at) {
			at = slow
		}
	}
	if !at.After(l.last) {
		at = l.last.Add(1) // the order of bytes stays
	}
	l.last = at
	l.segments = append(l.segments, segment{time.Now(), at, append([]byte(nil), b[:n]...)})
	l.held += n
	l.sent += int64(n)
	l.readable.Broadcast()
	return n
}

// underWay returns how long the bytes that were sent last are still on their way.
func (l *line) underWay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.segments) == 0 {
		return 0
	}
	return time.Until(l.last)
}

// refusalLocked returns why nothing can be written now.
func (l *line) refusalLocked() error {
	switch {
	case l.ended:
		return net.ErrClosed
	case l.writes.passed:
		return os.ErrDeadlineExceeded
	case l.cut:
		return syscall.ECONNRESET
	case l.unread:
		return syscall.EPIPE
	}
	return nil
}

func (l *line) wakeLocked() {
	l.readable.Broadcast()
	l.writable.Broadcast()
}

// change makes a change to the line and wakes all that wait on it.
func (l *line) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.wakeLocked()
}

// end closes the direction at its writing end: what is under way arrives.
func (l *line) end() {
	l.change(func() {
		l.ended = true
		l.writes.setLocked(&l.writable, time.Time{})
	})
}

// close closes the direction at its reading end. It reports whether bytes were left.
func (l *line) close() (left bool) {
	l.change(func() {
		left = len(l.segments) > 0
		l.unread = true
		l.segments, l.held = nil, 0
		l.reads.setLocked(&l.readable, time.Time{})
		if l.arrival != nil {
			l.arrival.Stop()
		}
	})
	return left
}

// sever resets the direction; lose also drops the bytes that are under way.
func (l *line) sever(lose bool) {
	l.change(func() {
		l.cut = true
		l.stalled = false
		if lose {
			l.segments, l.held = nil, 0
		}
	})
}
