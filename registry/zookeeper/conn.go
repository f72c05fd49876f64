package zookeeper

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/weftrpc/weft/registry"
)

const (
	// goodbyeTimeout is how long it may take to end the session.
	goodbyeTimeout = time.Second
	// maxGreeting is the size of the longest answer to the begin of a session, which
	// has about 40 bytes. What answers may not be ZooKeeper at all.
	maxGreeting = 1 << 10
	// maxNames is the size of the longest answer with the names of nodes: room for
	// 100,000 instances.
	maxNames = 16 << 20
	// maxAnswer is that of all others, which have a document at most.
	maxAnswer = registry.MaxDocument + 64<<10
)

// identity is what a server must be told to go on with a session. The zero value
// begins one.
type identity struct {
	id       int64
	password []byte
	zxid     int64         // the last transaction that was seen
	timeout  time.Duration // as the server has granted it
}

// conn is the connection of a session to one server.
type conn struct {
	net    net.Conn
	in     *bufio.Reader
	out    chan []byte   // frames to be sent
	broken chan struct{} // closed when it is

	mu      sync.Mutex
	xid     int32
	pending map[int32]request
}

// request is one that waits for its answer.
type request struct {
	most    int64 // bytes that the answer can have
	answers chan<- answer
}

// answer is what a server answers to one request.
type answer struct {
	body []byte
	err  error
}

var (
	// errDisconnected is said of requests that were sent and have no answer.
	errDisconnected = errors.New("the connection was lost")
	// errUnsent is said of requests that were not sent.
	errUnsent = errors.New("the connection was lost before the request was sent")
)

