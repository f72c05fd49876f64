package interop

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/weftrpc/weft"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
)

// rawClient is a client that sends what it likes.
type rawClient struct {
	*http2.Framer
	conn net.Conn
	enc  *hpack.Encoder
	buf  bytes.Buffer
}

func dialRaw(t *testing.T, addr string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &rawClient{Framer: http2.NewFramer(conn, conn), conn: conn}
	c.enc = hpack.NewEncoder(&c.buf)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	_ = c.WriteSettings()
	return c
}

// open sends the header of a call. The connection may have been cut meanwhile.
func (c *rawClient) open(id uint32, path string, more ...[2]string) {
	c.buf.Reset()
	for _, f := range append([][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "test"}, {"content-type", "application/grpc"}, {"te", "trailers"}}, more...) {
		_ = c.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.buf.Bytes(), EndHeaders: true})
}

// told reads until the server refuses a stream, or ends the connection. answered means that a header may also begin a
// reply: then only one that ends the stream is a refusal.
func (c *rawClient) told(answered bool) {
	for {
		f, err := c.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.PingFrame:
			_ = c.WritePing(true, f.Data)
		case *http2.HeadersFrame:
			if !answered || f.StreamEnded() {
				return
			}
		case *http2.RSTStreamFrame:
			return
		}
	}
}

// TestMemoryOfAllConnections has many connections of which each holds less than it may, and all together more
// than MaxMemory: parts of requests, messages that no handler reads, metadata, and replies that have no window. The
// server refuses calls or ends connections then.
func TestMemoryOfAllConnections(t *testing.T) {
	const most, each, conns = 4 << 20, 1 << 20, 12
	chunk := make([]byte, 16<<10)
	send := func(c *rawClient) {
		var prefix [5]byte
		binary.BigEndian.PutUint32(prefix[1:], 2*each)
		_ = c.WriteData(1, false, prefix[:])
		for range each / len(chunk) {
			if c.WriteData(1, false, chunk) != nil {
				return // the connection was cut
			}
		}
	}
	for name, hold := range map[string]func(*rawClient){
		"parts of requests": func(c *rawClient) {
			c.open(1, "/S/Echo")
			send(c)
		},
		"parts of messages": func(c *rawClient) {
			c.open(1, "/S/Idle")
			send(c)
		},
		"metadata": func(c *rawClient) {
			for id := uint32(1); id < 200; id += 2 {
				c.open(id, "/S/Echo", [2]string{"x-large", strings.Repeat("~", 10<<10)})
			}
		},
		"metadata of streams": func(c *rawClient) {
			for id := uint32(1); id < 200; id += 2 {
				c.open(id, "/S/Idle", [2]string{"x-large", strings.Repeat("~", 10<<10)})
			}
		},
		"replies without a window": func(c *rawClient) {
			_ = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			for id := uint32(1); id < 40; id += 2 {
				c.open(id, "/S/Large")
				_ = c.WriteData(id, true, make([]byte, 5))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{weftgrpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler), MaxMemory: most})
			type blob struct{ B []byte }
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			must(weft.Handle(srv, "S.Echo", func(_ context.Context, b *blob) (*blob, error) { return b, nil }))
			must(weft.Handle(srv, "S.Large", func(_ context.Context, b *blob) (*blob, error) { return &blob{make([]byte, 100<<10)}, nil }))
			must(weft.HandleStream(srv, "S.Idle", func(ctx context.Context, _ *weft.Stream[blob, blob]) error { <-ctx.Done(); return nil }))
			l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
			must(err)
			var wg sync.WaitGroup
			wg.Go(func() { _ = srv.Serve(l) })
			defer wg.Wait()
			defer srv.Close()
			told := make(chan struct{}, conns)
			for range conns {
				c := dialRaw(t, l.Addr().String())
				hold(c)
				wg.Go(func() {
					c.told(name == "replies without a window")
					told <- struct{}{}
				})
			}
			select {
			case <-told:
			case <-time.After(30 * time.Second):
				t.Error("the server refuses nothing, and ends no connection")
			}
		})
	}
}
