package connect_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/holding"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/internal/polltest"
)

const patience = 20 * time.Second

// startHostile serves the doors for a client that breaks rules, and returns the address.
func startHostile(t *testing.T, cfg weft.ServerConfig, register func(srv *weft.Server) error) string {
	t.Helper()
	if cfg.Logger = slog.New(slog.DiscardHandler); cfg.Doors == nil {
		cfg.Doors = connect.Doors(nil)
	}
	if cfg.Limits.HandshakeTimeout == 0 {
		cfg.Limits.HandshakeTimeout = time.Minute // half of it is for the first byte, before which a test may look at the memory
	}
	srv := weft.NewServer(&cfg)
	must(t, register(srv))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return l.Addr().String()
}

func echo(srv *weft.Server) error {
	return weft.Handle(srv, "Demo.Echo", func(_ context.Context, n *Name) (*Name, error) { return n, nil })
}

// frame appends a frame of HTTP/2.
func frame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// fields are header fields in HPACK without compression.
func fields(pairs ...string) (b []byte) {
	for i := 0; i < len(pairs); i += 2 {
		b = append(append(b, 0, byte(len(pairs[i]))), pairs[i]...)
		b = append(append(b, byte(len(pairs[i+1]))), pairs[i+1]...)
	}
	return b
}

func post(path string) []byte {
	return fields(":method", "POST", ":scheme", "http", ":path", path, ":authority", "x", "content-type", "application/json")
}

// preface begins a connection of HTTP/2 whose streams have a window.
func preface(window uint32) []byte {
	return frame([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 4, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, window))
}

// TestPartsOfBodies: the bodies of all requests of a connection count against the limits of the server, whatever
// their protocol and whether their length was told.
func TestPartsOfBodies(t *testing.T) {
	const size = 1 << 20
	addr := startHostile(t, weft.ServerConfig{Limits: weft.Limits{MaxCallBytes: 4 * size, MaxStreamBytes: 4 * size}}, func(srv *weft.Server) error {
		if err := weft.HandleClientStream(srv, "Demo.Add", func(_ context.Context, in *weft.Receiver[Name]) (*Name, error) {
			_, err := in.Recv()
			return &Name{}, err
		}); err != nil {
			return err
		}
		return echo(srv)
	})
	for path, kind := range map[string]string{"/Demo/Echo": "application/grpc-web+json", "/Demo/Add": "application/connect+json"} {
		transport := &nethttp.Transport{Protocols: new(nethttp.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		client := &nethttp.Client{Transport: transport, Timeout: patience}
		refused := make(chan struct{}, 16)
		var open []*io.PipeWriter
		for range cap(refused) {
			from, to := io.Pipe()
			open = append(open, to)
			go func() { // it ends with the request
				part := binary.BigEndian.AppendUint32([]byte{0}, 2*size)
				_, _ = to.Write(append(part, make([]byte, size)...))
			}()
			r, err := nethttp.NewRequest("POST", "http://"+addr+path, from)
			must(t, err)
			r.Header.Set("Content-Type", kind)
			go func() { // it ends with the request
				res, err := client.Do(r)
				if err != nil {
					return
				}
				b, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if strings.Contains(string(b), "resource_exhausted") || strings.Contains(string(b), "grpc-status: 8\r\n") {
					refused <- struct{}{}
				}
			}()
		}
		select {
		case <-refused:
		case <-time.After(patience / 2):
			t.Errorf("%s: %d MiB of parts of messages are kept on a connection, which may hold 4", kind, cap(refused))
		}
		for _, to := range open {
			to.CloseWithError(io.ErrUnexpectedEOF)
		}
		client.CloseIdleConnections()
	}
}

// TestUnreadReplies: a client that makes many calls over HTTP/2 and reads none of the replies has few of them encoded, by Connect and by
// the addresses of door/http.
func TestUnreadReplies(t *testing.T) {
	for name, doors := range map[string][]weft.Door{"Connect": connect.Doors(nil), "HTTP": connect.Doors(&connect.Config{HTTP: &http.Config{}})} {
		t.Run(name, func(t *testing.T) { unreadReplies(t, doors) })
	}
}

func unreadReplies(t *testing.T, doors []weft.Door) {
	const calls, size = 300, 1 << 20
	var ran atomic.Int64
	text := strings.Repeat("x", size)
	addr := startHostile(t, weft.ServerConfig{Overload: weft.Overload{Off: true}, Doors: doors}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Large", func(context.Context, *Name) (*Name, error) {
			ran.Add(1)
			return &Name{text}, nil
		})
	})
	before := doortest.HeapInUse()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	b := preface(0)
	for n := range uint32(calls) {
		b = frame(b, 1, 4, 2*n+1, append(post("/Demo/Large"), fields("content-length", "2")...))
		b = frame(b, 0, 1, 2*n+1, []byte(`{}`))
	}
	_, err = conn.Write(b)
	must(t, err)
	polltest.Until(t, patience, "all handlers have run", func() error {
		if n := ran.Load(); n < calls {
			return fmt.Errorf("%d have", n)
		}
		return nil
	})
	lasts(t, "few replies are held", func() error { // handlers that have run have yet to find that there is no room
		if kept := doortest.HeapInUse() - before; kept > calls*size/3 {
			return fmt.Errorf("%d MiB are held for %d replies of 1 MiB that are not read", kept>>20, calls)
		}
		return nil
	})
}

