package jsonrpc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestPartsOfRequests: parts of bodies count against the memory of the server.
func TestPartsOfRequests(t *testing.T) {
	doortest.PartsOfRequests(t, http.Door(&http.Config{Handler: jsonrpc.Handler(nil)}), "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n",
		func(srv *weft.Server) error {
			return weft.Handle(srv, "Test.Text", func(_ context.Context, text *string) (*string, error) { return text, nil })
		})
}

// TestWhatIsAround: of a value, no more stays in memory while its calls run than the requests that count.
func TestWhatIsAround(t *testing.T) {
	const values, size = 24, 2 << 20
	request := `{"jsonrpc":"2.0","method":"Test.Wait","params":{},"id":1,"x":"` + strings.Repeat("x", size) + `"}`
	for _, batch := range []bool{false, true} {
		if batch {
			request = "[" + request + "]"
		}
		for name, dial := range map[string]func(t *testing.T, addr string) (send func(), end func()){
			"tcp": func(t *testing.T, addr string) (func(), func()) {
				conn, err := net.Dial("tcp", addr)
				must(t, err)
				return func() {
					_, err := conn.Write([]byte(request))
					must(t, err)
				}, func() { conn.Close() }
			},
			"websocket": func(t *testing.T, addr string) (func(), func()) {
				s := dialSocket(t, addr, nil)
				return func() { must(t, s.Write(s.ctx, websocket.MessageText, []byte(request))) }, func() { s.CloseNow() }
			},
			"post": func(t *testing.T, addr string) (func(), func()) {
				var all []net.Conn
				return func() {
						conn, err := net.Dial("tcp", addr)
						must(t, err)
						all = append(all, conn)
						_, err = fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(request), request)
						must(t, err)
					}, func() {
						for _, conn := range all {
							conn.Close()
						}
					}
			},
		} {
			t.Run(fmt.Sprint(name, ", batch: ", batch), func(t *testing.T) { whatIsAround(t, values, size, dial) })
		}
	}
}

func whatIsAround(t *testing.T, values, size int, dial func(t *testing.T, addr string) (send func(), end func())) {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Timeout: -1, Overload: weft.Overload{Off: true},
		Doors: []weft.Door{jsonrpc.Door(nil), http.Door(&http.Config{Handler: jsonrpc.Handler(nil)})}})
	must(t, weft.Handle(srv, "Test.Wait", func(ctx context.Context, _ *struct{}) (*string, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	defer served.Wait()
	defer srv.Close()
	before := doortest.HeapInUse()
	send, end := dial(t, l.Addr().String())
	defer end()
	for range values {
		send()
	}
	polltest.True(t, patience, "all calls run", func() bool { return srv.Stats().InFlight == values })
	polltest.Until(t, 20*time.Second, "little is kept of what is around the requests", func() error {
		if kept := doortest.HeapInUse() - before; kept > int64(values*size/3) {
			return fmt.Errorf("%d MiB are kept", kept>>20)
		}
		return nil
	})
}
