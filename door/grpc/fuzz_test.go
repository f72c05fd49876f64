package grpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
	"github.com/weftrpc/weft/transport/mem"
)

// fuzzed is what the methods take and return.
type fuzzed struct {
	Text string `json:"text" weft:"1"`
	N    int64  `json:"n" weft:"2"`
}

// The types and flags of frames that the targets send and look for.
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	frameWindow   = 8

	endsStream  = 1
	endsHeaders = 4
)

// putFrame appends a frame.
func putFrame(b []byte, typ, flags byte, id uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), typ, flags)
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

// putBody appends the frames of a body, of which the last one has the flags.
func putBody(b []byte, flags byte, id uint32, body []byte) []byte {
	for part := range slices.Chunk(body, 16<<10) {
		b = putFrame(b, frameData, 0, id, part)
	}
	return putFrame(b, frameData, flags, id, nil)
}

// nextFrame reads a frame.
func nextFrame(r io.Reader) (typ, flags byte, id uint32, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, 0, err
	}
	_, err = io.CopyN(io.Discard, r, int64(head[0])<<16|int64(head[1])<<8|int64(head[2]))
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]), err
}

// putField appends a field, unless its value is empty.
func putField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return (&hpack.Encoder{}).Literal(b, name, value)
}

// maxFields is how many bytes the fuzzed fields have together: one frame has room for all.
const maxFields = 8 << 10

// FuzzDoor sends a server a request with any fields and any body: it is answered, and so is a good one behind it, on the same connection.
func FuzzDoor(f *testing.F) {
	hello := []byte("\x00\x00\x00\x00\x0c{\"text\":\"x\"}")
	f.Add("/Fuzz/Unary", "application/grpc+json", "", "1S", "key", "value", hello)
	f.Add("/Fuzz/Unary", "application/grpc", "gzip", "", "key-bin", "AAE", []byte("\x01\x00\x00\x00\x02\x1f\x8b"))
	f.Add("/Fuzz/Many", "application/grpc+proto", "identity", "99999999H", "weft-priority", "critical", []byte("\x00\x00\x00\x00\x03\x0a\x01x"))
	f.Add("/Fuzz/Both", "application/grpc+json", "", "0n", "grpc-previous-rpc-attempts", "3", slices.Concat(hello, hello))
	f.Add("/Fuzz/None", "application/grpc+x", "", "", "authorization", "x", []byte("\x00\xff\xff\xff\xff"))
	f.Add("/", "text/plain", "", "", "content-length", "1", []byte{})
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Compressors: []compress.Compressor{gzip.New()}, Logger: slog.New(slog.DiscardHandler),
		Limits: weft.Limits{MaxMessage: 1 << 16}})
	err := errors.Join(
		weft.Handle(srv, "Fuzz.Unary", func(_ context.Context, m *fuzzed) (*fuzzed, error) { return m, nil }),
		weft.HandleServerStream(srv, "Fuzz.Many", func(_ context.Context, m *fuzzed, out *weft.Sender[fuzzed]) error { return out.Send(m) }),
		weft.HandleStream(srv, "Fuzz.Both", func(_ context.Context, s *weft.Stream[fuzzed, fuzzed]) error {
			for m, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(m); err != nil {
					return err
				}
			}
			return nil
		}))
	if err != nil {
		f.Fatal(err)
	}
	network := mem.New()
	l, err := network.Listen(f.Context(), "server")
	if err != nil {
		f.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	f.Cleanup(func() {
		srv.Close()
		<-served
	})
	f.Fuzz(func(t *testing.T, path, kind, encoding, timeout, key, value string, body []byte) {
		if len(path)+len(kind)+len(encoding)+len(timeout)+len(key)+len(value) > maxFields || len(body) > 64<<10 {
			return
		}
		begin := func(path, kind string) []byte {
			e := &hpack.Encoder{}
			b := e.Static(e.Static(nil, hpack.StaticPOST), hpack.StaticHTTP)
			return e.Literal(e.Literal(e.Literal(b, ":path", path), ":authority", "x"), contentType, kind)
		}
		b := putFrame([]byte(http2.Preface), frameSettings, 0, 0, []byte{0, 4, 0x3f, 0xff, 0xff, 0xff}) // the window of a stream
		b = putFrame(b, frameWindow, 0, 0, []byte{0x3f, 0xff, 0, 0})
		fields := putField(putField(begin(path, kind), encodingName, encoding), timeoutName, timeout)
		b = putFrame(b, frameHeaders, endsHeaders, 1, (&hpack.Encoder{}).Literal(fields, key, value))
		b = putBody(b, endsStream, 1, body)
		b = putFrame(b, frameHeaders, endsHeaders, 3, begin("/Fuzz/Unary", base+"+json"))
		b = putBody(b, endsStream, 3, hello)

		conn, err := network.Dial(t.Context(), "server")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { _, _ = conn.Write(b) }) // reading tells of an error
		ended, replied := make(map[uint32]bool), false
		for !ended[1] || !ended[3] {
			typ, flags, id, err := nextFrame(conn)
			if err != nil {
				t.Fatalf("of the streams %v have ended: %v", ended, err)
			}
			if typ == frameReset || (typ == frameHeaders || typ == frameData) && flags&endsStream != 0 {
				ended[id] = true
			}
			replied = replied || typ == frameData && id == 3
		}
		if !replied {
			t.Error("the good request has no reply")
		}
	})
}

