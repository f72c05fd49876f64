package greeting

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/delivered"
	"github.com/weftrpc/weft/internal/wire"
)

// patience is how long the last write to a peer that is refused may take.
const patience = 100 * time.Millisecond

// MaxReason is the longest message in a GOAWAY, in bytes.
const MaxReason = 1 << 10

// Reason is the payload of a GOAWAY with a message.
func Reason(message string) []byte { return []byte(message[:min(len(message), MaxReason)]) }

// Refuse tells the peer why its connection is not taken, and closes it.
func Refuse(conn net.Conn, st *wire.Status) {
	b := append([]byte(nil), wire.Preface...)
	b = wire.AppendFrame(b, wire.Header{Type: wire.TypeGoAway, Code: uint16(st.Code)}, Reason(st.Message))
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write(b); err == nil {
		delivered.HangUp(conn)
	}
	conn.Close()
}

// RefuseUnread is Refuse for a connection of which nothing was read: only a client that
// speaks weft gets the reason. It takes no longer than Refuse does, twice.
func RefuseUnread(conn net.Conn, st *wire.Status) {
	var b [len(wire.Preface)]byte
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(conn, b[:]); err != nil || string(b[:]) != wire.Preface {
		conn.Close()
		return
	}
	Refuse(conn, st)
}

// Bound limits what follows on conn to a time and to ctx. stop takes the limit
// away and reports whether ctx was still alive.
func Bound(ctx context.Context, conn net.Conn, limit time.Duration) (stop func() bool) {
	conn.SetDeadline(time.Now().Add(limit))
	release := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return func() bool {
		if !release() {
			return false
		}
		conn.SetDeadline(time.Time{})
		return true
	}
}
