package ends

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft/internal/replay"
	"github.com/weftrpc/weft/internal/socket"
)

// TestSource reads what was read ahead, and then the socket itself, while its guard is watched and while it is not.
func TestSource(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var watched atomic.Bool
	s := NewSource(replay.Conn(conn, []byte("ahead")), &watched)
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(s, got); err != nil || string(got) != want {
			t.Errorf("%q, %v were read, want %q", got, err, want)
		}
	}
	read("ah")
	read("ead")
	for _, w := range []bool{false, true, false} {
		watched.Store(w)
		for range 10 {
			if _, err := peer.Write([]byte("more")); err != nil {
				t.Fatal(err)
			}
			read("more")
		}
		if _, ok := s.ends.In.(*socket.Pulsed); !ok {
			t.Errorf("the bytes are read from a %T", s.ends.In)
		}
	}
	peer.Close()
	if n, err := s.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}
