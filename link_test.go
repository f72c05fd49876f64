package weft_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/outbuf"
)

// A client whose credential the server refuses is told so by every call at once, goes on to
// connect with growing pauses, and works again when the server takes the credential.
func TestRefusedCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tried []time.Time
		accept := false
		var logged log
		w := start(t, &weft.ServerConfig{AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, time.Now())
			if !accept {
				return nil, errors.New("this token has expired")
			}
			return nil, nil
		}}, nil)
		c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Transports: transports(w.net), Logger: logged.logger(), Timeout: time.Minute})
		must(t, err)
		defer c.Close()
		for i := range 20 {
			began := time.Now()
			err := c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
			wantError(t, err, weft.Unauthenticated, weft.NotSent, "this token has expired")
			if d := time.Since(began); d > 0 {
				t.Errorf("call %d failed after %v", i, d)
			}
			_, err = weft.OpenStream[Args, Product](t.Context(), c, "Arith.Mul")
			if i > 0 {
				wantError(t, err, weft.Unauthenticated, weft.NotSent, "this token has expired")
			}
			time.Sleep(5 * time.Second)
		}
		mu.Lock()
		pauses := make([]time.Duration, 0, len(tried))
		for i := 1; i < len(tried); i++ {
			pauses = append(pauses, tried[i].Sub(tried[i-1]))
		}
		accept = true
		mu.Unlock()
		if len(pauses) < 8 || len(pauses) > 30 || slices.Max(pauses) < 10*time.Second || pauses[0] > time.Second {
			t.Errorf("the pauses between two attempts were %v", pauses)
		}
		time.Sleep(2 * weft.DefaultMaxBackoff)
		multiply(t, c)
		wantText(t, logged.String(), "code=Unauthenticated")
	})
}

// timesOut is a connection of which the system tells a write that it has timed out, and a read
// that it has ended.
type timesOut struct {
	net.Conn
	broken chan struct{}
}

func (c timesOut) Write(b []byte) (int, error) {
	select {
	case <-c.broken:
		c.Conn.Close() // the read finds the end now
		time.Sleep(outbuf.Goodbye / 2)
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ETIMEDOUT)}
	default:
		return c.Conn.Write(b)
	}
}

func (c timesOut) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.broken:
		return 0, io.EOF
	default:
		return n, err
	}
}

// A connection that has timed out is not said to have been closed by the peer.
func TestTimedOutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			w := start(t, nil, nil)
			conn, err := w.net.Dial(t.Context(), "server")
			must(t, err)
			c := timesOut{conn, make(chan struct{})}
			client, err := weft.Dial(t.Context(), "held://server", &weft.ClientConfig{Transports: transports(held{c}), NoWaitForReady: true})
			must(t, err)
			multiply(t, client)
			multiply(t, client)
			close(c.broken)
			err = client.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
			if err == nil || strings.Contains(err.Error(), "closed by the peer") {
				t.Errorf("the call ended with %v", err)
			}
			client.Close()
		}
	})
}
