package simulation

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/weftrpc/weft/transport"
)

// address is the name of an end of a connection.
type address string

func (a address) Network() string { return "sim" }
func (a address) String() string  { return string(a) }

// network is what connects the programs of a simulation.
type network struct {
	seed    uint64
	weather weather

	mu        sync.Mutex
	listeners map[string]*listener
	dials     map[string]int // by the names of both programs: how many there were
	links     []*link        // in the order of their dials
	roads     map[string]*road
	refusing  map[string]bool
	silent    map[string]chan struct{} // closed when the host answers dials again
}

func newNetwork(seed uint64, w weather) *network {
	return &network{
		seed: seed, weather: w, listeners: make(map[string]*listener), dials: make(map[string]int),
		roads: make(map[string]*road), refusing: make(map[string]bool), silent: make(map[string]chan struct{}),
	}
}

// link is a connection with its two ends.
type link struct {
	name     string // "client>server#3"
	pair     string // "client>server"
	host     string // of the server
	up, down *line
	client   *conn
	server   *conn
}

// cut resets the connection; lose also drops the bytes that are under way.
func (k *link) cut(lose bool) {
	k.up.sever(lose)
	k.down.sever(lose)
}

// conn is one end of a link.
type conn struct {
	link          *link
	in, out       *line
	local, remote address
	once          sync.Once
	closed        chan struct{}
}

func (c *conn) Read(b []byte) (int, error)  { n, err := c.in.read(b); return n, c.wrap("read", err) }
func (c *conn) Write(b []byte) (int, error) { n, err := c.out.write(b); return n, c.wrap("write", err) }
func (c *conn) LocalAddr() net.Addr         { return c.local }
func (c *conn) RemoteAddr() net.Addr        { return c.remote }

func (c *conn) wrap(op string, err error) error {
	if err == nil || err.Error() == "EOF" {
		return err
	}
	return &net.OpError{Op: op, Net: "sim", Source: c.local, Addr: c.remote, Err: err}
}

// Close closes the end as a socket does: when bytes have not been read, the peer gets a reset behind
// what it has been sent.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		left := c.in.close()
		c.out.end()
		if left {
			c.out.sever(false)
			c.in.sever(true)
		}
	})
	return nil
}

// CloseWrite ends the outgoing direction.
func (c *conn) CloseWrite() error {
	c.out.end()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.in.unread {
		return c.wrap("set", net.ErrClosed)
	}
	c.in.reads.setLocked(&c.in.readable, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.ended {
		return c.wrap("set", net.ErrClosed)
	}
	c.out.writes.setLocked(&c.out.writable, t)
	return nil
}

// program is the network as one program sees it, so that the number of a connection
// does not depend on what other programs do.
type program struct {
	*network
	name string
}

var _ transport.Transport = program{}

func (n *network) of(name string) transport.Transport { return program{n, name} }

// Scheme implements transport.Transport.
func (p program) Scheme() string { return "sim" }

// Listen implements transport.Transport.
func (p program) Listen(_ context.Context, host string) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listeners[host] != nil {
		return nil, &net.OpError{Op: "listen", Net: "sim", Addr: address(host), Err: syscall.EADDRINUSE}
	}
	l := &listener{network: p.network, host: host, queue: make(chan *conn, 128), done: make(chan struct{})}
	p.listeners[host] = l
	return l, nil
}

// Dial implements transport.Transport. It takes the time of a round trip.
func (p program) Dial(ctx context.Context, host string) (net.Conn, error) {
	c, err := p.dial(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "sim", Addr: address(host), Err: err}
	}
	return c, nil
}

func (p program) dial(ctx context.Context, host string) (*conn, error) {
	p.mu.Lock()
	pair := p.name + ">" + host
	p.dials[pair]++
	number := p.dials[pair]
	name := fmt.Sprintf("%s#%d", pair, number)
	silent := p.silent[host]
	p.mu.Unlock()
	random := p.random(name)
	if silent != nil {
		select {
		case <-silent:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	timer := time.NewTimer(2*p.weather.Delay + time.Duration(random.Int64N(int64(p.weather.Jitter)+1)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.listeners[host]
	if l == nil || p.refusing[host] {
		return nil, syscall.ECONNREFUSED
	}
	newLine := func(direction string) *line {
		return newLine(p.weather, p.random(name+direction), p.roadLocked(pair+direction), number)
	}
	k := &link{name: name, pair: pair, host: host, up: newLine(" up"), down: newLine(" down")}
	k.client = &conn{link: k, in: k.down, out: k.up, local: address(name), remote: address(host), closed: make(chan struct{})}
	k.server = &conn{link: k, in: k.up, out: k.down, local: address(host), remote: address(name), closed: make(chan struct{})}
	select {
	case l.queue <- k.server:
	default:
		return nil, syscall.ECONNREFUSED
	}
	p.links = append(p.links, k)
	return k.client, nil
}

// roadLocked returns the road of a name.
func (n *network) roadLocked(name string) *road {
	r := n.roads[name]
	if r == nil {
		r = &road{newest: make(map[int]time.Time)}
		n.roads[name] = r
	}
	return r
}

// overtaken counts the segments that came behind what was sent later, on a newer connection.
func (n *network) overtaken() (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.roads {
		r.mu.Lock()
		count += r.overtaken
		r.mu.Unlock()
	}
	return count
}

// random is a source that depends on the seed and a name.
func (n *network) random(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(n.seed, h.Sum64()))
}

// live returns the connections neither of whose ends has closed, in the order of their
// names' first appearance.
func (n *network) live(host string) []*link {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*link
	for _, k := range n.links {
		if (host == "" || k.host == host) && !isClosed(k.client.closed) && !isClosed(k.server.closed) {
			out = append(out, k)
		}
	}
	return out
}

// only reports whether a connection is the only live one between its programs.
func (n *network) only(k *link) bool {
	return !slices.ContainsFunc(n.live(k.host), func(other *link) bool { return other != k && other.pair == k.pair })
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// refuse has dials to a host refused, or not.
func (n *network) refuse(host string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusing[host] = on
}

// silence has dials to a host wait, or not.
func (n *network) silence(host string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch c := n.silent[host]; {
	case on && c == nil:
		n.silent[host] = make(chan struct{})
	case !on && c != nil:
		close(c)
		delete(n.silent, host)
	}
}

// heal ends every fault that has an end: connections that vanished stay so.
func (n *network) heal(hosts []string) {
	for _, h := range hosts {
		n.refuse(h, false)
		n.silence(h, false)
	}
	for _, k := range n.live("") {
		for _, l := range []*line{k.up, k.down} {
			l.change(func() { l.rate, l.extra = 0, 0 })
		}
	}
}

// unclosed returns the ends that no program has closed.
func (n *network) unclosed() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, k := range n.links {
		if !isClosed(k.client.closed) {
			out = append(out, "the client's end of "+k.name)
		}
		if !isClosed(k.server.closed) {
			out = append(out, "the server's end of "+k.name)
		}
	}
	return out
}

// listener hands over the connections that were dialed.
type listener struct {
	network *network
	host    string
	queue   chan *conn
	done    chan struct{}
	once    sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "sim", Addr: address(l.host), Err: net.ErrClosed}
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, &net.OpError{Op: "accept", Net: "sim", Addr: address(l.host), Err: net.ErrClosed}
	}
}

// Close implements net.Listener. Connections that were not accepted are reset.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, l.host)
		close(l.done)
		l.network.mu.Unlock()
		for {
			select {
			case c := <-l.queue:
				c.link.cut(true)
				c.Close()
			default:
				return
			}
		}
	})
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address(l.host) }
