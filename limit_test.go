package weft_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/transport/tcp"
)

// A message beyond a limit fails its call, wherever it is found to be; the next one
// goes on.
func TestMessageTooLarge(t *testing.T) {
	sized := func(_ context.Context, n *int) (*string, error) {
		text := strings.Repeat("x", *n)
		return &text, nil
	}
	for _, limit := range []int{1000, 100_000} { // in one frame, and in several
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			both := weft.Limits{MaxMessage: limit}
			w := start(t, &weft.ServerConfig{Limits: both}, func(s *weft.Server) error {
				return errors.Join(echo(s), weft.Handle(s, "Text.Sized", sized), weft.HandleServerStream(s, "Text.Stream",
					func(ctx context.Context, n *int, out *weft.Sender[string]) error {
						text, _ := sized(ctx, n)
						return out.Send(text)
					}))
			})
			c := w.dial(&weft.ClientConfig{Limits: both})
			ctx := t.Context()
			asRaw := weft.WithCodec(raw.New())
			var reply []byte
			must(t, c.Call(ctx, "Raw.Echo", make([]byte, limit), &reply, asRaw))
			if len(reply) != limit {
				t.Errorf("%d bytes came back", len(reply))
			}
			want := fmt.Sprintf("larger than the %d", limit)
			err := c.Call(ctx, "Raw.Echo", make([]byte, limit+1), &reply, asRaw)
			if e := wantError(t, err, weft.ResourceExhausted, weft.NotSent, want); e.Reason != "MESSAGE_TOO_LARGE" {
				t.Errorf("reason %q", e.Reason)
			}
			err = c.Call(ctx, "Text.Sized", 2*limit, nil)
			if e := wantError(t, err, weft.ResourceExhausted, weft.Executed, want); e.Reason != "MESSAGE_TOO_LARGE" {
				t.Errorf("reason %q", e.Reason)
			}
			s, err := weft.Subscribe[string](ctx, c, "Text.Stream", ptr(2*limit))
			must(t, err)
			_, err = s.Recv()
			wantError(t, err, weft.ResourceExhausted, weft.Executed, want)
			must(t, c.Call(ctx, "Raw.Echo", make([]byte, limit), &reply, asRaw))
		})
	}
}

func ptr[T any](v T) *T { return &v }

// As many calls may be open as the server allows; the next one is not sent. Their
// bytes are bounded too.
func TestCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxCalls: 3}}, p.register)
		c := w.dial(&weft.ClientConfig{MaxConns: 1})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan *weft.Call, 3)
		for range 3 {
			c.Go(ctx, "Probe.Hang", &Args{}, nil, done)
		}
		time.Sleep(time.Second)
		e := wantError(t, c.Call(ctx, "Probe.Left", &Args{}, nil), weft.ResourceExhausted, weft.NotSent, "as many calls are open")
		if e.Reason != "TOO_MANY_CALLS" {
			t.Errorf("reason %q", e.Reason)
		}
		cancel()
		for range 3 {
			<-done
			<-p.ended
		}
		synctest.Wait()
		must(t, c.Call(t.Context(), "Probe.Left", &Args{}, nil))
	})
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxCallBytes: 10_000}}, func(s *weft.Server) error {
			return weft.HandleRaw(s, "Raw.Hold", func(_ context.Context, req, buf []byte) ([]byte, error) {
				<-hold
				return buf, nil
			})
		})
		c := w.dial(&weft.ClientConfig{Codec: raw.New(), MaxConns: 1})
		body := make([]byte, 6000)
		first := c.Go(t.Context(), "Raw.Hold", body, nil, nil)
		time.Sleep(time.Second)
		e := wantError(t, c.Call(t.Context(), "Raw.Hold", body, nil), weft.ResourceExhausted, weft.Refused, "too many bytes (Limits.MaxCallBytes of the peer)")
		if e.Reason != "TOO_MANY_BYTES" {
			t.Errorf("reason %q", e.Reason)
		}
		close(hold)
		must(t, (<-first.Done).Error)
		synctest.Wait()
		must(t, c.Call(t.Context(), "Raw.Hold", body, nil))
	})
}

