package grpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
)

// TestSmallMessageThenLarge receives the first of two messages that have come as far as the window of the stream allows: the rest of the
// second one has room then.
func TestSmallMessageThenLarge(t *testing.T) {
	const large, window = 100 << 10, 64 << 10
	given := 0
	m := mailbox{side: theServer, limit: large, hold: func(int) bool { return true }, give: func(n int, _ bool) { given += n }}
	m.init()
	framed := append([]byte("\x00\x00\x00\x00\x05small\x00"), binary.BigEndian.AppendUint32(nil, large)...)
	framed = append(framed, make([]byte, large)...)
	m.push(framed[:window], false)
	if b, _, err := m.next(t.Context()); err != nil || string(b) != "small" {
		t.Fatalf("%q, %v", b, err)
	}
	if given != window {
		t.Errorf("the peer may send %d bytes more, and a message is not whole: want %d", given, window)
	}
	m.push(framed[window:], true)
	if b, _, err := m.next(t.Context()); err != nil || !bytes.Equal(b, framed[len(framed)-large:]) {
		t.Errorf("%d bytes were received, want %d: %v", len(b), large, err)
	}
}

// answerEarly serves one connection: it allows one stream, answers each with NotFound at once, and resets none.
func answerEarly(conn net.Conn) error {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.Preface))); err != nil {
		return err
	}
	frame := func(typ, flags byte, id uint32, payload []byte) []byte {
		b := append([]byte{0, byte(len(payload) >> 8), byte(len(payload)), typ, flags}, binary.BigEndian.AppendUint32(nil, id)...)
		return append(b, payload...)
	}
	const headers, settings, maxStreams, endStream, endHeaders = 1, 4, 3, 1, 4
	if _, err := conn.Write(frame(settings, 0, 0, []byte{0, maxStreams, 0, 0, 0, 1})); err != nil {
		return err
	}
	var e hpack.Encoder
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return err
		}
		if head[3] != headers {
			continue
		}
		block := e.Literal(e.Literal(e.Static(nil, hpack.Static200), contentType, base), statusName, "5")
		if _, err := conn.Write(frame(headers, endStream|endHeaders, binary.BigEndian.Uint32(head[5:]), block)); err != nil {
			return err
		}
	}
}

// TestEarlyAnswers calls a server that ends streams while their requests have not ended, and does not reset them: they do not count as open.
func TestEarlyAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = answerEarly(conn) // it ends with the connection
	})
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, MaxConns: 1,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 3 {
		s, err := c.OpenStream(ctx, "Test.Any", &Pause{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Recv(new(Pause)); weft.CodeOf(err) != weft.NotFound {
			t.Errorf("the stream ended with %v", err)
		}
	}
}
