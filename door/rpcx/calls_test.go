package rpcx_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/internal/polltest"
)

const patience = 20 * time.Second

// plain makes a client of rpcx on a plain socket.
func plain(t testing.TB, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	c := newClient(conn)
	t.Cleanup(func() { c.Close() })
	return c
}

// dial makes a client of weft.
func dial(t testing.TB, addr string, wire weft.Wire, change func(*weft.ClientConfig)) *weft.Client {
	t.Helper()
	cfg := &weft.ClientConfig{Wires: []weft.Wire{wire}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(cfg)
	}
	c, err := weft.Dial(context.Background(), wire.Scheme()+"://"+addr, cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// echo returns the bytes it gets.
func echo(srv *weft.Server) error {
	return weft.Handle(srv, "Bytes.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil })
}

// TestRawAndGzip sends bytes of sizes around the bound of compression, up to 3 MiB, compressed and not.
func TestRawAndGzip(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, echo)
	c := plain(t, addr)
	z := gzip.New()
	for _, n := range []int{0, 1, 1000, 1024, 1025, 5000, 70_000, 1 << 20, 3 << 20} {
		body := bytes.Repeat([]byte("weft "), n/5+1)[:n]
		p, err := c.do(&packet{path: "Bytes", method: "Echo", payload: body})
		must(t, err)
		if p.second != 0x80 || !bytes.Equal(p.payload, body) {
			t.Fatalf("%d bytes: third byte %#x, %d bytes back, %q", n, p.second, len(p.payload), p.meta)
		}
		packed, err := z.Compress(nil, body)
		must(t, err)
		p, err = c.do(&packet{second: 0x04, path: "Bytes", method: "Echo", payload: packed})
		must(t, err)
		want := byte(0x80)
		back := p.payload
		if n > 1024 {
			want = 0x84
			back, err = z.Decompress(nil, p.payload, 4<<20)
			must(t, err)
		}
		if p.second != want || !bytes.Equal(back, body) {
			t.Fatalf("%d bytes compressed: third byte %#x, want %#x, %d bytes back, %q", n, p.second, want, len(back), p.meta)
		}
	}
	w := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.Codec, cfg.Compressor = raw.New(), z })
	body := bytes.Repeat([]byte("weft "), 10_000)
	var back []byte
	must(t, w.Call(t.Context(), "Bytes.Echo", &body, &back))
	if !bytes.Equal(back, body) {
		t.Errorf("%d bytes came back of %d", len(back), len(body))
	}
}

// TestBomb sends little that is much when it is decompressed.
func TestBomb(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, echo)
	packed, err := gzip.New().Compress(nil, make([]byte, 64<<20))
	must(t, err)
	c := plain(t, addr)
	p, err := c.do(&packet{second: 0x04, path: "Bytes", method: "Echo", payload: packed})
	must(t, err)
	if p.meta["weft-code"] != "ResourceExhausted" || p.meta["weft-reason"] != weft.ReasonMessageTooLarge {
		t.Errorf("answered %q", p.meta)
	}
	p, err = c.do(&packet{second: 0x04, path: "Bytes", method: "Echo", payload: []byte("no gzip")})
	must(t, err)
	if p.meta["weft-reason"] != weft.ReasonDecompress {
		t.Errorf("answered %q", p.meta)
	}
	p, err = c.do(&packet{second: 0x08, path: "Bytes", method: "Echo", payload: []byte("2")})
	must(t, err)
	if p.meta["weft-code"] != "Unimplemented" {
		t.Errorf("answered %q", p.meta)
	}
}