// More methods than a connection has numbers for are called all the same.
func TestFewBindings(t *testing.T) {
	w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxBindings: 2}}, func(s *weft.Server) error {
		for i := range 5 {
			if err := weft.Handle(s, fmt.Sprint("Many.M", i), func(context.Context, *Args) (*int, error) { return &i, nil }); err != nil {
				return err
			}
		}
		return nil
	})
	c := w.dial(&weft.ClientConfig{MaxConns: 1})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 50 {
				i := n * n % 5
				if got, err := weft.Invoke[int](t.Context(), c, fmt.Sprint("Many.M", i), &Args{}); err != nil || *got != i {
					t.Errorf("method %d: %v, %v", i, got, err)
				}
			}
		})
	}
	wg.Wait()
}

// A server has so many connections and no more, however fast they come.
func TestMaxConnsOfServer(t *testing.T) {
	w := start(t, &weft.ServerConfig{MaxConns: 3}, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var clients []*weft.Client
	var refused int
	for range 20 {
		wg.Go(func() {
			c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Transports: transports(w.net)})
			must(t, err)
			err = c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				must(t, c.Close())
				wantError(t, err, weft.ResourceExhausted, weft.NotSent, "3 connections already")
				return
			}
			clients = append(clients, c)
		})
	}
	wg.Wait()
	if len(clients) != 3 || refused != 17 {
		t.Fatalf("%d connections, %d refused", len(clients), refused)
	}
	for _, c := range clients {
		multiply(t, c)
		must(t, c.Close())
	}
	for len(w.srv.Peers()) > 0 {
		time.Sleep(time.Millisecond)
	}
	multiply(t, w.dial(nil))
}

// Bytes of any other kind end their connection, without a word and without harm.
func TestGarbage(t *testing.T) {
	srv := weft.NewServer(nil)
	must(t, srv.Register(Arith{}))
	addr := serve(t, srv, "tcp://127.0.0.1:0")
	c := dial(t, addr, nil)
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "\x16\x03\x01\x02\x00\x01", "{}\n", "\x00", "\xf7", "\xf7weft\r\n\x02",
		"\xf7weft\r\n\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\xf7weft\r\n\x01\x00\x40\x00\x00\x01" + strings.Repeat("\x00", 11) + strings.Repeat("A", 100),
		"\xf7weft\r\n\x01\x00\x00\x00\x00\x03" + strings.Repeat("\x00", 11),
	} {
		conn, err := tcp.New(nil).Dial(t.Context(), strings.TrimPrefix(addr, "tcp://"))
		must(t, err)
		io.WriteString(conn, garbage)
		conn.(interface{ CloseWrite() error }).CloseWrite()
		conn.SetReadDeadline(time.Now().Add(3 * time.Second))
		answer, err := io.ReadAll(conn)
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Errorf("%.20q: still open", garbage)
		}
		if len(answer) > 0 && !strings.HasPrefix(string(answer), "\xf7weft") {
			t.Errorf("%.20q: answered with %.20q", garbage, answer)
		}
		conn.Close()
	}
	multiply(t, c)
}

func TestServerConfigErrors(t *testing.T) {
	for want, cfg := range map[string]*weft.ServerConfig{
		"weft: ServerConfig.MaxPending is -1, want 0 (its default) or more":     {MaxPending: -1},
		"weft: ServerConfig.MaxConns is -2, want 0 (its default) or more":       {MaxConns: -2},
		"weft: ServerConfig.DrainTimeout is -3ns, want 0 (its default) or more": {DrainTimeout: -3},
		"limit MaxMetadata is 65536, want 65535 at most":                        {Limits: weft.Limits{MaxMetadata: 1 << 16}},
		"limit MaxCallBytes is -1, want 0 (its default) or more":                {Limits: weft.Limits{MaxCallBytes: -1}},
		"limit PingTimeout is -1ns":                                             {Limits: weft.Limits{PingTimeout: -1}},
	} {
		srv := weft.NewServer(cfg)
		wantError(t, srv.Register(Arith{}), weft.InvalidArgument, 0, want)
		must(t, srv.Shutdown(t.Context()))
		must(t, srv.Close())
	}
}
