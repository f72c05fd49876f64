package rpcx_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/polltest"
)

// part is the beginning of a frame of 4 MiB, of which size bytes of the payload come.
func part(size int) []byte {
	p := packet{third: 1 << 4, seq: 7, path: "Demo", method: "Echo", meta: map[string]string{"__AUTH": "Bearer nonsense"}}
	b := p.bytes()
	binary.BigEndian.PutUint32(b[12:], 4<<20)
	return append(b, make([]byte, size)...)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func registerEcho(srv *weft.Server) error {
	return weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil })
}

// TestPartsOfFrames: parts of frames count against the memory of the server, also when the frames never become whole.
func TestPartsOfFrames(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{MaxMemory: 16 << 20, Limits: weft.Limits{HandshakeTimeout: time.Hour}}, registerEcho)
	closed := make(chan struct{}, 16)
	for range cap(closed) {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		defer conn.Close()
		_, _ = conn.Write(part(3 << 20)) // it fails on a connection that the server has ended
		go func() {                      // it ends with the connection
			_, _ = conn.Read(make([]byte, 1))
			closed <- struct{}{}
		}()
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Errorf("%d MiB of parts of frames are kept, more than the server may hold", cap(closed)*3)
	}
}

// TestStrangers: the first frame of a connection that is not admitted is not kept while it comes in, and
// is answered.
func TestStrangers(t *testing.T) {
	const conns, size = 20, 3 << 20
	_, addr := serve(t, weft.ServerConfig{Limits: weft.Limits{HandshakeTimeout: time.Hour},
		AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
			return nil, weft.Errorf(weft.Unauthenticated, "no")
		}}, registerEcho)
	before := heap()
	all := make([]net.Conn, conns)
	for i := range all {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err = conn.Write(part(size))
		must(t, err)
		all[i] = conn
	}
	for range 20 {
		if kept := heap() - before; kept > conns*size/3 {
			t.Fatalf("%d MiB are kept of %d connections that are not admitted", kept>>20, conns)
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, err := all[0].Write(make([]byte, 4<<20-size))
	must(t, err)
	p, err := readPacket(all[0])
	must(t, err)
	if p.seq != 7 || p.path != "Demo" || p.meta["__rpcx_error__"] == "" {
		t.Errorf("the answer to a stranger is %+v", p)
	}
}

// TestMissingNames: names of methods that do not exist take no memory of a connection.
func TestMissingNames(t *testing.T) {
	const names, size = 1000, 590
	_, addr := serve(t, weft.ServerConfig{}, registerEcho)
	before := heap()
	for range 20 {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		var b []byte
		for n := range names {
			p := packet{third: 1 << 4, seq: uint64(n), path: fmt.Sprintf("%0*d", size, n), method: "M"}
			b = append(b, p.bytes()...)
		}
		go func() { _, _ = conn.Write(b) }() // it ends with the connection
		for range names {
			_, err := readPacket(conn)
			must(t, err)
		}
	}
	polltest.Until(t, 20*time.Second, "what is kept is small", func() error {
		if kept := heap() - before; kept > 10<<20 {
			return fmt.Errorf("%d MiB are kept of names", kept>>20)
		}
		return nil
	})
}

// TestBombs: what requests become when their compression is undone counts like requests that came as they are.
func TestBombs(t *testing.T) {
	const calls, size = 64, 1 << 20
	release := make(chan struct{})
	_, addr := serve(t, weft.ServerConfig{Timeout: -1, Overload: weft.Overload{Off: true}, Limits: weft.Limits{MaxCallBytes: 8 * size}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Keep", func(_ context.Context, b *[]byte) (*int, error) {
			<-release
			n := len(*b)
			return &n, nil
		})
	})
	var once sync.Once
	end := func() { once.Do(func() { close(release) }) }
	defer end()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	bomb, err := gzip.New().Compress(nil, []byte(`"`+strings.Repeat("A", size-4)+`"`))
	must(t, err)
	for n := range calls {
		_, err := conn.Write((&packet{second: 1 << 2, third: 1 << 4, seq: uint64(n), path: "Demo", method: "Keep", payload: bomb}).bytes())
		must(t, err)
	}
	for range calls - 8 { // the others have room
		p, err := readPacket(conn)
		must(t, err)
		if text := p.meta["__rpcx_error__"]; !strings.Contains(text, "too many bytes") {
			t.Fatalf("%q", text)
		}
	}
	end()
	for range 4 { // some of those that wait
		p, err := readPacket(conn)
		must(t, err)
		if text := p.meta["__rpcx_error__"]; text != "" && !strings.Contains(text, "too many bytes") {
			t.Fatalf("%q", text)
		}
	}
}