// TestTooLarge sends a frame beyond the limit: it is thrown away, and the connection goes on.
func TestTooLarge(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{Limits: weft.Limits{MaxMessage: 64 << 10}}, echo)
	c := plain(t, addr)
	for _, n := range []int{64<<10 + 1, 200_000, 1 << 20} {
		p, err := c.do(&packet{path: "Bytes", method: "Echo", payload: make([]byte, n)})
		must(t, err)
		if p.meta["weft-reason"] != weft.ReasonMessageTooLarge || p.meta["weft-outcome"] != "Refused" {
			t.Errorf("%d bytes: %q", n, p.meta)
		}
	}
	p, err := c.do(&packet{path: "Bytes", method: "Echo", payload: []byte("fits")})
	must(t, err)
	if string(p.payload) != "fits" {
		t.Errorf("afterwards: %q", p.meta)
	}
	// A reply beyond the limit of the client fails its call alone.
	_, addr = serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Bytes.Make", func(_ context.Context, n *int) (*[]byte, error) { b := make([]byte, *n); return &b, nil })
	})
	w := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = 64 << 10 })
	for _, n := range []int{64 << 10, 1 << 20, 10} {
		var b []byte
		err := w.Call(t.Context(), "Bytes.Make", &n, &b)
		e, _ := errors.AsType[*weft.Error](err)
		if n == 10 {
			must(t, err)
		} else if e == nil || e.Code != weft.ResourceExhausted || e.Outcome != weft.Executed || e.Reason != weft.ReasonMessageTooLarge {
			t.Errorf("a reply of %d bytes: %v", n, err)
		}
	}
}

// TestProtobuf calls with a message of Protocol Buffers both ways.
func TestProtobuf(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Text.Upper", func(_ context.Context, s *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			return wrapperspb.String(strings.ToUpper(s.Value)), nil
		})
	})
	body, err := proto.Marshal(wrapperspb.String("weft"))
	must(t, err)
	p, err := plain(t, addr).do(&packet{third: 0x20, path: "Text", method: "Upper", payload: body})
	must(t, err)
	var reply wrapperspb.StringValue
	if err := proto.Unmarshal(p.payload, &reply); err != nil || p.third != 0x20 || reply.Value != "WEFT" {
		t.Errorf("%v, %q, %q", err, reply.Value, p.meta)
	}
	w := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.Codec = protobuf.New() })
	must(t, w.Call(t.Context(), "Text.Upper", wrapperspb.String("wire"), &reply))
	if reply.Value != "WIRE" {
		t.Errorf("%q", reply.Value)
	}
}

// TestMetadata sends metadata both ways, with bytes of every kind, and what the server keeps to itself.
func TestMetadata(t *testing.T) {
	seen := make(chan []string, 4)
	_, addr := serve(t, weft.ServerConfig{
		Authenticate: func(_ context.Context, c weft.Credential, _ *weft.CallInfo) (any, error) {
			if c.Scheme != "Bearer" || c.Token != "right" {
				return nil, weft.Errorf(weft.Unauthenticated, "a wrong token")
			}
			return "ada", nil
		},
	}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Meta.See", func(ctx context.Context, _ *[]byte) (*[]byte, error) {
			var all []string
			for k, v := range weft.MetadataFrom(ctx).All() {
				all = append(all, k+"="+v)
			}
			slices.Sort(all)
			seen <- append(all, weft.PrincipalFrom(ctx).(string))
			return new([]byte), weft.SetReplyMetadata(ctx, "answer", "ü\x00\xff", "__rpcx_error__", "none")
		})
	})
	c := plain(t, addr)
	p, err := c.do(&packet{path: "Meta", method: "See", meta: map[string]string{"__AUTH": "Bearer right", "tenant": "ü\x00\xff", "empty": "",
		"__ServerAddress": "x", "__aliasAppliedKey": "y", "weft-strange": "z", "__ServerTimeout": "soon", "weft-priority": "urgent"}})
	must(t, err)
	if got, want := <-seen, []string{"authorization=Bearer right", "empty=", "tenant=ü\x00\xff", "ada"}; !slices.Equal(got, want) {
		t.Errorf("the handler saw %q, want %q", got, want)
	}
	if len(p.meta) != 1 || p.meta["answer"] != "ü\x00\xff" {
		t.Errorf("%q came back", p.meta)
	}
	p, err = c.do(&packet{path: "Meta", method: "See", meta: map[string]string{"__AUTH": "Bearer wrong"}})
	must(t, err)
	if p.meta["__rpcx_error__"] != "a wrong token" || p.meta["weft-code"] != "Unauthenticated" {
		t.Errorf("a wrong token: %q", p.meta)
	}
	w := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.Credential = weft.StaticCredential("Bearer", "right") })
	var reply weft.Metadata
	must(t, w.Call(weft.WithMetadata(t.Context(), "tenant", "b"), "Meta.See", &[]byte{}, nil, weft.WithReplyMetadata(&reply)))
	if got, want := <-seen, []string{"authorization=Bearer right", "tenant=b", "ada"}; !slices.Equal(got, want) {
		t.Errorf("the handler saw %q, want %q", got, want)
	}
	if reply.Len() != 1 || reply.Get("answer") != "ü\x00\xff" {
		t.Errorf("%v came back", reply)
	}
	many := map[string]string{"__AUTH": "Bearer right"}
	for i := range 64 {
		many["key"+strconv.Itoa(i)] = ""
	}
	for _, meta := range []map[string]string{many, {"big": strings.Repeat("x", 17<<10)}, {"": "x"}, {strings.Repeat("k", 256): ""}} {
		p, err = c.do(&packet{path: "Meta", method: "See", meta: meta})
		must(t, err)
		if p.second&3 != 1 || p.meta["weft-outcome"] != "Refused" {
			t.Errorf("%d pairs: %q", len(meta), p.meta)
		}
	}
}

