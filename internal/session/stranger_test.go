package session

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// stranger is a peer that says whatever a test lets it say, to a real session on
// the other end of the connection.
type stranger struct {
	t    testing.TB
	conn *mem.Conn
	cfg  *Config
	sum  bool // checksums are in force
	buf  []byte

	accepted chan struct{}
	s        *Session // the real one, once accepted is closed; nil if it refused
	refused  *wire.Status
	ended    chan struct{} // closed when the real session has said that it has ended
}

// newStranger connects a stranger with a session that accepts.
func newStranger(t testing.TB, change func(*Config), methods ...*Method) *stranger {
	t.Helper()
	leak.Check(t)
	return quietStranger(t, change, methods...)
}

// quietStranger is the same without a look for leaks.
func quietStranger(t testing.TB, change func(*Config), methods ...*Method) *stranger {
	cfg := newConfig(NewExecutor(), methods)
	if change != nil {
		change(cfg)
	}
	client, server := mem.Pipe(nil)
	p := &stranger{t: t, conn: client, cfg: cfg, accepted: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.accepted)
		if p.s, p.refused = Accept(context.Background(), server, cfg, nil); p.s != nil {
			go p.s.Run(nil, func() { close(p.ended) })
		}
	}()
	t.Cleanup(func() {
		p.conn.Close()
		<-p.accepted
		if p.s != nil {
			p.s.Close(closedHere())
		}
		cfg.Exec.Close()
	})
	return p
}

// strangerHello is what a stranger says of itself: it serves no calls.
func strangerHello() *wire.Hello {
	return &wire.Hello{MaxMessage: 4 << 20, MaxMetadata: 16 << 10, StreamWindow: 256 << 10, Codecs: []string{"raw"}, Compressors: []string{"gzip"}}
}

// greet exchanges the hellos; h nil is the usual one.
func (p *stranger) greet(h *wire.Hello) {
	p.t.Helper()
	if h == nil {
		h = strangerHello()
	}
	p.write([]byte(wire.Preface))
	p.write(wire.AppendFrame(nil, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, h)))
	p.await(len(wire.Preface))
	p.buf = p.buf[len(wire.Preface):]
	got, _, err := p.read()
	if err != nil || got.Type != wire.TypeHello {
		p.t.Fatalf("got %+v, %v, want a hello", got, err)
	}
	<-p.accepted
	p.sum = p.s.sum
}

func (p *stranger) write(b []byte) {
	p.conn.SetWriteDeadline(time.Now().Add(time.Minute))
	// An error is seen when reading: the session has closed.
	_, _ = p.conn.Write(b)
}

// bytes makes a frame as the connection wants it.
func (p *stranger) bytes(h wire.Header, payload []byte) []byte {
	b := wire.AppendFrame(nil, h, payload)
	if p.sum {
		b = wire.AppendChecksum(b, 0)
	}
	return b
}

func (p *stranger) send(h wire.Header, payload []byte) { p.write(p.bytes(h, payload)) }

// bind makes the binding n to a method with codec raw.
func (p *stranger) bind(n uint16, method string) {
	p.send(wire.Header{Type: wire.TypeBind, Code: n}, wire.AppendBind(nil, "raw", method))
}

// request sends a request on binding 0.
func (p *stranger) request(slot uint32, gen uint16, flags wire.Flags, body string) {
	p.send(wire.Header{Type: wire.TypeRequest, Flags: flags, ID: wire.ID(slot, gen)}, []byte(body))
}

// await has n bytes in the buffer.
func (p *stranger) await(n int) {
	p.t.Helper()
	if err := p.fill(n); err != nil {
		p.t.Fatalf("%d bytes came, want %d: %v", len(p.buf), n, err)
	}
}

func (p *stranger) fill(n int) error {
	p.conn.SetReadDeadline(time.Now().Add(time.Minute))
	var b [4 << 10]byte
	for len(p.buf) < n {
		m, err := p.conn.Read(b[:])
		p.buf = append(p.buf, b[:m]...)
		if err != nil && len(p.buf) < n {
			return err
		}
	}
	return nil
}

// read reads a frame.
func (p *stranger) read() (h wire.Header, payload []byte, err error) {
	if err := p.fill(wire.HeaderSize); err != nil {
		return h, nil, err
	}
	h = wire.ParseHeader(p.buf)
	n := wire.HeaderSize + int(h.Length)
	whole := n
	if p.sum {
		whole += wire.ChecksumSize
	}
	if err := p.fill(whole); err != nil {
		return h, nil, err
	}
	payload = append([]byte(nil), p.buf[wire.HeaderSize:n]...)
	p.buf = p.buf[whole:]
	return h, payload, nil
}

// expect reads frames until one of a type.
func (p *stranger) expect(want wire.Type) (wire.Header, []byte) {
	p.t.Helper()
	for {
		h, payload, err := p.read()
		if err != nil {
			p.t.Fatalf("wait for a frame of type %d: %v", want, err)
		}
		if h.Type == want {
			return h, payload
		}
	}
}

// expectGoAway reads until a GOAWAY with the code and a message, and the end of
// the connection behind it.
func (p *stranger) expectGoAway(code wire.Code) {
	p.t.Helper()
	h, payload := p.expect(wire.TypeGoAway)
	if wire.Code(h.Code) != code || len(payload) == 0 {
		p.t.Errorf("goaway has code %d and the text %q, want code %d", h.Code, payload, code)
	}
	p.expectEnd()
}

// expectEnd reads the end of the connection.
func (p *stranger) expectEnd() {
	p.t.Helper()
	p.conn.CloseWrite()
	if h, _, err := p.read(); err == nil {
		p.t.Errorf("frame %+v came, want the end of the connection", h)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Errorf("the connection is still open: %v", err)
	} else if !errors.Is(err, io.EOF) {
		p.t.Errorf("the connection ended with %v, want EOF", err)
	}
}

// pong proves that the session still works.
func (p *stranger) pong() {
	p.t.Helper()
	p.send(wire.Header{Type: wire.TypePing}, []byte("12345678"))
	for {
		h, payload := p.expect(wire.TypePing)
		if h.Flags&wire.FlagAck != 0 && string(payload) == "12345678" {
			return
		}
	}
}
