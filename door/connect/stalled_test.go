package connect_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
)

// TestBodyStalled: a request that is answered before its body is read does not hold its connection for longer than BodyTimeout.
func TestBodyStalled(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(&connect.Config{BodyTimeout: 200 * time.Millisecond}), Logger: slog.New(slog.DiscardHandler)})
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// Less than the time that package http gives the body of a request by default.
	if err := conn.SetReadDeadline(time.Now().Add(25 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection goes on")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestStreamsInTurn: a client that reads many streams of one connection one after the other gets all that they send, and calls are answered
// meanwhile. Each stream has more to send than the client's HTTP/2 takes ahead, which is 4 MiB.
func TestStreamsInTurn(t *testing.T) {
	const streams, messages, size = 8, 6, 5 << 18
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(nil), Logger: slog.New(slog.DiscardHandler)})
	sent := make(chan struct{}, streams*messages)
	type text struct{ Text string }
	long := strings.Repeat("x", size)
	err := errors.Join(
		weft.HandleServerStream(srv, "Test.Long", func(_ context.Context, _ *text, out *weft.Sender[text]) error {
			for range messages {
				if err := out.Send(&text{long}); err != nil {
					return err
				}
				sent <- struct{}{}
			}
			return nil
		}),
		weft.Handle(srv, "Test.Echo", func(_ context.Context, in *text) (*text, error) { return in, nil }))
	must(t, err)
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	defer served.Wait()
	defer srv.Close()
	c, err := weft.Dial(t.Context(), "connect+http://"+l.Addr().String(), &weft.ClientConfig{MaxConns: 1, Logger: slog.New(slog.DiscardHandler),
		Wires: []weft.Wire{connect.Wire(&connect.WireConfig{HTTP2: true})}})
	must(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []*weft.Stream[text, text]
	for range streams {
		in, err := weft.Subscribe[text](ctx, c, "Test.Long", &text{})
		must(t, err)
		defer in.Close()
		all = append(all, in)
	}
	<-sent
	for {
		select {
		case <-sent:
			continue
		case <-time.After(time.Second): // no more is sent
		}
		break
	}
	for _, n := range []int{1, size} {
		if out, err := weft.Invoke[text](ctx, c, "Test.Echo", &text{long[:n]}); err != nil || len(out.Text) != n {
			t.Errorf("a call beside streams that are not read: %v", err)
		}
	}
	for _, in := range slices.Backward(all) {
		for range messages {
			if m, err := in.Recv(); err != nil || len(m.Text) != size {
				t.Fatalf("%v", err)
			}
		}
	}
}

// TestFirstMessagesApart: also the first message of a stream, which leaves before the answer is known to be a stream, holds up nothing else. The
// client gives each stream the least window and reads none.
func TestFirstMessagesApart(t *testing.T) {
	const streams, size = 8, 1 << 20
	addr := startHostile(t, weft.ServerConfig{Doors: connect.Doors(nil)}, func(srv *weft.Server) error {
		return errors.Join(
			weft.HandleServerStream(srv, "Demo.Long", func(_ context.Context, _ *Name, out *weft.Sender[Name]) error {
				return out.Send(&Name{strings.Repeat("x", size)})
			}),
			weft.Handle(srv, "Demo.Echo", func(_ context.Context, in *Name) (*Name, error) { return in, nil }))
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	b := frame(preface(100), 8, 0, 0, binary.BigEndian.AppendUint32(nil, 16<<20))
	stream := fields(":method", "POST", ":scheme", "http", ":path", "/Demo/Long", ":authority", "x", "content-type", "application/connect+json")
	for n := range uint32(streams) {
		b = frame(b, 1, 4, 2*n+1, stream)
		b = frame(b, 0, 1, 2*n+1, []byte("\x00\x00\x00\x00\x02{}"))
	}
	_, err = conn.Write(b)
	must(t, err)
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	in := bufio.NewReader(conn)
	left := streams
	for id := uint32(2*streams + 1); ; {
		head := make([]byte, 9)
		_, err := io.ReadFull(in, head)
		must(t, err)
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		_, err = io.ReadFull(in, payload)
		must(t, err)
		of := binary.BigEndian.Uint32(head[5:])
		if head[3] == 0 && of < id {
			if left--; left == 0 { // each stream waits for its window
				_, err := conn.Write(frame(frame(nil, 1, 4, id, post("/Demo/Echo")), 0, 1, id, []byte("{}")))
				must(t, err)
			}
		}
		if head[3] == 0 && of == id {
			return // the answer
		}
	}
}
