package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

// serveBy starts a server whose handlers of downloads and streams are the test's, on a listener that wrap may replace.
func serveBy(t testing.TB, cfg weft.ServerConfig, log io.Writer, wrap func(net.Listener) net.Listener, download func(context.Context, *transfer.Download) error, stream func(context.Context, *transfer.Stream) error) (*weft.Server, string) {
	t.Helper()
	d := transfer.New(nil)
	cfg.Doors, cfg.Logger = []weft.Door{rpcx.Door(nil), d}, slog.New(slog.NewTextHandler(log, nil))
	srv := weft.NewServer(&cfg)
	if download != nil {
		must(t, d.HandleDownload(srv, download))
	}
	if stream != nil {
		must(t, d.HandleStream(srv, stream))
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	if wrap != nil {
		l = wrap(l)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, addr
}

// TestCutOff has servers that close the connection of a download whose handler does not heed its context.
func TestCutOff(t *testing.T) {
	for name, cut := range map[string]func(*weft.Server){
		"Server.Close": func(srv *weft.Server) { srv.Close() },
		"Shutdown": func(srv *weft.Server) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			srv.Shutdown(ctx)
		},
		"Peer.Close": func(srv *weft.Server) {
			for _, p := range srv.Peers() {
				p.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			free := make(chan struct{})
			srv, addr := serveBy(t, weft.ServerConfig{}, io.Discard, nil, func(_ context.Context, f *transfer.Download) error {
				_, err := io.WriteString(f, "a part")
				<-free
				return err
			}, nil)
			n, second := token(t, addr, "_filetransfer", "DownloadFile", downloadMsgpack)
			conn := dialSecond(t, second, n)
			_, err := io.ReadFull(conn, make([]byte, len("a part")))
			must(t, err)
			done := make(chan struct{})
			go func() { // it ends with the handler
				defer close(done)
				cut(srv)
			}()
			ended(t, conn)
			close(free)
			next(t, done)
		})
	}
}

// wrapped are the connections of a listener.
type wrapped struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w *wrapped) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// plain is a connection with the methods of net.Conn alone.
type plain struct{ net.Conn }

// lingering is one with SetLinger too.
type lingering struct{ plain }

func (l lingering) SetLinger(sec int) error { return l.Conn.(*net.TCPConn).SetLinger(sec) }

// logged is where a server logs.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// TestWrapped has listeners that wrap their connections: those with SetLinger are reset, and for others the log says once that they are not.
func TestWrapped(t *testing.T) {
	broken := func(_ context.Context, f *transfer.Download) error {
		io.WriteString(f, "a part")
		return errors.New("the disk is gone")
	}
	for _, test := range []struct {
		name  string
		wrap  func(net.Conn) net.Conn
		warns int
	}{
		{"with SetLinger", func(c net.Conn) net.Conn { return lingering{plain{c}} }, 0},
		{"without", func(c net.Conn) net.Conn { return plain{c} }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := new(logged)
			_, addr := serveBy(t, weft.ServerConfig{}, log, func(l net.Listener) net.Listener { return &wrapped{l, test.wrap} }, broken, nil)
			for range 2 {
				n, second := token(t, addr, "_filetransfer", "DownloadFile", downloadMsgpack)
				_, err := io.ReadAll(dialSecond(t, second, n))
				if test.warns == 0 && (err == nil || isTimeout(err)) {
					t.Errorf("the connection ended with %v, want a reset", err)
				}
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			if n := strings.Count(log.all.String(), "SetLinger"); n != test.warns {
				t.Errorf("the log says %d times that connections cannot be reset, want %d:\n%s", n, test.warns, &log.all)
			}
		})
	}
}
