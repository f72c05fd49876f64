package thrift_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/door/thrift"
)

// many is a wire's connection whose dials a test handles: n counts them from 1 on.
func many(t *testing.T, dial func(n int) (net.Conn, error)) weft.WireConn {
	t.Helper()
	n := 0
	c, err := thrift.Wire(nil).Dial(t.Context(), weft.WireConfig{Limits: limits(), Logger: slog.New(slog.DiscardHandler), Address: "test",
		Dial: func(context.Context) (net.Conn, error) {
			n++
			return dial(n)
		}})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// waiting starts a server whose Demo.Wait tells that it runs and waits.
func waiting(t *testing.T) (addr string, running, release chan struct{}) {
	running, release = make(chan struct{}, 16), make(chan struct{})
	addr = start(t, nil, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *Get) (*int32, error) {
			running <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return new(int32), nil
		})
	})
	return addr, running, release
}

// begin makes a call and returns when it runs.
func begin(t *testing.T, c weft.WireConn, running chan struct{}) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { // it ends with the call
		done <- c.Call(context.Background(), &weft.WireCall{Method: "Demo.Wait", Codec: msgpack.New(), Args: &Get{}, Reply: new(int32)})
	}()
	select {
	case <-running:
	case <-time.After(patience):
		t.Fatal("the call does not run")
	}
	return done
}

// TestLostWhileDialing: a call that makes a connection while the last one is lost was not sent, and can be made elsewhere.
func TestLostWhileDialing(t *testing.T) {
	addr, running, release := waiting(t)
	defer close(release)
	var c weft.WireConn
	var first net.Conn
	c = many(t, func(n int) (net.Conn, error) {
		if n == 1 {
			conn, err := net.Dial("tcp", addr)
			first = conn
			return conn, err
		}
		first.Close()
		<-c.Done()
		return net.Dial("tcp", addr)
	})
	lost := begin(t, c, running)
	err := c.Call(t.Context(), &weft.WireCall{Method: "Demo.Wait", Codec: msgpack.New(), Args: &Get{}, Reply: new(int32)})
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unavailable || e.Outcome != weft.NotSent || errors.Is(err, weft.ErrClientClosed) {
		t.Errorf("the call that made a connection: %v", err)
	}
	if err := <-lost; weft.CodeOf(err) != weft.Unavailable {
		t.Errorf("the call on the connection that was lost: %v", err)
	}
}

// TestEndedWhileDialing: a call for which no connection can be made, and whose second choice has ended meanwhile, goes to another
// one.
func TestEndedWhileDialing(t *testing.T) {
	addr, running, release := waiting(t)
	var conns []net.Conn
	var first <-chan error
	c := many(t, func(n int) (net.Conn, error) {
		if n > 2 {
			if n == 3 {
				conns[0].Close()
				<-first
			}
			return nil, errors.New("the server takes no more connections")
		}
		conn, err := net.Dial("tcp", addr)
		conns = append(conns, conn)
		return conn, err
	})
	first = begin(t, c, running)
	second := begin(t, c, running)
	third := make(chan error, 1)
	go func() { // it ends with the call
		third <- c.Call(context.Background(), &weft.WireCall{Method: "Demo.Wait", Codec: msgpack.New(), Args: &Get{}, Reply: new(int32)})
	}()
	select {
	case <-running:
	case err := <-third:
		t.Fatalf("the third call: %v", err)
	case <-time.After(patience):
		t.Fatal("the third call does not run")
	}
	close(release)
	must(t, <-second)
	must(t, <-third)
}

// TestHalfClosedWhileDraining: a client that ends its direction while the server shuts down gets the answer of its call.
func TestHalfClosedWhileDraining(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, weft.Handle(srv, "Demo.Wait", func(_ context.Context, _ *Get) (*int32, error) {
		close(running)
		<-release
		return new(int32), nil
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write([]byte("\x82\x21\x01\x04Wait\x00"))
	must(t, err)
	<-running
	shut := make(chan error, 1)
	go func() { shut <- srv.Shutdown(context.Background()) }() // it ends with the call
	for {                                                      // a call that comes while the server drains is refused, behind the one that runs
		if other, err := net.Dial("tcp", l.Addr().String()); err != nil {
			break
		} else {
			other.Close()
			time.Sleep(time.Millisecond)
		}
	}
	must(t, conn.(*net.TCPConn).CloseWrite())
	time.Sleep(20 * time.Millisecond) // the server notices; if it is late, the answer comes all the same
	close(release)
	b, err := io.ReadAll(conn)
	if err != nil || len(b) == 0 {
		t.Errorf("the answer has %d bytes, %v", len(b), err)
	}
	must(t, <-shut)
}
