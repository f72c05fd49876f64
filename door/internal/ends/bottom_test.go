package ends_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/internal/replay"
)

// secured is a connection with TLS, as far as Bottom knows.
type secured struct{ net.Conn }

func (s secured) NetConn() net.Conn { return s.Conn }

func (s secured) Close() error { panic("closed with a message, which waits for the peer to read") }

// TestBottom closes what is under connections with TLS, also under one of which some bytes were read already.
func TestBottom(t *testing.T) {
	for _, prefix := range []string{"", "prefix"} {
		here, there := net.Pipe()
		ends.Bottom(replay.Conn(secured{here}, []byte(prefix))).Close()
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the peer has read: %v", err)
		}
	}
}
