//go:build unix

package adversary

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// wired is a connection whose frames an attacker makes itself.
type wired struct {
	net.Conn
	out  bytes.Buffer
	next uint32 // the slot of the next request
	rest int    // bytes of the server's hello that were not read
}

// method is one binding.
type method struct{ codec, name string }

// hello is what attackers say first.
func hello() *wire.Hello {
	var names []string
	for _, c := range compressors() {
		names = append(names, c.Name())
	}
	return &wire.Hello{MaxMessage: 64 << 20, MaxMetadata: 60_000, MaxCalls: 16384, MaxBindings: 1024, StreamWindow: 1 << 20,
		Codecs: []string{"raw", "msgpack", "json"}, Compressors: names}
}

// opening is the preface with a hello and bindings.
func opening(bindings ...method) []byte {
	b := append([]byte(wire.Preface), wire.AppendFrame(nil, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, hello()))...)
	for i, m := range bindings {
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeBind, Code: uint16(i)}, wire.AppendBind(nil, m.codec, m.name))
	}
	return b
}

// connect opens a connection and says hello.
func connect(ctx context.Context, address string, bindings ...method) (*wired, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		conn.SetDeadline(end)
	}
	if _, err := conn.Write(opening(bindings...)); err != nil {
		conn.Close()
		return nil, err
	}
	// The server's own hello tells that the limits of a first flight are over.
	first := make([]byte, len(wire.Preface)+wire.HeaderSize)
	if _, err := io.ReadFull(conn, first); err != nil {
		conn.Close()
		return nil, err
	}
	return &wired{Conn: conn, rest: int(wire.ParseHeader(first[len(wire.Preface):]).Length)}, nil
}

// ignore reads and forgets what the server says.
func (r *wired) ignore() { go io.Copy(io.Discard, r.Conn) } // it ends with the connection

// frame adds a frame to what is to be written.
func (r *wired) frame(h wire.Header, payload []byte) {
	r.out.Write(wire.AppendFrame(nil, h, payload))
}

// request adds a request, in chunks if it is long, on the next slot.
func (r *wired) request(binding uint16, flags wire.Flags, body []byte) {
	h := wire.Header{Type: wire.TypeRequest, Code: binding, Flags: flags, ID: wire.ID(r.next%16384, uint16(r.next/16384))}
	r.next++
	r.message(h, body)
}

// message adds a message, in chunks if it is long.
func (r *wired) message(h wire.Header, body []byte) {
	for len(body) > wire.MaxPayload {
		h.Flags |= wire.FlagMore
		r.frame(h, body[:wire.MaxPayload])
		body = body[wire.MaxPayload:]
		h = wire.Header{Type: wire.TypeChunk, ID: h.ID}
	}
	r.frame(h, body)
}

// send writes what was added.
func (r *wired) send() error {
	_, err := r.Write(r.out.Bytes())
	r.out.Reset()
	return err
}

// pause waits, and reports whether the attack goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// countReplies tells how many calls each read has ended.
func (r *wired) countReplies(ended chan<- int) {
	defer close(ended)
	in := bufio.NewReaderSize(r.Conn, 64<<10)
	header := make([]byte, wire.HeaderSize)
	// What connect has read is the header of the hello.
	if _, err := in.Discard(r.rest); err != nil {
		return
	}
	n := 0
	for {
		if _, err := io.ReadFull(in, header); err != nil {
			return
		}
		h := wire.ParseHeader(header)
		if _, err := in.Discard(int(h.Length)); err != nil {
			return
		}
		if (h.Type == wire.TypeReply || h.Type == wire.TypeError) && h.Flags&wire.FlagMore == 0 {
			n++
		}
		if in.Buffered() == 0 && n > 0 {
			ended <- n
			n = 0
		}
	}
}
