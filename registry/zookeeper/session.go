package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// session is one session of ZooKeeper. When it is of no more use it is lost for good
// and ends by itself; another one is begun when it is needed.
type session struct {
	d       *driver
	resume  bool            // after a lost connection
	servers []string        // in the order in which they are tried
	life    context.Context // ends when the session is lost; its cause says why
	lose    context.CancelCauseFunc

	mu      sync.Mutex
	conn    *conn         // nil: there is none
	since   time.Time     // when it came
	up      chan struct{} // closed when there is one
	trouble error         // the last with a connection; nil: none since the last good one
	id      int64         // the server's name for it; 0: it has not begun
	views   map[*subscription]struct{}

	users int // watches that run; guarded by driver.mu
}

var (
	errExpired = errors.New("the session has expired")
	errRefused = errors.New("the servers refuse the session")
	errUnused  = errors.New("nothing is watched any more")
)

// beginLocked begins a session; it does not wait for a server.
func (d *driver) beginLocked(resume bool) (*session, error) {
	if d.closed {
		return nil, errClosed
	}
	s := &session{
		d: d, resume: resume, servers: slices.Clone(d.servers),
		up: make(chan struct{}), views: make(map[*subscription]struct{}),
	}
	// Not all processes begin with the same server.
	rand.Shuffle(len(s.servers), func(i, j int) { s.servers[i], s.servers[j] = s.servers[j], s.servers[i] })
	s.life, s.lose = context.WithCancelCause(context.Background())
	d.open[s] = struct{}{}
	d.wg.Add(1)
	// It ends when the session is lost, within seconds.
	go s.run()
	return s, nil
}

// lost reports whether the session is of no more use.
func (s *session) lost() bool { return s.life.Err() != nil }

// run keeps the session connected until it is lost.
func (s *session) run() {
	defer s.d.wg.Done()
	defer s.d.forget(s)
	as := &identity{}
	var expires time.Time // zero: there is nothing to lose yet
	refused := 0          // how often servers have ended the connection in a row
	late := false         // a server was, since all were tried
	for tried := 0; !s.lost(); {
		if tried == len(s.servers) {
			if late {
				s.d.patience.late()
			}
			tried, late = 0, false
			s.exhausted()
		}
		address := s.servers[0]
		s.servers = append(s.servers[1:], address)
		tried++
		c, err := s.attempt(address, as, expires)
		switch {
		case err == nil:
			began := time.Now()
			s.use(c, as, address)
			ended := time.Now()
			expires, refused = ended.Add(as.timeout), 0
			if ended.Sub(began) > settled {
				tried = 1 // the server that is lost is tried last
			}
		case errors.Is(err, errExpired), !expires.IsZero() && !time.Now().Before(expires):
			s.lose(errExpired)
		case errors.Is(err, errNoSession) && as.id != 0:
			// After their data was lost all servers refuse the session.
			if refused++; refused >= 2*len(s.servers) {
				s.lose(errRefused)
			}
			fallthrough
		default:
			late = late || isTimeout(err)
			s.mu.Lock()
			s.trouble = err
			s.mu.Unlock()
		}
	}
}

// settled is how long a connection lasts that is worth beginning another at once when
// it is lost.
const settled = time.Second

// attempt connects to a server, unless the session expires before.
func (s *session) attempt(address string, as *identity, expires time.Time) (*conn, error) {
	ctx := s.life
	if !expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, expires)
		defer cancel()
	}
	began := time.Now()
	c, err := dial(ctx, address, s.d.tls, as, s.d.timeout, s.d.auth, s.d.patience.limit())
	if err == nil {
		s.d.patience.met(time.Since(began))
	}
	return c, err
}

// use lets requests through a connection until it breaks.
func (s *session) use(c *conn, as *identity, address string) {
	s.mu.Lock()
	s.conn, s.since, s.id, s.trouble = c, time.Now(), as.id, nil
	close(s.up)
	s.mu.Unlock()

	err := c.serve(as, s.life.Done(), s.changed)

	s.mu.Lock()
	s.conn, s.up = nil, make(chan struct{})
	s.trouble = fmt.Errorf("%w: %s: %w", errDisconnected, address, err)
	s.mu.Unlock()
	if !s.resume {
		s.lose(s.trouble)
	}
	close(c.broken) // after all that, so that the next attempt finds another connection
}

// exhausted is called when no server could be connected to.
func (s *session) exhausted() {
	if !s.resume {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lose(fmt.Errorf("none of the servers %v can be used: %w", s.d.servers, s.trouble))
		return
	}
	// Servers that start must not get the connections of all clients at the same time.
	pause := time.NewTimer(500*time.Millisecond + rand.N(500*time.Millisecond))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-s.life.Done():
	}
}

// forget removes a session that has ended.
func (d *driver) forget(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, s)
}

// wait waits for a connection.
func (s *session) wait(ctx context.Context) (*conn, error) {
	for {
		s.mu.Lock()
		c, up := s.conn, s.up
		s.mu.Unlock()
		switch {
		case s.lost():
			return nil, context.Cause(s.life)
		case c != nil:
			return c, nil
		}
		select {
		case <-s.life.Done():
		case <-up:
		case <-ctx.Done():
			return nil, s.waited(ctx)
		}
	}
}

// connected is how long there has been a connection; 0: there is none.
func (s *session) connected() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return 0
	}
	return time.Since(s.since)
}

// waited is the error of a wait for a connection that did not come.
func (s *session) waited(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble == nil {
		return fmt.Errorf("no server of %v has answered yet: %w", s.d.servers, ctx.Err())
	}
	return fmt.Errorf("%w: %w", s.trouble, ctx.Err())
}

// ask makes a request and returns the answer. When the connection is lost meanwhile a
// request that reads is made again, on the next connection; the outcome of one that
// writes is unknown then, and the error is errDisconnected.
func (s *session) ask(ctx context.Context, what op, request []byte) (*decoder, error) {
	for {
		c, err := s.wait(ctx)
		if err != nil {
			return nil, err
		}
		body, err := c.call(ctx, what, request)
		reads := what == opGet || what == opExists || what == opChildren || what == opSync
		if errors.Is(err, errUnsent) || reads && errors.Is(err, errDisconnected) {
			continue
		}
		return &decoder{rest: body}, err
	}
}

// owns reports whether a node is an ephemeral one of this session.
func (s *session) owns(of *stat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id != 0 && of.owner == s.id
}