// TestConnCredential admits a connection by the token in its first request.
func TestConnCredential(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{AuthenticateConn: func(_ context.Context, c weft.Credential, _ *weft.Peer) (any, error) {
		if c.Token != "right" {
			return nil, weft.Errorf(weft.Unauthenticated, "a wrong token")
		}
		return nil, nil
	}}, echo)
	p, err := plain(t, addr).do(&packet{path: "Bytes", method: "Echo", meta: map[string]string{"__AUTH": "right"}, payload: []byte("in")})
	must(t, err)
	if string(p.payload) != "in" {
		t.Errorf("the right token: %q", p.meta)
	}
	p, err = plain(t, addr).do(&packet{path: "Bytes", method: "Echo", meta: map[string]string{"__AUTH": "wrong"}, payload: []byte("in")})
	must(t, err)
	if p.meta["__rpcx_error__"] != "a wrong token" {
		t.Errorf("a wrong token: %q", p.meta)
	}
}

// TestDeadline gives a call less time than its handler wants, and one that has none left.
func TestDeadline(t *testing.T) {
	left := make(chan time.Duration, 4)
	_, addr := serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Slow.Wait", func(ctx context.Context, _ *[]byte) (*[]byte, error) {
			due, _ := ctx.Deadline()
			left <- time.Until(due)
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	c := plain(t, addr)
	p, err := c.do(&packet{path: "Slow", method: "Wait", meta: map[string]string{"__ServerTimeout": "50"}})
	must(t, err)
	if d := <-left; d > 50*time.Millisecond || p.meta["weft-code"] != "DeadlineExceeded" {
		t.Errorf("%v were left, %q", d, p.meta)
	}
	for _, ms := range []string{"0", "-3"} {
		p, err = c.do(&packet{path: "Slow", method: "Wait", meta: map[string]string{"__ServerTimeout": ms}})
		must(t, err)
		if p.meta["weft-code"] != "DeadlineExceeded" || p.meta["weft-outcome"] != "Refused" || len(left) != 0 {
			t.Errorf("%s ms: %q", ms, p.meta)
		}
	}
}

// TestOneway makes calls that nothing answers, good and bad, before one that is answered.
func TestOneway(t *testing.T) {
	ran := make(chan string, 8)
	srv, addr := serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return errors.Join(echo(srv), weft.Handle(srv, "Log.Line", func(_ context.Context, b *[]byte) (*[]byte, error) {
			time.Sleep(10 * time.Millisecond)
			ran <- string(*b)
			return nil, weft.Errorf(weft.Internal, "the caller does not get this")
		}))
	})
	c := plain(t, addr)
	for _, p := range []*packet{
		{second: 0x20, path: "Log", method: "Line", payload: []byte("one")},
		{second: 0x20, path: "Log", method: "None"},
		{second: 0x20, third: 0xf0, path: "Log", method: "Line"},
	} {
		_, err := c.send(p)
		must(t, err)
	}
	p, err := c.do(&packet{path: "Bytes", method: "Echo", payload: []byte("two-way")})
	must(t, err)
	if string(p.payload) != "two-way" || <-ran != "one" {
		t.Errorf("%q", p.meta)
	}
	polltest.True(t, patience, "the unknown method is counted", func() bool { return srv.Stats().Refused[weft.ReasonNoMethod] == 1 })
	// A client that leaves at once behind a one-way call.
	last := plain(t, addr)
	_, err = last.send(&packet{second: 0x20, path: "Log", method: "Line", payload: []byte("left")})
	must(t, err)
	last.Close()
	select {
	case text := <-ran:
		if text != "left" {
			t.Errorf("%q ran", text)
		}
	case <-time.After(patience):
		t.Error("the one-way call of a client that has left did not run")
	}
}