// FuzzWire answers a client with any fields and any body: its call ends.
func FuzzWire(f *testing.F) {
	told := detailsOf(&weft.Error{Code: weft.NotFound, Message: "no order", Reason: "NO_ORDER", Details: []weft.Detail{{Type: "a.B", Value: []byte("value")}}})
	f.Add(base+"+json", "", "0", "", "", "key", "value", []byte("\x00\x00\x00\x00\x0c{\"text\":\"x\"}"))
	f.Add(base, "gzip", "5", "no%20order", told, pushbackName, "10", []byte{})
	f.Add(base, "gzip", "0", "", "", "key-bin", "AAE", []byte("\x01\x00\x00\x00\x02\x1f\x8b"))
	f.Add("text/html", "", "", "", "", outcomeName, outcomeRefused, []byte("<html>"))
	f.Fuzz(func(t *testing.T, kind, encoding, status, message, details, key, value string, body []byte) {
		if len(kind)+len(encoding)+len(status)+len(message)+len(details)+len(key)+len(value) > maxFields || len(body) > 64<<10 {
			return
		}
		e := &hpack.Encoder{}
		header := putField(putField(e.Static(nil, hpack.Static200), contentType, kind), encodingName, encoding)
		trailer := putField(putField(putField(nil, statusName, status), messageName, message), detailsName, details)
		answer := putFrame(nil, frameHeaders, endsHeaders, 1, header)
		answer = putBody(answer, 0, 1, body)
		answer = putFrame(answer, frameHeaders, endsHeaders|endsStream, 1, e.Literal(trailer, key, value))

		near, far := net.Pipe()
		var wg sync.WaitGroup
		defer wg.Wait()
		asked := make(chan struct{})
		ask := sync.OnceFunc(func() { close(asked) })
		wg.Go(func() {
			_, _ = far.Write(putFrame(nil, frameSettings, 0, 0, nil)) // the client may have closed it
			<-asked
			_, _ = far.Write(answer) // the same
		})
		wg.Go(func() {
			defer far.Close()
			defer ask()
			_, err := io.ReadFull(far, make([]byte, len(http2.Preface)))
			for typ := byte(0); err == nil; {
				if typ, _, _, err = nextFrame(far); typ == frameHeaders {
					ask()
				}
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l := limits()
		l.MaxMessage = 1 << 16
		c, err := Wire(nil).Dial(ctx, weft.WireConfig{Dial: func(context.Context) (net.Conn, error) { return near, nil }, Limits: l, Logger: slog.New(slog.DiscardHandler),
			Address: "test", Compressors: []compress.Compressor{gzip.New()}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.Call(ctx, &weft.WireCall{Method: "Fuzz.Unary", Codec: json.New(), Args: new(fuzzed), Reply: new(fuzzed)}) // any end is right
		if ctx.Err() != nil {
			t.Error("the call did not end")
		}
	})
}
