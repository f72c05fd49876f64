// Package websock carries messages of JSON over WebSocket (RFC 6455), for doors and wires: it
// bounds their sizes, the time of a message that has begun, and the silence of the peer.
package websock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// Config configures a connection.
type Config struct {
	// Limit is how many bytes a message that comes in may have.
	Limit int
	// Stall is how long a message that has begun may bring nothing new.
	Stall time.Duration
	// Idle is the silence after which the peer is sent a ping.
	Idle time.Duration
	// Silence is how long the peer may take to answer it.
	Silence time.Duration
	// Write is how long a write may bring nothing forward.
	Write time.Duration
	// Count is told how many bytes more, or fewer if n is below zero, are held for messages that come in. Those of a
	// message that Next has returned, which are its capacity, are counted until the caller counts them off. nil: none counts.
	Count func(n int)
	// Took is called when the peer has taken bytes that were written. nil: nothing is told.
	Took func()
}

// The errors of Next. Another one is that of the connection.
var (
	// ErrTooLarge is the error of a message with more bytes than Config.Limit.
	ErrTooLarge = errors.New("the message is larger than the limit")
	// ErrStalled is the error of a message whose rest did not come in time.
	ErrStalled = errors.New("a message did not come in time")
)

// Conn is a connection. One goroutine at a time calls Next; the other methods may be called
// concurrently.
type Conn struct {
	cfg   Config
	ws    *websocket.Conn
	under *under

	first   [512]byte    // the beginning of a message, and the whole of most
	writing atomic.Int32 // messages that are being written
	held    atomic.Bool  // Next is not called, because what came in is not taken
	over    chan struct{}
	ended   sync.Once // closes over
	watch   sync.WaitGroup
}

// under is the connection underneath, which notes that bytes have come in, and bounds the time of writes. Its writes
// do not overlap.
type under struct {
	net.Conn
	timeout time.Duration // of a write
	took    func()        // nil: nothing is told
	came    atomic.Bool
}

func (u *under) Read(p []byte) (int, error) {
	n, err := u.Conn.Read(p)
	if n > 0 {
		u.came.Store(true)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the library takes io.EOF for the end of the message
	}
	return n, err
}

// writePiece is how many bytes are written with one deadline.
const writePiece = 64 << 10

// Write leaves no deadline behind, which would end the connection when it answers a ping later.
func (u *under) Write(p []byte) (written int, err error) {
	defer u.Conn.SetWriteDeadline(time.Time{})
	for len(p) > 0 {
		_ = u.Conn.SetWriteDeadline(time.Now().Add(u.timeout)) // an error is that of the connection
		n, err := u.Conn.Write(p[:min(len(p), writePiece)])
		written += n
		if n > 0 && u.took != nil {
			u.took()
		}
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

func newConn(ws *websocket.Conn, u *under, cfg Config) *Conn {
	ws.SetReadLimit(-1) // Next bounds messages
	if cfg.Count == nil {
		cfg.Count = func(int) {}
	}
	c := &Conn{cfg: cfg, ws: ws, under: u, over: make(chan struct{})}
	// It ends with the connection, which Close and Cut end.
	c.watch.Go(c.keep)
	return c
}

// piece is how many bytes of a message are read with one deadline, or sent as one frame of several.
const piece = 16 << 10

// Next reads the next message. io.EOF says that the peer has closed the connection as the
// protocol wants it.
func (c *Conn) Next() ([]byte, error) {
	_, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return nil, lost(err)
	}
	defer c.under.SetReadDeadline(time.Time{})
	b, counted := c.first[:0], 0
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, 512)
			c.cfg.Count(cap(b) - counted)
			counted = cap(b)
		}
		_ = c.under.SetReadDeadline(time.Now().Add(c.cfg.Stall)) // an error is that of the connection
		n, err := r.Read(b[len(b):min(cap(b), len(b)+piece)])
		b = b[:len(b)+n]
		switch {
		case len(b) > c.cfg.Limit:
			err = ErrTooLarge
		case err == io.EOF && counted == 0: // all of it is in first
			b = bytes.Clone(b)
			c.cfg.Count(cap(b))
			return b, nil
		case err == io.EOF:
			return b, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = ErrStalled
		case err != nil:
			err = lost(err)
		}
		if err != nil {
			c.cfg.Count(-counted)
			return nil, err
		}
	}
}

