package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
)

// Args and Product are the messages of the calls with types.
type (
	Args    struct{ A, B int }
	Product struct{ C int }
)

// load is the server, its clients, and what they have done.
type load struct {
	address string
	network *network

	calls, failed, resets, restarts atomic.Int64

	mu      sync.Mutex
	srv     *weft.Server
	served  sync.WaitGroup
	clients []*weft.Client
	wrong   []error
	work    sync.WaitGroup
}

// network is TCP whose connections can be reset.
type network struct {
	transport.Transport
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// Dial implements transport.Transport.
func (n *network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := n.Transport.Dial(ctx, addr)
	if err == nil {
		n.mu.Lock()
		n.open[c] = struct{}{}
		n.mu.Unlock()
	}
	return c, err
}

// reset resets every connection.
func (n *network) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		c.Close()
	}
	clear(n.open)
}

func newLoad() (*load, error) {
	l := &load{address: "tcp://127.0.0.1:0", network: &network{Transport: tcp.New(nil), open: make(map[net.Conn]struct{})}}
	if err := l.serve(); err != nil {
		return nil, err
	}
	for i := range 3 {
		c, err := l.dial(i)
		if err != nil {
			return nil, err
		}
		l.clients = append(l.clients, c)
	}
	return l, nil
}

// serve starts a server on the address, which the one before has given up or soon will.
func (l *load) serve() error {
	srv := weft.NewServer(&weft.ServerConfig{
		Checksum: true, Compressor: snappy.New(), Compressors: []compress.Compressor{snappy.New(), gzip.New()},
	})
	if err := register(srv); err != nil {
		return err
	}
	var listener net.Listener
	var err error
	for range 2000 {
		if listener, err = srv.Listen(context.Background(), l.address); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.srv, l.address = srv, "tcp://"+listener.Addr().String()
	l.mu.Unlock()
	l.served.Go(func() { _ = srv.Serve(listener) })
	return nil
}

// restart drains the server while a new one takes its place.
func (l *load) restart() error {
	old := l.srv
	var drained sync.WaitGroup
	drained.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := old.Shutdown(ctx); err != nil {
			l.note(fmt.Errorf("the server's shutdown: %w", err))
		}
	})
	err := l.serve()
	drained.Wait()
	l.restarts.Add(1)
	return err
}

// dial makes a client; each kind is another configuration.
func (l *load) dial(kind int) (*weft.Client, error) {
	services := weft.NewServices()
	if err := register(services); err != nil {
		return nil, err
	}
	cfg := &weft.ClientConfig{Transports: []transport.Transport{l.network}, Services: services, MaxConns: 1 + kind%2, Checksum: kind == 1}
	switch kind {
	case 1:
		cfg.Compressor = snappy.New()
	case 2:
		cfg.Compressor, cfg.Codec = gzip.New(), json.New()
	}
	l.mu.Lock()
	address := l.address
	l.mu.Unlock()
	return weft.Dial(context.Background(), address, cfg)
}

func register(r weft.Registrar) error {
	return errors.Join(
		weft.HandleRaw(r, "Soak.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }),
		weft.Handle(r, "Soak.Mul", func(_ context.Context, a *Args) (*Product, error) { return &Product{a.A * a.B}, nil }),
		weft.Handle(r, "Soak.Slow", func(ctx context.Context, a *Args) (*Product, error) {
			select {
			case <-time.After(time.Duration(a.A) * time.Millisecond):
				return &Product{a.B}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}),
		weft.Handle(r, "Soak.Down", func(ctx context.Context, a *Args) (*Product, error) {
			if a.A == 0 {
				return &Product{}, nil
			}
			below, err := weft.Invoke[Product](ctx, weft.PeerFrom(ctx), "Soak.Down", &Args{A: a.A - 1})
			if err != nil {
				return nil, err
			}
			return &Product{below.C + 1}, nil
		}),
		weft.Handle(r, "Soak.Note", func(context.Context, *Args) (*Product, error) { return &Product{}, nil }),
		weft.HandleStream(r, "Soak.Stream", func(_ context.Context, s *weft.Stream[string, string]) error {
			for text, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(text); err != nil {
					return err
				}
			}
			return nil
		}))
}

// start has callers make calls, rate of them a second, and faults happen, until ctx ends. With a rate of 0 each caller
// waits a millisecond between two calls.
func (l *load) start(ctx context.Context, callers int, rate float64) {
	steps := []func(context.Context, *weft.Client) error{echo, multiply, cancelled, nested, notify, refused, stream}
	pause := time.Millisecond
	if rate > 0 {
		pause = max(time.Duration(float64(len(l.clients)*len(steps)*callers)/rate*float64(time.Second)), 1)
	}
	for _, c := range l.clients {
		for _, step := range steps {
			for range callers {
				l.work.Go(func() { l.repeat(ctx, c, step, pause) })
			}
		}
	}
	l.work.Go(func() { l.every(ctx, 7*time.Second, func() { l.network.reset(); l.resets.Add(1) }) })
	l.work.Go(func() {
		l.every(ctx, 11*time.Second, func() {
			if err := l.restart(); err != nil {
				l.note(fmt.Errorf("restart: %w", err))
			}
		})
	})
	l.work.Go(func() { l.every(ctx, 300*time.Millisecond, func() { l.visit(ctx) }) })
}

// visit is a client that comes, makes a call and goes.
func (l *load) visit(ctx context.Context) {
	c, err := l.dial(rand.N(3))
	if err != nil {
		l.failed.Add(1)
		return
	}
	defer c.Close()
	l.count(multiply(ctx, c))
}

func (l *load) every(ctx context.Context, d time.Duration, f func()) {
	for {
		select {
		case <-time.After(d):
			f()
		case <-ctx.Done():
			return
		}
	}
}

// repeat makes calls, with pauses of a mean length between them.
func (l *load) repeat(ctx context.Context, c *weft.Client, step func(context.Context, *weft.Client) error, pause time.Duration) {
	for ctx.Err() == nil {
		l.count(step(context.Background(), c))
		select {
		case <-time.After(rand.N(2 * pause)):
		case <-ctx.Done():
		}
	}
}

// count counts a call. What a reset connection costs is no fault; a wrong answer is.
func (l *load) count(err error) {
	l.calls.Add(1)
	if err == nil {
		return
	}
	l.failed.Add(1)
	switch weft.CodeOf(err) {
	case weft.Unavailable, weft.DeadlineExceeded, weft.Canceled:
	default:
		l.note(err)
	}
}

func (l *load) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < 20 {
		l.wrong = append(l.wrong, err)
	}
}

