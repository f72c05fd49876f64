package jsonrpc_test

import (
	"context"
	"log/slog"
	"net"
	nethttp "net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// single is a listener with one connection.
type single struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *single) Addr() net.Addr { return &net.TCPAddr{} }

// TestWebSocketWirePong: a ping that comes long after a request is answered, and the connection goes on.
func TestWebSocketWirePong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		const timeout = time.Second
		pinged := make(chan error, 1)
		srv := &nethttp.Server{ReadHeaderTimeout: time.Hour, Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				pinged <- err
				return
			}
			defer c.CloseNow()
			if _, _, err = c.Read(t.Context()); err == nil {
				err = c.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"result":3}`))
			}
			if err != nil {
				pinged <- err
				return
			}
			time.Sleep(3 * timeout)
			pinged <- c.Ping(c.CloseRead(t.Context()))
		})}
		l := &single{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		l.conn <- far
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }() // it ends with the server
		defer func() {
			srv.Close()
			<-served
		}()
		c, err := jsonrpc.WebSocketWire("").Dial(t.Context(), weft.WireConfig{
			Dial:    func(context.Context) (net.Conn, error) { return near, nil },
			Address: "server", Logger: slog.New(slog.DiscardHandler),
			Limits: weft.Limits{MaxMessage: 1 << 20, WriteBuffer: 1 << 20, HandshakeTimeout: time.Hour, WriteTimeout: timeout, PingIdle: time.Hour}})
		must(t, err)
		defer c.Close()
		var reply int
		must(t, c.Call(t.Context(), &weft.WireCall{Method: "sum", Args: []int{1, 2}, Reply: &reply}))
		if err := <-pinged; err != nil || reply != 3 {
			t.Errorf("%v, %d", err, reply)
		}
	})
}