// lasts waits until something was so for a second: when it is so first, handlers may yet change it.
func lasts(t *testing.T, what string, try func() error) {
	t.Helper()
	var since time.Time
	row := 0
	polltest.Until(t, patience, what, func() error {
		if err := try(); err != nil {
			row = 0
			return err
		}
		if row++; row == 1 {
			since = time.Now()
		}
		if took := time.Since(since); row < 3 || took < time.Second {
			return fmt.Errorf("it was so %d times in a row, for %v", row, took) // a look that collects garbage may itself take a second
		}
		return nil
	})
}

// TestUnreadGateway is TestUnreadReplies for calls by the gateway of rpcx.
func TestUnreadGateway(t *testing.T) {
	const calls, size = 300, 64 << 10
	var ran atomic.Int64
	text, counted := strings.Repeat("x", size), holding.NewCounting(json.New())
	addr := startHostile(t, weft.ServerConfig{Overload: weft.Overload{Off: true}, Codecs: []codec.Codec{counted},
		Limits: weft.Limits{WriteBuffer: size}, Doors: connect.Doors(&connect.Config{HTTP: &http.Config{Handler: rpcx.Handler(nil, nil)}})},
		func(srv *weft.Server) error {
			return weft.Handle(srv, "Demo.Large", func(context.Context, *Name) (*Name, error) {
				ran.Add(1)
				return &Name{text}, nil
			})
		})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	header := append(post("/"), fields("x-rpcx-servicepath", "Demo", "x-rpcx-servicemethod", "Large", "x-rpcx-serializetype", "1", "content-length", "2")...)
	b := preface(0)
	for n := range uint32(calls) {
		b = frame(b, 1, 4, 2*n+1, header)
		b = frame(b, 0, 1, 2*n+1, []byte(`{}`))
	}
	_, err = conn.Write(b)
	must(t, err)
	polltest.True(t, patience, "all handlers have run", func() bool { return ran.Load() == calls })
	last := int64(0)
	lasts(t, "no more replies are encoded", func() error {
		was := last
		if last = counted.Encoded(); last != was || last == 0 {
			return fmt.Errorf("%d are, and %d were", last, was)
		}
		return nil
	})
	if last > calls/3 {
		t.Errorf("%d of %d replies are encoded, and none is read", last, calls)
	}
}