// TestMessageBytes: the messages that wait for OnMessage are bounded by their bytes too.
func TestMessageBytes(t *testing.T) {
	srv, addr := serve(t, weft.ServerConfig{}, echo)
	const size, sent = 60 << 10, 50
	let, last := make(chan struct{}), make(chan struct{}, sent)
	var got atomic.Int64
	c := dial(t, addr, rpcx.Wire(&rpcx.WireConfig{OnMessage: func(m *rpcx.Message) {
		<-let
		if len(m.Payload) < size {
			select {
			case last <- struct{}{}:
			default: // there are enough
			}
		} else {
			got.Add(1)
		}
	}}), func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = 64 << 10 })
	must(t, c.Ping(t.Context()))
	notify := func(n int) {
		for _, peer := range srv.Peers() {
			must(t, peer.Notify(t.Context(), "News.Large", make([]byte, n), weft.WithCodec(raw.New())))
		}
	}
	for range sent {
		notify(size)
	}
	must(t, c.Ping(t.Context())) // the client has read them
	close(let)
	polltest.True(t, patience, "a message comes behind them", func() bool {
		notify(1)
		return len(last) > 0
	})
	if n := got.Load(); n < 4 || n > 6 {
		t.Errorf("%d messages of %d bytes were kept, want four times the limit of a message", n, size)
	}
}

