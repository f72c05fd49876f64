package thrift_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/holding"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/transport/mem"
)

// heap is how many bytes are in use, behind a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWaitingReplies: calls that have ended and whose replies wait for that of a call before them keep
// nothing of their requests, neither those that were refused nor those whose handlers failed.
func TestWaitingReplies(t *testing.T) {
	const calls, size = 200, 1 << 20
	var failed atomic.Int64
	addr := start(t, &weft.ServerConfig{Timeout: -1, Overload: weft.Overload{Off: true}, Limits: weft.Limits{MaxCallBytes: 8 * size}}, func(srv *weft.Server) error {
		if err := weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *Get) (*string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}); err != nil {
			return err
		}
		return weft.Handle(srv, "Demo.Fail", func(_ context.Context, b *[]byte) (*string, error) {
			failed.Add(1)
			return nil, weft.Errorf(weft.NotFound, "there is nothing")
		})
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(3*patience)))
	_, err = conn.Write([]byte("\x82\x21\x01\x04Wait\x00"))
	must(t, err)
	before := heap()
	message := []byte("\x80\x01\x00\x01\x00\x00\x00\x04Fail\x00\x00\x00\x01\x0b\x00\x01")
	message = binary.BigEndian.AppendUint32(message, size)
	message = append(append(message, make([]byte, size)...), 0)
	for range calls {
		must(t, conn.SetDeadline(time.Now().Add(3*patience))) // for each: there are many bytes
		_, err = conn.Write(message)
		must(t, err)
	}
	polltest.Until(t, patience, "what is kept is small", func() error {
		if failed.Load() == 0 {
			return fmt.Errorf("no handler has run")
		}
		if kept := heap() - before; kept > calls*size/4 {
			return fmt.Errorf("%d MiB are kept of %d calls that have ended", kept>>20, calls)
		}
		return nil
	})
}

// TestPartsOfMessages: parts of messages count against the memory of the server, also when the messages never
// become whole.
func TestPartsOfMessages(t *testing.T) {
	addr := start(t, &weft.ServerConfig{MaxMemory: 16 << 20, Limits: weft.Limits{HandshakeTimeout: time.Hour}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil })
	})
	message := binary.BigEndian.AppendUint32(nil, 4<<20)
	message = append(append(message, "\x80\x01\x00\x01\x00\x00\x00\x04Echo\x00\x00\x00\x01"...), make([]byte, 3<<20)...)
	closed := make(chan struct{}, 16)
	for range cap(closed) {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		defer conn.Close()
		_, _ = conn.Write(message) // it fails on a connection that the server has ended
		go func() {                // it ends with the connection
			_, _ = conn.Read(make([]byte, 1))
			closed <- struct{}{}
		}()
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Errorf("%d MiB of parts of messages are kept, more than the server may hold", cap(closed)*3)
	}
}

// TestCompressedMessages: a message of THeader is not decompressed while there is no memory for what it becomes. The call is refused, and
// the connection goes on.
func TestCompressedMessages(t *testing.T) {
	const size, times = 3 << 20, 20
	addr := start(t, &weft.ServerConfig{MaxMemory: 64 << 10, Limits: weft.Limits{HandshakeTimeout: patience}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil })
	})
	c := headers(t, addr)
	large := c.frame(protocol.Call, 1, size, true)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		_, err := c.conn.Write(large)
		must(t, err)
		c.refused(1, "ResourceExhausted (Refused)")
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > times*size/2 {
		t.Errorf("%d messages that become %d bytes each made the server allocate %d", times, size, after.TotalAlloc-before.TotalAlloc)
	}
	c.send(protocol.Oneway, 2, size, true) // there is no answer to it
	c.send(protocol.Call, 3, 10, true)
	c.answered(3)
}

// TestLargeHeaders: a call with THeader that is too large is refused, whether it is compressed or not, and the connection goes on.
func TestLargeHeaders(t *testing.T) {
	const limit = 64 << 10
	addr := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxMessage: limit, HandshakeTimeout: patience}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil })
	})
	c := headers(t, addr)
	for i, size := range []int{limit + 1, 2 * limit, 20 * limit} {
		for _, packed := range []bool{false, true} {
			seq := int32(10 * i)
			c.send(protocol.Oneway, seq, size, packed) // there is no answer to it
			c.send(protocol.Call, seq+1, size, packed)
			c.refused(seq+1, "Limits.MaxMessage")
			c.send(protocol.Call, seq+2, 10, packed)
			c.answered(seq + 2)
		}
	}
}