// end ends everything, and returns what was wrong.
func (l *load) end() error {
	l.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	for _, c := range l.clients {
		if err := c.Shutdown(ctx); err != nil {
			l.note(fmt.Errorf("a client's shutdown: %w", err))
		}
	}
	if err := l.srv.Shutdown(ctx); err != nil {
		l.note(fmt.Errorf("the last shutdown: %w", err))
	}
	l.served.Wait()
	return errors.Join(l.wrong...)
}

// The steps, each of which checks what comes of it.

func echo(ctx context.Context, c *weft.Client) error {
	body := bytes.Repeat([]byte{byte(rand.N(256))}, rand.N(1<<rand.N(20)+1))
	var reply []byte
	err := c.Call(ctx, "Soak.Echo", body, &reply, weft.WithCodec(raw.New()))
	if err == nil && !bytes.Equal(reply, body) {
		return fmt.Errorf("%d bytes came back as %d others", len(body), len(reply))
	}
	return err
}

func multiply(ctx context.Context, c *weft.Client) error {
	a := Args{rand.N(1000), rand.N(1000)}
	p, err := weft.Invoke[Product](ctx, c, "Soak.Mul", &a)
	if err == nil && p.C != a.A*a.B {
		return fmt.Errorf("%v gave %v", a, p)
	}
	return err
}

func cancelled(ctx context.Context, c *weft.Client) error {
	ctx, cancel := context.WithTimeout(ctx, rand.N(3*time.Millisecond))
	defer cancel()
	_, err := weft.Invoke[Product](ctx, c, "Soak.Slow", &Args{rand.N(4), 1})
	if errors.Is(err, weft.DeadlineExceeded) {
		return nil
	}
	return err
}

func nested(ctx context.Context, c *weft.Client) error {
	depth := rand.N(6)
	p, err := weft.Invoke[Product](ctx, c, "Soak.Down", &Args{A: depth})
	if err == nil && p.C != depth {
		return fmt.Errorf("depth %d gave %d", depth, p.C)
	}
	return err
}

func notify(ctx context.Context, c *weft.Client) error { return c.Notify(ctx, "Soak.Note", &Args{}) }

func refused(ctx context.Context, c *weft.Client) error {
	err := c.Call(ctx, "Soak.Missing", &Args{}, nil)
	if weft.CodeOf(err) == weft.Unimplemented {
		return nil
	}
	if err == nil {
		return errors.New("a method that does not exist gave an answer")
	}
	return err
}

func stream(ctx context.Context, c *weft.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := weft.OpenStream[string, string](ctx, c, "Soak.Stream")
	if err != nil {
		return err
	}
	defer s.Close()
	n := rand.N(50)
	var sender sync.WaitGroup
	defer sender.Wait()
	defer s.Close() // has the sender end
	sender.Go(func() {
		for i := range n {
			text := fmt.Sprintf("%d %s", i, strings.Repeat("x", rand.N(2000)))
			if s.Send(&text) != nil {
				return // the reader is told why
			}
		}
		_ = s.CloseSend()
	})
	for got := 0; ; got++ {
		text, err := s.Recv()
		if err == io.EOF && got == n {
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.HasPrefix(*text, fmt.Sprint(got, " ")) {
			return fmt.Errorf("message %d is %.10q", got, *text)
		}
		if got == 30 && rand.N(2) == 0 {
			return nil
		}
	}
}