// TestMessages sends messages from a server to clients of both kinds.
func TestMessages(t *testing.T) {
	srv, addr := serve(t, weft.ServerConfig{}, echo)
	c := plain(t, addr)
	_, err := c.do(&packet{path: "Bytes", method: "Echo"})
	must(t, err)
	got := make(chan *rpcx.Message, 4)
	dial(t, addr, rpcx.Wire(&rpcx.WireConfig{OnMessage: func(m *rpcx.Message) {
		got <- m
		panic("on purpose")
	}}), nil)
	polltest.True(t, patience, "both are there", func() bool { return len(srv.Peers()) == 1 })
	must(t, dial(t, addr, rpcx.Wire(&rpcx.WireConfig{OnMessage: func(m *rpcx.Message) { got <- m }}), nil).Ping(t.Context()))
	polltest.True(t, patience, "both are there", func() bool { return len(srv.Peers()) == 2 })
	for _, peer := range srv.Peers() {
		for range 2 {
			must(t, peer.Notify(weft.WithMetadata(t.Context(), "k", "v"), "News.Of.Day", &Reply{C: 7}))
		}
		if err := peer.Call(t.Context(), "News.Of.Day", &Reply{}, nil); weft.CodeOf(err) != weft.Unimplemented {
			t.Errorf("a call to a client of rpcx: %v", err)
		}
	}
	for range 2 {
		p := <-c.push
		if p.second != 0x20 || p.third != 0x30 || p.path != "News.Of" || p.method != "Day" || p.meta["k"] != "v" {
			t.Errorf("a message arrived as %+v", p)
		}
		m := <-got
		var r Reply
		if err := m.Decode(&r); err != nil || r.C != 7 || m.Method != "News.Of.Day" || m.Metadata.Get("k") != "v" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// TestOverHTTP calls through a connection that begins with CONNECT.
func TestOverHTTP(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, echo)
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	_, err = io.WriteString(conn, "CONNECT /_rpcx_ HTTP/1.0\n\n")
	must(t, err)
	answer := make([]byte, len("HTTP/1.0 200 Connected to rpcx\n\n"))
	conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.0 200 Connected to rpcx\n\n" {
		t.Fatalf("%q, %v", answer, err)
	}
	c := newClient(conn)
	defer c.Close()
	p, err := c.do(&packet{path: "Bytes", method: "Echo", payload: []byte("tunnel")})
	must(t, err)
	if string(p.payload) != "tunnel" {
		t.Errorf("%q", p.meta)
	}
	w := dial(t, addr, rpcx.WireHTTP(nil), nil)
	back, err := weft.Invoke[[]byte](t.Context(), w, "Bytes.Echo", &[]byte{1}, weft.WithCodec(raw.New()))
	if err != nil || len(*back) != 1 {
		t.Error(err)
	}
	other := listen(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.0 404 Not Found\r\n\r\n") })
	_, err = weft.Dial(t.Context(), "rpcx+http://"+other, &weft.ClientConfig{Wires: []weft.Wire{rpcx.WireHTTP(nil)}, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a server without rpcx: %v", err)
	}
}

// TestLongErrors: an error with more bytes than the client allows is not taken for one of a call that was run.
func TestLongErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	served := make(chan struct{})
	defer func() { <-served }()
	go func() { // it ends with the connection
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for r := bufio.NewReader(conn); ; {
			p, err := readPacket(r)
			if err != nil {
				return
			}
			p.meta = map[string]string{"__rpcx_error__": "no"}
			p.payload = make([]byte, 200<<10)
			if p.second = 0x80; p.method == "Fails" {
				p.second |= 1
			}
			_, _ = conn.Write(p.bytes()) // an error is that of the connection
		}
	}()
	c := dial(t, l.Addr().String(), rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = 64 << 10 })
	defer c.Close()
	for method, want := range map[string]weft.Outcome{"Test.Fails": weft.OutcomeUnknown, "Test.Runs": weft.Executed} {
		err := c.Call(t.Context(), method, &Reply{}, new(Reply))
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.ResourceExhausted || e.Outcome != want {
			t.Errorf("%s: %v, want the outcome %v", method, err, want)
		}
	}
}

// TestHeartbeat loses a server that stops to answer.
func TestHeartbeat(t *testing.T) {
	addr := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	short := func(cfg *weft.ClientConfig) {
		cfg.Limits.PingInterval, cfg.Limits.PingIdle, cfg.Limits.PingTimeout = 20*time.Millisecond, 20*time.Millisecond, 20*time.Millisecond
	}
	c := dial(t, addr, rpcx.Wire(nil), short)
	err := c.Call(t.Context(), "Bytes.Echo", &[]byte{}, nil, weft.WithTimeout(patience))
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unavailable || !strings.Contains(e.Message, "heartbeat") {
		t.Errorf("%v", err)
	}
	_, addr = serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Slow.Wait", func(context.Context, *[]byte) (*[]byte, error) {
			time.Sleep(300 * time.Millisecond)
			return new([]byte), nil
		})
	})
	long := func(cfg *weft.ClientConfig) {
		short(cfg)
		cfg.Limits.PingTimeout = patience
	}
	must(t, dial(t, addr, rpcx.Wire(nil), long).Call(t.Context(), "Slow.Wait", &[]byte{}, nil))
}

