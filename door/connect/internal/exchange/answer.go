package exchange

import (
	"context"
	"errors"
	"maps"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/door/internal/hpack"
)

// answer is what a handler answers by. It implements http.ResponseWriter and what
// http.ResponseController calls.
type answer struct {
	x      *exchange
	ctx    context.Context
	header nethttp.Header

	status   int // 0: it is not decided
	sending  nethttp.Header
	trailers []string // that the header has announced
	begun    bool     // the header was sent
	flushes  bool     // its pieces leave as they are written
	buf      []byte
}

// atOnce is how many bytes of an answer are sent together.
const atOnce = 32 << 10

// Header implements http.ResponseWriter.
func (a *answer) Header() nethttp.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < 200 { // 100 and 103 are not sent
		return
	}
	a.status = status
	a.sending = a.header.Clone()
	for _, names := range a.header["Trailer"] {
		for name := range strings.SplitSeq(names, ",") {
			a.trailers = append(a.trailers, nethttp.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// bodiless reports whether the answer can have no body.
func (a *answer) bodiless() bool {
	return a.x.req.Method == nethttp.MethodHead || a.status == nethttp.StatusNoContent || a.status == nethttp.StatusNotModified
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		if a.header.Get("Content-Type") == "" && len(p) > 0 {
			a.header.Set("Content-Type", nethttp.DetectContentType(p))
		}
		a.WriteHeader(nethttp.StatusOK)
	}
	if a.bodiless() {
		if a.x.req.Method == nethttp.MethodHead {
			return len(p), nil
		}
		return 0, nethttp.ErrBodyNotAllowed
	}
	a.buf = append(a.buf, p...)
	if len(a.buf) >= atOnce {
		if err := a.send(false); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// FlushError is called by http.ResponseController.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(nethttp.StatusOK)
	}
	if !a.flushes {
		a.flushes = true
		a.x.conn.Lock()
		a.x.conn.ApartLocked(a.x.st) // it is a stream, which may not be read for long
		a.x.conn.Unlock()
	}
	return a.send(false)
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() }

// SetReadDeadline is called by http.ResponseController.
func (a *answer) SetReadDeadline(t time.Time) error {
	a.x.body.limit(t)
	return nil
}

// SetWriteDeadline is called by http.ResponseController: writes have the time that the limits of the
// server give them.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex is called by http.ResponseController.
func (a *answer) EnableFullDuplex() error { return nil }

// finish sends what is left of the answer.
func (a *answer) finish() error {
	if a.status == 0 {
		a.WriteHeader(nethttp.StatusOK)
	}
	if !a.begun && a.sending.Get("Content-Length") == "" && !a.bodiless() {
		a.sending.Set("Content-Length", strconv.Itoa(len(a.buf)))
	}
	return a.send(true)
}

var errOver = errors.New("the stream has ended")

// send sends what was written, and the end of the answer.
func (a *answer) send(end bool) error {
	conn, st := a.x.conn, a.x.st
	if a.begun && !end && len(a.buf) == 0 {
		return nil
	}
	// What waits for room is counted for the server; what is queued, the connection counts.
	n := len(a.buf)
	a.x.s.Hold(n)
	defer a.x.s.Hold(-n)
	conn.Lock()
	conn.AwaitSentLocked(a.ctx, st)
	if a.flushes && n > 0 {
		conn.AwaitTurnLocked(a.ctx, st, n)
	} else {
		conn.AwaitRoomLocked(a.ctx)
	}
	if err := a.ctx.Err(); err != nil || !conn.OpenLocked(st) {
		conn.Unlock()
		if err == nil {
			err = errOver
		}
		return err
	}
	behind := a.trailing(end)
	if !a.begun {
		a.begun = true
		last := end && len(a.buf) == 0 && len(behind) == 0
		at := conn.StartHeadersLocked(st, last)
		a.headLocked()
		conn.EndHeadersLocked(at)
		if last {
			conn.SaidLocked(st)
			conn.FlushAndUnlock(conn.StreamsLocked() > 1)
			return nil
		}
	}
	switch {
	case len(behind) > 0:
		conn.QueueDataLocked(st, a.buf, false, func() {
			at := conn.StartHeadersLocked(st, true)
			b := conn.BufferLocked()
			for i := 0; i < len(behind); i += 2 {
				b = conn.Enc.Literal(b, behind[i], behind[i+1])
			}
			conn.SetBufferLocked(b)
			conn.EndHeadersLocked(at)
			conn.SaidLocked(st)
		})
	case end || len(a.buf) > 0:
		conn.QueueDataLocked(st, a.buf, end, nil)
	}
	a.buf = nil // it belongs to the connection now
	conn.FlushAndUnlock(conn.StreamsLocked() > 1)
	return nil
}

// headLocked appends the fields of the header.
func (a *answer) headLocked() {
	e := &a.x.conn.Enc
	b := a.x.conn.BufferLocked()
	if a.status == nethttp.StatusOK {
		b = e.Static(b, hpack.Static200)
	} else {
		b = e.Literal(b, ":status", strconv.Itoa(a.status))
	}
	for _, name := range slices.Sorted(maps.Keys(a.sending)) {
		lower := strings.ToLower(name)
		switch lower {
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
			continue // those of HTTP/1.1
		}
		if strings.HasPrefix(name, nethttp.TrailerPrefix) || !isName(lower) {
			continue
		}
		for _, value := range a.sending[name] {
			b = e.Literal(b, lower, oneLine(value))
		}
	}
	if len(a.sending["Date"]) == 0 {
		b = e.Literal(b, "date", time.Now().UTC().Format(nethttp.TimeFormat))
	}
	a.x.conn.SetBufferLocked(b)
}

// trailing are the trailers, names and values in turn.
func (a *answer) trailing(end bool) []string {
	if !end {
		return nil
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		rest, found := strings.CutPrefix(name, nethttp.TrailerPrefix)
		if !found {
			if rest = name; !slices.Contains(a.trailers, name) {
				continue
			}
		}
		if rest = strings.ToLower(rest); !isName(rest) {
			continue
		}
		for _, value := range a.header[name] {
			all = append(all, rest, oneLine(value))
		}
	}
	return all
}

// isName reports whether a name in lower case may be that of a field.
func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	return name != ""
}

// oneLine is a value without what ends a line.
func oneLine(value string) string {
	if strings.ContainsAny(value, "\r\n\x00") {
		return strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(value)
	}
	return value
}
