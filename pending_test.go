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
)

// Connections that do not get on with their handshake are closed in time, sooner those from
// which nothing comes, and keep no new ones out however many there are.
func TestSlowHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged log
		w := start(t, &weft.ServerConfig{MaxPending: 10, Logger: logged.logger()}, nil)
		c := w.dial(nil)
		synctest.Wait() // until the server's side of the handshake is over, too
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			conn, err := w.net.Dial(t.Context(), "server")
			must(t, err)
			wg.Go(func() { // says nothing, or dribbles
				defer conn.Close()
				dribbles := i%2 == 1
				if dribbles {
					for _, b := range []byte("\xf7weft\r\n\x01 and so on") {
						if _, err := conn.Write([]byte{b}); err != nil {
							break
						}
						time.Sleep(time.Second)
					}
				}
				io.Copy(io.Discard, conn)
				d := time.Since(began)
				if !dribbles && d > 3*time.Second || d > 8*time.Second {
					t.Errorf("connection %d, which dribbles: %v, was open for %v", i, dribbles, d)
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Second)
		for range 3 {
			must(t, firstCall(t, address, &weft.ClientConfig{Transports: transports(w.net), NoWaitForReady: true}))
		}
		wantText(t, logged.String(), "too many connections in their handshake")
		multiply(t, c)
		wg.Wait()
		if d := time.Since(began); d < weft.DefaultHandshakeTimeout {
			t.Errorf("the slow ones were closed after %v", d)
		}
		wantText(t, logged.String(), "nothing has come within half of Limits.HandshakeTimeout (5s)", "it was not over within Limits.HandshakeTimeout (5s)")
		w.dial(nil)
	})
}

// Under a flood of connections that say nothing, or begin a handshake and stop, clients get in.
func TestFloodBeforeAuthentication(t *testing.T) {
	for _, begins := range []string{"", "\xf7weft"} {
		for _, perSecond := range []int{600, 2000} {
			t.Run(fmt.Sprintf("%d a second that begin with %q", perSecond, begins), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := start(t, nil, nil)
					flood, stop := context.WithCancel(t.Context())
					var wg sync.WaitGroup
					wg.Go(func() {
						var held []net.Conn
						for flood.Err() == nil {
							conn, err := w.net.Dial(t.Context(), "server")
							must(t, err)
							io.WriteString(conn, begins)
							held = append(held, conn)
							time.Sleep(time.Second / time.Duration(perSecond))
						}
						for _, conn := range held {
							conn.Close()
						}
					})
					time.Sleep(2 * weft.DefaultHandshakeTimeout)
					const clients = 300
					in := 0
					for range clients {
						conn, err := w.net.Dial(t.Context(), "server")
						must(t, err)
						time.Sleep(20 * time.Millisecond) // the way of the first byte
						c, err := weft.Dial(t.Context(), "held://server", &weft.ClientConfig{
							Transports: transports(held{conn}), NoWaitForReady: true, Timeout: time.Second})
						must(t, err)
						if c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil) == nil {
							in++
						}
						c.Close()
					}
					stop()
					wg.Wait()
					if in < clients*95/100 {
						t.Errorf("%d of %d clients got in", in, clients)
					}
				})
			})
		}
	}
}

// held is a transport with one connection, which was made before.
type held struct{ conn net.Conn }

func (h held) Scheme() string                                       { return "held" }
func (h held) Dial(context.Context, string) (net.Conn, error)       { return h.conn, nil }
func (h held) Listen(context.Context, string) (net.Listener, error) { return nil, io.EOF }

// closedGate is a hook that lets no connection in.
type closedGate struct{}

func (closedGate) ConnAccepted(net.Conn) error { return errors.New("not today") }

// Connections that are refused, however many, do not fill the log.
func TestRefusedConnectionsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged log
		w := start(t, &weft.ServerConfig{Hooks: []any{closedGate{}}, Logger: logged.logger()}, nil)
		for range 200 {
			conn, err := w.net.Dial(t.Context(), "server")
			must(t, err)
			conn.Close()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		full, text := strings.Count(logged.String(), "connection refused by a hook"), logged.String()
		if full != 10 || !strings.Contains(text, `level=INFO msg="more connections refused" times=190`) {
			t.Errorf("%d are told of in full:\n%s", full, text)
		}
	})
}