// TestDrain shuts a server down: a client of rpcx loses its connection, since it calls another server
// then; one of weft is told.
func TestDrain(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	srv, addr := serve(t, weft.ServerConfig{}, func(srv *weft.Server) error {
		return errors.Join(echo(srv), weft.Handle(srv, "Slow.Wait", func(context.Context, *[]byte) (*[]byte, error) {
			entered <- struct{}{}
			<-release
			return new([]byte), nil
		}))
	})
	old, native := plain(t, addr), dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.MaxConns = 1 })
	running, err := old.send(&packet{path: "Slow", method: "Wait"})
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := native.Call(t.Context(), "Slow.Wait", &[]byte{}, nil); err != nil {
			t.Errorf("a call that ran: %v", err)
		}
	})
	<-entered
	<-entered
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	peer := native.Peer()
	polltest.True(t, patience, "a client of weft is refused", func() bool {
		e, ok := errors.AsType[*weft.Error](peer.Call(t.Context(), "Bytes.Echo", &[]byte{}, nil, weft.WithCodec(raw.New())))
		return ok && e.Reason == weft.ReasonDraining && e.Outcome == weft.Refused
	})
	// The drain of each connection begins by itself: calls of this one are answered until it has.
	var late chan *packet
	polltest.True(t, patience, "a call of a stock client is not answered", func() bool {
		late, err = old.send(&packet{path: "Bytes", method: "Echo"})
		must(t, err)
		select {
		case <-late:
			return false
		case <-time.After(time.Second):
			return true
		}
	})
	close(release)
	if p := <-running; p == nil || p.second != 0x80 {
		t.Error("a call that ran was not answered")
	}
	if p := <-late; p != nil {
		t.Errorf("a call that came during the drain was answered: %+v", p)
	}
	wg.Wait()
}

// TestFurtherNumbers has a codec and a compressor under numbers of the program's own.
func TestFurtherNumbers(t *testing.T) {
	numbers := rpcx.Config{Codecs: map[int]string{9: "gencode"}, Compressors: map[int]string{2: "twice"}}
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{rpcx.Door(&numbers)}, Logger: slog.New(slog.DiscardHandler),
		Compressors: []compress.Compressor{twice{}}})
	must(t, echo(srv))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	c := plain(t, l.Addr().String())
	body := bytes.Repeat([]byte("a"), 2000)
	p, err := c.do(&packet{second: 0x08, path: "Bytes", method: "Echo", payload: append(body[:1000:1000], body[:1000]...)})
	must(t, err)
	if p.second&0x83 != 0x80 || p.third != 0 {
		t.Errorf("%#x, %q", p.second, p.meta)
	}
	for _, bad := range []rpcx.Config{{Codecs: map[int]string{3: "json"}}, {Codecs: map[int]string{16: "x"}}, {Compressors: map[int]string{1: "x"}}} {
		_, err := weft.Dial(t.Context(), "rpcx://"+l.Addr().String(), &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler),
			Wires: []weft.Wire{rpcx.Wire(&rpcx.WireConfig{Codecs: bad.Codecs, Compressors: bad.Compressors})}})
		if err == nil || !strings.Contains(err.Error(), "has number") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// twice is a compressor that is none.
type twice struct{}

func (twice) Name() string                             { return "twice" }
func (twice) Compress(dst, src []byte) ([]byte, error) { return append(dst, src[:len(src)/2]...), nil }
func (twice) Decompress(dst, src []byte, limit int) ([]byte, error) {
	if 2*len(src) > limit {
		return nil, compress.ErrTooLarge
	}
	return append(append(dst, src...), src...), nil
}

// TestFirstCallNotSent: the first call that is sent tells the server that its client is one of weft, also where an earlier
// one was given up before it was sent.
func TestFirstCallNotSent(t *testing.T) {
	near, far := net.Pipe()
	w, err := rpcx.Wire(&rpcx.WireConfig{NoHeartbeat: true}).Dial(t.Context(), weft.WireConfig{
		Dial:   func(context.Context) (net.Conn, error) { return near, nil },
		Limits: weft.Limits{MaxMessage: 1 << 20, MaxMetadata: 16 << 10, WriteBuffer: 1 << 20, WriteTimeout: patience},
		Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	defer w.Close()
	call := &weft.WireCall{Method: "Bytes.Echo", Codec: raw.New(), Args: &[]byte{1}, Oneway: true}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if e, ok := errors.AsType[*weft.Error](w.Call(ended, call)); !ok || e.Outcome != weft.NotSent {
		t.Fatalf("the call was sent: %v", e)
	}
	for _, want := range []string{"1", ""} {
		sent := make(chan error, 1)
		go func() { sent <- w.Call(t.Context(), call) }() // it ends when it was sent
		p, err := readPacket(far)
		must(t, err)
		must(t, <-sent)
		if p.meta["weft-wire"] != want {
			t.Errorf("the metadata are %q, want weft-wire %q", p.meta, want)
		}
	}
}
