package mdns

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// driver is one speaker on the local network. What it holds outlives the socket,
// which is opened when it is first needed, and again after it has failed.
type driver struct {
	interfaces []string
	id         string // of this speaker, among all

	mu      sync.Mutex // also held while something is sent, so that all leaves in order
	closed  bool
	session *session              // nil: there is none
	version uint64                // of the last record that was published or withdrawn
	own     map[string]*published // by label
	watches map[*watch]struct{}
	wg      sync.WaitGroup
}

var _ registry.Driver = (*driver)(nil)

func newDriver(interfaces []string) *driver {
	var id [8]byte
	rand.Read(id[:]) // never fails
	return &driver{
		interfaces: interfaces, id: hex.EncodeToString(id[:]),
		own: make(map[string]*published), watches: make(map[*watch]struct{}),
	}
}

// session is a socket with the goroutines that serve it.
type session struct {
	socket *socket
	wake   chan struct{} // holds one when something may be due earlier than before
	done   chan struct{} // closed at its end
	err    error         // why it has ended; set before done is closed
}

var errClosed = errors.New("mdns: the driver is closed")

// openLocked makes sure that there is a session.
func (d *driver) openLocked() error {
	if d.closed {
		return errClosed
	}
	if d.session != nil {
		return nil
	}
	s, err := openSocket(d.interfaces)
	if err != nil {
		return err
	}
	d.session = &session{socket: s, wake: make(chan struct{}, 1), done: make(chan struct{})}
	d.wg.Add(2)
	// Each ends with the session: when the socket fails, and when the driver is closed,
	// which waits for it.
	go d.listen(d.session)
	go d.speak(d.session)
	return nil
}

// endLocked ends a session.
func (d *driver) endLocked(s *session, err error) {
	if d.session == s {
		d.session = nil
		s.err = err
		close(s.done)
		_ = s.socket.close()
	}
}

// listen reads what is announced and asked.
func (d *driver) listen(s *session) {
	defer d.wg.Done()
	buffer := make([]byte, 64<<10)
	for {
		p, err := s.socket.receive(buffer)
		if err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.endLocked(s, err)
			return
		}
		m, err := parse(p.message)
		if err != nil {
			continue // every machine of the network can send anything
		}
		d.mu.Lock()
		if d.session == s && s.socket.listens(p.link) {
			d.askedLocked(m)
			if p.proper {
				d.toldLocked(m)
			}
		}
		d.mu.Unlock()
	}
}

// toldLocked takes what is announced.
func (d *driver) toldLocked(m message) {
	for i, r := range m.records {
		d.compareLocked(r, m.ttls[i])
		for w := range d.watches {
			w.takeLocked(r, m.ttls[i])
		}
	}
}

// sendLocked multicasts a message.
func (d *driver) sendLocked(message []byte) error {
	if err := d.openLocked(); err != nil {
		return err
	}
	return d.session.socket.send(message)
}

// Put announces an instance, at once and twice more.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	r, err := newRecord(instance)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.publishLocked(r, ttl)
}

// Refresh announces an instance once more. Another speaker may just have withdrawn it,
// so it is only there when its announcement has come back and nothing else before.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	p, back, err := d.renewLocked(instanceLabel(instance.Service, instance.ID), ttl)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	if err := awaitEcho(ctx, back); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.confirmLocked(p)
}

// awaitEcho waits until an announcement has come back, or may have been lost on its way. It
// waits for half of ctx's time at most, and twice: when this process gets no processor, a
// timer may end before what has come is read.
func awaitEcho(ctx context.Context, back <-chan struct{}) error {
	wait := echoWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	for range 2 {
		timer := time.NewTimer(wait / 2)
		defer timer.Stop()
		select {
		case <-back:
			return nil
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Delete says goodbye to an instance, at once and twice more.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.withdrawLocked(record{label: instanceLabel(instance.Service, instance.ID), subtype: subtype(instance.Service)})
}

// Close gives the socket back. Without a goodbye, what was published expires.
func (d *driver) Close() error {
	d.mu.Lock()
	d.closed = true
	if d.session != nil {
		d.endLocked(d.session, errClosed)
	}
	d.mu.Unlock()
	d.wg.Wait()
	return nil
}