// TestCompressionTurns: the compression of a large message is undone when the message has a turn, and not by the goroutine that reads the connection.
func TestCompressionTurns(t *testing.T) {
	h := holding.New()
	cfg := &weft.ServerConfig{Codecs: append(weft.DefaultCodecs(), h), Timeout: -1, Overload: weft.Overload{Off: true}, Limits: weft.Limits{HandshakeTimeout: patience}}
	addr := start(t, cfg, func(srv *weft.Server) error {
		return errors.Join(
			weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil }),
			weft.Handle(srv, "Held.Hold", func(context.Context, *string) (*string, error) { return new(string), nil }))
	})
	all := max(1, runtime.GOMAXPROCS(0)-1)
	var holders sync.WaitGroup
	defer holders.Wait()
	defer h.Let() // before
	for range all {
		c, err := weft.Dial(t.Context(), "tcp://"+addr, &weft.ClientConfig{Codec: h, Timeout: -1})
		must(t, err)
		defer c.Close()
		holders.Go(func() {
			text := strings.Repeat("x", 128<<10)
			if err := c.Call(context.Background(), "Held.Hold", &text, new(string)); err != nil {
				t.Errorf("a call that holds a turn: %v", err)
			}
		})
	}
	polltest.True(t, patience, "all turns are taken", func() bool { return h.Waiting() == all })
	c := headers(t, addr)
	broken := c.frame(protocol.Call, 1, 1<<20, true)
	broken[len(broken)-1] ^= 1 // its checksum
	_, err := c.conn.Write(broken)
	must(t, err)
	c.send(protocol.Call, 2, 1<<20, true)
	for seq := range int32(20) {
		c.send(protocol.Call, 3+seq, 10, true)
		c.answered(3 + seq)
	}
	h.Let()
	for range 2 {
		switch seq, kind, body := c.any(); {
		case seq == 1 && (kind != protocol.Exception || !strings.Contains(body, "InvalidArgument")):
			t.Errorf("the message that is broken is answered with %.200q", body)
		case seq == 2 && kind != protocol.Reply:
			t.Errorf("the large message is answered with %.200q", body)
		}
	}
}

// headersClient is a client that sends messages with THeader.
type headersClient struct {
	t    *testing.T
	conn net.Conn
}

func headers(t *testing.T, addr string) *headersClient {
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return &headersClient{t, conn}
}

// send calls Demo.Echo with some bytes.
func (c *headersClient) send(kind protocol.Kind, seq int32, size int, packed bool) {
	c.t.Helper()
	_, err := c.conn.Write(c.frame(kind, seq, size, packed))
	must(c.t, err)
}

// frame is the frame of such a call.
func (c *headersClient) frame(kind protocol.Kind, seq int32, size int, packed bool) []byte {
	c.t.Helper()
	h := header.Header{Seq: seq, Zlib: packed}
	frame, err := h.Append(nil, func(b []byte) ([]byte, error) {
		b = append(protocol.AppendHead(b, protocol.Binary, "Echo", kind, seq), "\x0b\x00\x01"...)
		b = binary.BigEndian.AppendUint32(b, uint32(size))
		return append(append(b, make([]byte, size)...), 0), nil
	})
	must(c.t, err)
	return frame
}

// next reads a message, the answer to a call.
func (c *headersClient) next(seq int32) (kind protocol.Kind, body string) {
	c.t.Helper()
	got, kind, body := c.any()
	if got != seq {
		c.t.Fatalf("an answer to call %d came, want one to %d", got, seq)
	}
	return kind, body
}

// any reads a message.
func (c *headersClient) any() (seq int32, kind protocol.Kind, body string) {
	c.t.Helper()
	var length [4]byte
	_, err := io.ReadFull(c.conn, length[:])
	must(c.t, err)
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err = io.ReadFull(c.conn, frame)
	must(c.t, err)
	h, message, err := header.Parse(frame, 2<<20, func(int) error { return nil })
	must(c.t, err)
	head, n, err := protocol.ReadHead(message, protocol.Binary)
	must(c.t, err)
	if h.Seq != head.Seq || string(head.Name) != "Echo" {
		c.t.Fatalf("an answer to call %d and %d of %s came", h.Seq, head.Seq, head.Name)
	}
	return head.Seq, head.Kind, string(message[n:])
}

// refused reads an exception.
func (c *headersClient) refused(seq int32, why string) {
	c.t.Helper()
	if kind, body := c.next(seq); kind != protocol.Exception || !strings.Contains(body, why) {
		c.t.Fatalf("call %d is answered with %.200q, want an exception with %q", seq, body, why)
	}
}

// answered reads a reply.
func (c *headersClient) answered(seq int32) {
	c.t.Helper()
	if kind, body := c.next(seq); kind != protocol.Reply {
		c.t.Fatalf("call %d is answered with %.200q, want a reply", seq, body)
	}
}

// TestEncodedReplies: replies that are encoded and wait for room to be written count against the memory of the
// server.
func TestEncodedReplies(t *testing.T) {
	const calls = 14
	body := make([]byte, 3<<20)
	for _, unordered := range []bool{false, true} {
		ended := make(chan struct{}, 1)
		var begun sync.WaitGroup // so all handlers run before the length of their replies is known
		begun.Add(calls)
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(&thrift.Config{Unordered: unordered})}, MaxMemory: 24 << 20, Timeout: -1,
			Logger: slog.New(slog.DiscardHandler), Overload: weft.Overload{Off: true}, Limits: weft.Limits{WriteTimeout: time.Hour}})
		must(t, errors.Join(
			weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *Get) (*string, error) {
				<-ctx.Done()
				ended <- struct{}{}
				return nil, ctx.Err()
			}),
			weft.Handle(srv, "Demo.Large", func(context.Context, *struct{}) (*[]byte, error) {
				begun.Done()
				begun.Wait()
				return &body, nil
			})))
		network := mem.New() // TCP ends connections by itself whose peers do not read
		l, err := network.Listen(t.Context(), "server")
		must(t, err)
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }() // it ends with the server
		conn, err := network.Dial(t.Context(), "server")
		must(t, err)
		for range calls {
			_, err = conn.Write([]byte("\x82\x21\x01\x05Large\x00"))
			must(t, err)
		}
		_, err = conn.Write([]byte("\x82\x21\x01\x04Wait\x00"))
		must(t, err)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("unordered %v: %d replies of 3 MiB wait on a connection whose client does not read, more than the server may hold", unordered, calls)
		}
		conn.Close()
		srv.Close()
		<-served
	}
}
