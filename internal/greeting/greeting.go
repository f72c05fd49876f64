// Package greeting is the beginning of a connection of weft: each side sends the preface and a hello, or, in place of the
// hello, a GOAWAY with the reason why it does not take the connection.
package greeting

import (
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// Append appends the preface and the hello h.
func Append(dst []byte, h *wire.Hello) []byte {
	dst = append(dst, wire.Preface...)
	at := len(dst)
	dst = append(dst, make([]byte, wire.HeaderSize)...)
	dst = wire.AppendHello(dst, h)
	wire.PutHeader(dst[at:], wire.Header{Type: wire.TypeHello, Length: uint32(len(dst) - at - wire.HeaderSize)})
	return dst
}

// A HelloParser reads the payload of a hello: ParseHello, or that of a Cache.
type HelloParser = func(payload []byte) (*wire.Hello, error)

// ParseHello reads the payload of a hello. Its limits fit an int, which may have 32 bits;
// those that are not bounded here are bounded by the parser.
func ParseHello(payload []byte) (*wire.Hello, error) {
	h, err := wire.ParseHello(payload)
	if err == nil {
		h.MaxMessage = min(h.MaxMessage, math.MaxInt32)
		h.MaxMetadata = min(h.MaxMetadata, math.MaxInt32)
	}
	return h, err
}

// Cache holds what the connections of a server have in common: its own greeting,
// and the last hello of a client, since most clients of a server send the same. It may be used by any goroutine.
type Cache struct {
	own  atomic.Pointer[[]byte]
	last atomic.Pointer[knownHello]
}

// knownHello is a hello without a credential.
type knownHello struct {
	payload string
	hello   *wire.Hello
}

// Parse reads the payload of a hello.
func (c *Cache) Parse(payload []byte) (*wire.Hello, error) {
	if k := c.last.Load(); k != nil && k.payload == string(payload) {
		return k.hello, nil
	}
	h, err := ParseHello(payload)
	if err == nil && h.Credential == "" {
		c.last.Store(&knownHello{string(payload), h})
	}
	return h, err
}

// Append appends the greeting with a hello that hello makes once.
func (c *Cache) Append(dst []byte, hello func() wire.Hello) []byte {
	own := c.own.Load()
	if own == nil {
		h := hello()
		made := Append(nil, &h)
		own = &made
		c.own.Store(own)
	}
	return append(dst, *own...)
}

// Read reads the preface and the hello, which begin with prefix. It returns the memory
// with what it has read ahead, which is buf[r:w].
func Read(conn net.Conn, prefix []byte, parse HelloParser) (h *wire.Hello, buf []byte, r, w int, err error) {
	if buf = inbuf.TakeSmall(); len(prefix) > len(buf) {
		buf = make([]byte, len(prefix))
	}
	w = copy(buf, prefix)
	for {
		if h, r, err = Parse(buf[:w], parse); h != nil {
			return h, buf, r, w, nil
		}
		if err != nil {
			break
		}
		if r > len(buf) {
			buf = append(make([]byte, 0, r), buf[:w]...)[:r]
		}
		n, failed := conn.Read(buf[w:])
		if w += n; failed != nil && n == 0 {
			err = failed
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() && w >= len(wire.Preface) {
				err = &helloError{wire.DeadlineExceeded, err}
			}
			break
		}
	}
	inbuf.GiveSmall(buf)
	return nil, nil, 0, 0, err
}

// Parse reads a preface and a hello from the front of b. It returns the hello and
// the size of both, or no hello and the least size that b must have to be read further.
func Parse(b []byte, parse HelloParser) (h *wire.Hello, size int, err error) {
	const head = len(wire.Preface) + wire.HeaderSize
	if err := checkPreface(b); err != nil {
		return nil, 0, err
	}
	if len(b) < head {
		return nil, head, nil
	}
	header := wire.ParseHeader(b[len(wire.Preface):])
	if err := header.Check(); err != nil {
		return nil, 0, &helloError{wire.Internal, err}
	}
	size = head + int(header.Length)
	if len(b) < size {
		return nil, size, nil
	}
	payload := b[head:size]
	switch header.Type {
	case wire.TypeHello:
		if h, err = parse(payload); err != nil {
			return nil, 0, &helloError{wire.Internal, err}
		}
		return h, size, nil
	case wire.TypeGoAway:
		return nil, 0, &goneError{wire.Status{Code: wire.Code(header.Code), Message: string(payload[:min(len(payload), MaxReason)])}}
	default:
		return nil, 0, &helloError{wire.Internal, fmt.Errorf("the first frame has type %d, want a hello", header.Type)}
	}
}

// checkPreface reports whether bytes that came first cannot begin weft.
func checkPreface(b []byte) error {
	if b = b[:min(len(b), len(wire.Preface))]; string(b) != wire.Preface[:len(b)] {
		return wrongPreface(b)
	}
	return nil
}

func wrongPreface(b []byte) error {
	last := len(wire.Preface) - 1
	if len(b) > last && string(b[:last]) == wire.Preface[:last] {
		return &versionError{b[last]}
	}
	return &strangerError{string(b)}
}