// lost is the error of a connection that cannot be read.
func lost(err error) error {
	if websocket.CloseStatus(err) != -1 {
		return io.EOF
	}
	return err
}

// Hold says whether Next will not be called soon, since what came in is not taken: the peer may then be
// silent, because its answers to pings are not read.
func (c *Conn) Hold(held bool) { c.held.Store(held) }

// Send sends a message. It waits while the peer does not read; an error is that of the connection, which has
// ended.
func (c *Conn) Send(message []byte) error {
	c.writing.Add(1)
	err := c.write(message)
	c.writing.Add(-1)
	if err != nil {
		c.Cut()
	}
	return err
}

// oneFrame is how many bytes a message has at most that is sent as one frame. Between the frames of a larger
// one pongs are sent, which the library waits 5 s for at most.
const oneFrame = 64 << 10

// write writes a message.
func (c *Conn) write(message []byte) error {
	if len(message) <= oneFrame {
		return c.ws.Write(context.Background(), websocket.MessageText, message)
	}
	w, err := c.ws.Writer(context.Background(), websocket.MessageText)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(message, piece) {
		if _, err := w.Write(part); err != nil {
			return err // the connection is of no use any more
		}
	}
	return w.Close()
}

// Ping sends a ping and waits for the answer, which a call of Next reads.
func (c *Conn) Ping(ctx context.Context) error { return c.ws.Ping(ctx) }

// keep ends the connection of a silent peer.
func (c *Conn) keep() {
	t := time.NewTimer(c.cfg.Idle)
	defer t.Stop()
	for {
		select {
		case <-c.over:
			return
		case <-t.C:
		}
		if !c.alive() && !c.answers() && !c.alive() {
			c.Cut()
			return
		}
		t.Reset(c.cfg.Idle)
	}
}

// alive reports whether the peer need not be asked: bytes have come in since the last call, or cannot be
// seen. A write has a timeout of its own.
func (c *Conn) alive() bool {
	return c.under.came.Swap(false) || c.held.Load() || c.writing.Load() > 0
}

// answers reports whether the peer answers a ping.
func (c *Conn) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Silence)
	defer cancel()
	return c.ws.Ping(ctx) == nil // it ends with the connection
}

// Close ends the connection with a code and a reason, and waits for a short time for the peer to
// have read them. What was sent before arrives. Calls after the first wait for its end.
func (c *Conn) Close(code int, reason string) {
	timer := time.AfterFunc(farewell, func() { _ = c.under.Close() })
	defer timer.Stop()
	c.end()
	_ = c.ws.Close(websocket.StatusCode(code), clip(reason)) // the peer may have gone
	c.watch.Wait()
}

// farewell is how long a connection that is closed waits for its peer to do so.
const farewell = 2 * time.Second

// Cut ends the connection at once.
func (c *Conn) Cut() {
	c.end()
	_ = c.under.Close() // wakes what writes
	_ = c.ws.CloseNow() // the same
}

func (c *Conn) end() { c.ended.Do(func() { close(c.over) }) }

// clip shortens a reason to what the protocol has room for.
func clip(reason string) string {
	const most = 123
	if len(reason) <= most {
		return strings.ToValidUTF8(reason, "?")
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return strings.ToValidUTF8(reason[:cut], "?") + "…"
}

// Asked reports whether a request asks for WebSocket.
func Asked(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && hasToken(r.Header, "Connection", "upgrade") && hasToken(r.Header, "Upgrade", "websocket")
}

func hasToken(h http.Header, name, token string) bool {
	for t := range tokens(h, name) {
		if strings.EqualFold(t, token) {
			return true
		}
	}
	return false
}

func tokens(h http.Header, name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, field := range h.Values(name) {
			for t := range strings.SplitSeq(field, ",") {
				if !yield(strings.TrimSpace(t)) {
					return
				}
			}
		}
	}
}