// dial connects to a server and begins a session, or goes on with one. limit bounds how
// long each of both may take.
func dial(ctx context.Context, address string, config *tls.Config, as *identity, ask time.Duration, auth []byte, limit time.Duration) (*conn, error) {
	plain, err := reach(ctx, address, config, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	// When ctx ends, so does the connection, and with it the greeting.
	stop := context.AfterFunc(ctx, func() { plain.Close() })
	c := &conn{
		net: plain, in: bufio.NewReader(plain), out: make(chan []byte), broken: make(chan struct{}),
		pending: make(map[int32]request),
	}
	plain.SetDeadline(time.Now().Add(limit))
	err = c.greet(as, ask)
	if err == nil && auth != nil {
		err = c.introduce(auth)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		plain.Close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	plain.SetDeadline(time.Time{})
	return c, nil
}

func reach(ctx context.Context, address string, config *tls.Config, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if config != nil {
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// errNoSession is said of a server that takes no session, or not this one:
// it starts, is cut off from the others, or has less data than the session has seen.
var errNoSession = errors.New("the server ends the connection instead of beginning a session")

// greet exchanges the first messages.
func (c *conn) greet(as *identity, ask time.Duration) error {
	hello := putInt(make([]byte, 4, 64), 0) // of the protocol there is one version
	hello = putLong(hello, as.zxid)
	hello = putInt(hello, int32(min(ask, time.Hour).Milliseconds()))
	hello = putLong(hello, as.id)
	password := as.password
	if password == nil {
		password = make([]byte, 16)
	}
	hello = putText(hello, password)
	hello = putBool(hello, false) // a server that cannot write is of no use
	if _, err := c.net.Write(frame(hello)); err != nil {
		return err
	}
	message, err := c.readGreeting()
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errStranger):
		return err
	case ok && timeout.Timeout():
		return fmt.Errorf("the server does not answer: %w", err)
	case err != nil:
		return fmt.Errorf("%w: %w", errNoSession, err)
	}
	d := decoder{rest: message}
	d.int()
	granted := time.Duration(d.int()) * time.Millisecond
	id := d.long()
	password = d.bytes()
	switch {
	case d.bad:
		return errStranger
	case id == 0 || granted <= 0:
		return errExpired
	}
	as.id, as.password, as.timeout = id, password, granted
	return nil
}

// readGreeting reads a message that has some bytes.
func (c *conn) readGreeting() ([]byte, error) {
	size, err := readSize(c.in)
	if err != nil {
		return nil, err
	}
	if size > maxGreeting {
		return nil, errStranger
	}
	return readMessage(c.in, size)
}

// introduce names the user to the server.
func (c *conn) introduce(auth []byte) error {
	request := putInt(make([]byte, 4, 64), xidAuth)
	request = putInt(request, int32(opAuth))
	request = putInt(request, 0)
	request = putText(request, "digest")
	request = putText(request, auth)
	if _, err := c.net.Write(frame(request)); err != nil {
		return err
	}
	message, err := c.readGreeting()
	if err != nil {
		return err
	}
	d := decoder{rest: message}
	xid, _, code := d.int(), d.long(), d.int()
	switch {
	case d.bad || xid != xidAuth:
		return errStranger
	case code != 0:
		return fault(code)
	}
	return nil
}

// serve carries requests and answers until the connection breaks, which it is told
// why. When goodbye is closed it ends the session first.
func (c *conn) serve(as *identity, goodbye <-chan struct{}, changed func(path string)) error {
	var wg sync.WaitGroup
	done := make(chan struct{})
	// It ends when the connection breaks, and at the latest a second after goodbye.
	wg.Go(func() { c.send(as.timeout, goodbye, done) })
	err := c.receive(as, changed)
	close(done)
	c.net.Close()
	wg.Wait()
	return err
}

// send sends requests, and a sign of life three times in the time after which the
// session would expire.
func (c *conn) send(timeout time.Duration, goodbye, done <-chan struct{}) {
	defer c.net.Close() // which ends receive
	alive := time.NewTicker(max(timeout/3, 100*time.Millisecond))
	defer alive.Stop()
	for {
		var message []byte
		select {
		case message = <-c.out:
		case <-alive.C:
			message = header(xidPing, opPing)
		case <-goodbye:
			c.net.SetWriteDeadline(time.Now().Add(goodbyeTimeout))
			if _, err := c.net.Write(frame(header(0, opClose))); err != nil {
				return
			}
			select {
			case <-done: // the server has ended the connection
			case <-time.After(goodbyeTimeout):
			}
			return
		case <-done:
			return
		}
		c.net.SetWriteDeadline(time.Now().Add(timeout * 2 / 3))
		if _, err := c.net.Write(frame(message)); err != nil {
			return
		}
	}
}

// receive hands out answers and changes.
func (c *conn) receive(as *identity, changed func(path string)) error {
	for {
		c.net.SetReadDeadline(time.Now().Add(as.timeout * 2 / 3))
		size, err := readSize(c.in)
		if err != nil {
			return err
		}
		const headSize = 4 + 8 + 4
		head, err := readMessage(c.in, min(size, headSize))
		if err != nil {
			return err
		}
		d := decoder{rest: head}
		xid, zxid, code := d.int(), d.long(), d.int()
		if d.bad {
			return errStranger
		}
		r := c.forget(xid)
		a, err := c.readBody(size-headSize, r.most)
		if err != nil {
			return err
		}
		if code != 0 {
			a.err = fault(code)
		}
		if xid == xidEvent {
			d := decoder{rest: a.body}
			d.take(8) // what has changed, and the state of the session
			changed(string(d.bytes()))
		}
		if xid > 0 {
			as.zxid = max(as.zxid, zxid)
		}
		if r.answers != nil {
			r.answers <- a
		}
	}
}

// readBody reads what follows the head of a message. What is too long is passed over:
// that says something about one request, and not about the server.
func (c *conn) readBody(size, most int64) (a answer, err error) {
	if most == 0 {
		most = maxAnswer
	}
	if size <= most {
		a.body, err = readMessage(c.in, size)
		return a, err
	}
	_, err = io.CopyN(io.Discard, c.in, size)
	return answer{err: tooLong{size, most}}, err
}

// tooLong is the error of a request whose answer was not taken.
type tooLong struct{ size, most int64 }

func (e tooLong) Error() string {
	return fmt.Sprintf("the answer has %d bytes, at most %d are taken", e.size, e.most)
}

// header begins a message.
func header(xid int32, what op) []byte {
	return putInt(putInt(make([]byte, 4, 64), xid), int32(what))
}

// call makes one request and waits for the answer.
func (c *conn) call(ctx context.Context, what op, message []byte) ([]byte, error) {
	answers := make(chan answer, 1)
	r := request{maxAnswer, answers}
	if what == opChildren {
		r.most = maxNames
	}
	c.mu.Lock()
	c.xid = c.xid&(1<<30-1) + 1 // below zero, and zero, mean something else
	xid := c.xid
	c.pending[xid] = r
	c.mu.Unlock()
	defer c.forget(xid)
	select {
	case c.out <- append(header(xid, what), message...):
	case <-c.broken:
		return nil, errUnsent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-answers:
		return a.body, a.err
	case <-c.broken:
		return nil, errDisconnected
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget returns the request that waits for an answer, the zero request if none does,
// and lets it wait no more.
func (c *conn) forget(xid int32) request {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pending[xid]
	delete(c.pending, xid)
	return r
}
