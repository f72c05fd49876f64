package thrift

import (
	"net"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/internal/socket"
)

// looking is a door that tells of its connections before it serves them.
type looking struct {
	*door
	look func(s *serverConn)
}

func (l looking) Serve(c *weft.DoorConn) error {
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		return err
	}
	l.look(newServerConn(l.door, c))
	return nil
}

// TestEnds: where calls are frequent, the scheduler is not told of the system calls of a connection.
func TestEnds(t *testing.T) {
	seen := make(chan struct{})
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{looking{newDoor(nil), func(s *serverConn) {
		defer close(seen)
		if _, ok := s.out.conn.(*socket.Pulsed); !ok {
			t.Errorf("replies are written to a %T", s.out.conn)
		}
		if _, ok := s.rd.conn.(*ends.Source); !ok {
			t.Errorf("requests are read from a %T", s.rd.conn)
		}
	}}}})
	defer srv.Close()
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("\x80\x01\x00\x01")); err != nil {
		t.Fatal(err)
	}
	<-seen
}