// TestBombs: what requests become when their compression is undone counts like requests that came as they are.
func TestBombs(t *testing.T) {
	const calls, size = 32, 1 << 20
	release := make(chan struct{})
	var once sync.Once
	end := func() { once.Do(func() { close(release) }) }
	addr := startHostile(t, weft.ServerConfig{Timeout: -1, Compressors: []compress.Compressor{gzip.New()}, Overload: weft.Overload{Off: true}, Limits: weft.Limits{MaxCallBytes: 8 * size}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Keep", func(context.Context, *Name) (*Name, error) {
			<-release
			return &Name{}, nil
		})
	})
	defer end()
	bomb, err := gzip.New().Compress(nil, []byte(`{"text":"`+strings.Repeat("A", size-16)+`"}`))
	must(t, err)
	framed := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(bomb))), bomb...)
	for kind, how := range map[string]struct {
		header string
		body   []byte
	}{"application/json": {"Content-Encoding", bomb}, "application/grpc-web+json": {"Grpc-Encoding", framed}, "application/grpc+json": {"Grpc-Encoding", framed}} {
		transport := &nethttp.Transport{Protocols: new(nethttp.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(true)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		refused := make(chan struct{}, calls)
		var all sync.WaitGroup
		for range calls {
			all.Go(func() {
				r, err := nethttp.NewRequestWithContext(ctx, "POST", "http://"+addr+"/Demo/Keep", bytes.NewReader(how.body))
				if err != nil {
					return
				}
				r.Header.Set("Content-Type", kind)
				r.Header.Set("Te", "trailers")
				r.Header.Set("Connect-Protocol-Version", "1")
				r.Header.Set(how.header, "gzip")
				res, err := transport.RoundTrip(r)
				if err != nil {
					return
				}
				b, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if strings.Contains(string(b), "resource_exhausted") || strings.Contains(string(b), "grpc-status: 8\r\n") || res.Header.Get("Grpc-Status")+res.Trailer.Get("Grpc-Status") == "8" {
					refused <- struct{}{}
				}
			})
		}
		for range calls - 8 { // the others have room
			select {
			case <-refused:
				continue
			case <-ctx.Done():
				t.Errorf("%s: bombs beyond Limits.MaxCallBytes are kept", kind)
			}
			break
		}
		cancel()
		all.Wait()
		transport.CloseIdleConnections()
	}
}

// TestRunningRequests: a client may reset its streams and open others as fast as it can write, while the handlers of those it has left go on.
// As many run as a connection may have, the other requests are refused, and each that has run leaves its place, also one that panics.
func TestRunningRequests(t *testing.T) {
	const calls, requests = 16, 1000
	const most = calls + 2*128
	var rounds [3]chan struct{} // closed when the handlers of a round are to return
	for i := range rounds {
		rounds[i] = make(chan struct{})
	}
	var round, entered, running, refused atomic.Int64
	slow := nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {
		release := rounds[round.Load()]
		n := entered.Add(1)
		running.Add(1)
		defer running.Add(-1)
		<-release
		if n%2 == 0 {
			panic("as the test has it")
		}
	})
	addr := startHostile(t, weft.ServerConfig{Limits: weft.Limits{MaxCalls: calls}, Doors: connect.Doors(&connect.Config{HTTP: &http.Config{Handler: slow}})},
		func(*weft.Server) error { return nil })
	closed := 0
	defer func() {
		for _, release := range rounds[closed:] {
			close(release)
		}
	}()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(5*patience)))
	go func() { // it ends with the connection
		in, head := bufio.NewReader(conn), make([]byte, 9)
		for {
			if _, err := io.ReadFull(in, head); err != nil {
				return
			}
			payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
			if _, err := io.ReadFull(in, payload); err != nil {
				return
			}
			if head[3] == 3 && binary.BigEndian.Uint32(payload) == 7 {
				refused.Add(1)
			}
		}
	}()
	get := fields(":method", "GET", ":scheme", "http", ":path", "/slow", ":authority", "x")
	b, sent := preface(64<<10), int64(0)
	flood := func(n int) {
		t.Helper()
		for range n {
			stream := uint32(2*sent + 1)
			b = frame(frame(b, 1, 5, stream, get), 3, 0, stream, []byte{0, 0, 0, 8})
			sent++
		}
		_, err := conn.Write(b)
		must(t, err)
		b = b[:0]
	}
	for i := range rounds {
		round.Store(int64(i))
		flood(requests)
		polltest.Until(t, patience, "as many requests run as may", func() error {
			ran, told := entered.Load(), refused.Load()
			if n := running.Load(); n > most || n == most && ran+told == sent {
				return nil
			}
			if ran+told == sent { // places that were left just now are free a moment later
				flood(calls)
			}
			return fmt.Errorf("%d run, want %d; of %d requests in all %d have run and %d were refused", running.Load(), most, sent, ran, told)
		})
		if n := running.Load(); n > most {
			t.Fatalf("%d requests run, want %d at most", n, most)
		}
		close(rounds[i])
		closed++
		polltest.True(t, patience, "all handlers have returned", func() bool { return running.Load() == 0 })
	}
}

// TestStreamsMemory: the messages of streams count against the memory of the server, over all connections: where there is no room, a stream is
// refused that brings more.
func TestStreamsMemory(t *testing.T) {
	const memory = 4 << 20
	release, entered := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(release) })
	addr := startHostile(t, weft.ServerConfig{MaxMemory: memory, Timeout: -1, Overload: weft.Overload{Off: true}, Limits: weft.Limits{MaxMessage: 2 * memory, MaxCallBytes: 2 * memory}},
		func(srv *weft.Server) error {
			if err := weft.HandleClientStream(srv, "Demo.Add", func(_ context.Context, in *weft.Receiver[Name]) (*Name, error) {
				_, err := in.Recv()
				return &Name{}, err
			}); err != nil {
				return err
			}
			return weft.Handle(srv, "Demo.Keep", func(context.Context, *Name) (*Name, error) {
				close(entered)
				<-release
				return &Name{}, nil
			})
		})
	transport := new(nethttp.Transport)
	client := &nethttp.Client{Transport: transport, Timeout: 3 * patience}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	all.Go(func() {
		res, err := client.Post("http://"+addr+"/Demo/Keep", "application/json", strings.NewReader(`{"text":"`+strings.Repeat("x", memory-128<<10)+`"}`))
		if err != nil || res.StatusCode != nethttp.StatusOK {
			t.Errorf("the call that holds the memory: %v, %v", res, err)
			return
		}
		res.Body.Close()
	})
	select {
	case <-entered:
	case <-time.After(patience):
		t.Fatal("the call that holds the memory does not run")
	}
	from, to := io.Pipe()
	defer to.CloseWithError(io.ErrUnexpectedEOF)
	all.Go(func() { // it ends with the request
		_, _ = to.Write(append(binary.BigEndian.AppendUint32([]byte{0}, memory), make([]byte, memory/4)...))
	})
	r, err := nethttp.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/Demo/Add", from)
	must(t, err)
	r.Header.Set("Content-Type", "application/connect+json")
	res, err := client.Do(r)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	if !strings.Contains(string(b), "resource_exhausted") || !strings.Contains(string(b), "MaxMemory") {
		t.Errorf("%s", b)
	}
}