// TestUnreadReplies: what handlers return to a client that does not read is bounded.
func TestUnreadReplies(t *testing.T) { doortest.UnreadReplies(t, door(), wire()) }

// TestExpectedReplies: calls of a method whose replies are long count with about one of them while they run, and are refused where
// there is no memory for it.
func TestExpectedReplies(t *testing.T) {
	const calls, size, most = 64, 1 << 20, 16 << 20
	release := make(chan struct{})
	_, addr := serve(t, weft.ServerConfig{Timeout: -1, Overload: weft.Overload{Off: true}, MaxMemory: most}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Get", func(_ context.Context, wait *bool) (*[]byte, error) {
			if *wait {
				<-release
			}
			b := make([]byte, size)
			return &b, nil
		})
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	ask := func(n int, payload string) {
		_, err := conn.Write((&packet{third: 1 << 4, seq: uint64(n), path: "Demo", method: "Get", payload: []byte(payload)}).bytes())
		must(t, err)
	}
	ask(0, "false")
	p, err := readPacket(conn)
	must(t, err)
	if p.meta["__rpcx_error__"] != "" {
		t.Fatalf("%+v", p.meta)
	}
	for n := range calls {
		ask(1+n, "true")
	}
	refused := 0
	for {
		p, err := readPacket(conn)
		must(t, err)
		if !strings.Contains(p.meta["__rpcx_error__"], "as many bytes") {
			if len(p.payload) < size || refused < calls/2 {
				t.Fatalf("after %d refusals: %d bytes, %+v", refused, len(p.payload), p.meta)
			}
			return
		}
		if refused++; refused == calls/2 {
			close(release)
		}
	}
}

// together encodes several values at the same time: each waits for the others.
type together struct {
	codec.Codec
	waiting *atomic.Int32
	all     chan struct{}
}

func (c together) Append(dst []byte, v any) ([]byte, error) {
	if c.waiting.Add(1) == backlog.Turns {
		close(c.all)
	}
	<-c.all
	return c.Codec.Append(dst, v)
}

// TestEncodedReplies: replies that are encoded and wait for room count against the memory of the server.
func TestEncodedReplies(t *testing.T) {
	const calls, size = 10, 3 << 20
	var ran atomic.Int32
	srv, addr := serve(t, weft.ServerConfig{Timeout: -1, Overload: weft.Overload{Off: true}, MaxMemory: 5 * size,
		Codecs: []codec.Codec{together{json.New(), new(atomic.Int32), make(chan struct{})}},
		Limits: weft.Limits{WriteBuffer: 64 << 10, WriteTimeout: time.Hour}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Get", func(context.Context, *bool) (*string, error) {
			ran.Add(1)
			text := strings.Repeat("x", size)
			return &text, nil
		})
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	for n := range calls {
		_, err := conn.Write((&packet{third: 1 << 4, seq: uint64(n), path: "Demo", method: "Get", payload: []byte("true")}).bytes())
		must(t, err)
	}
	polltest.True(t, time.Minute, "all handlers have run", func() bool { return ran.Load() == calls })
	polltest.Until(t, time.Minute, "the connection has ended, for which too much is held", func() error {
		if n := srv.Stats().Connections; n > 0 {
			return fmt.Errorf("%d connections are open", n)
		}
		return nil
	})
}
