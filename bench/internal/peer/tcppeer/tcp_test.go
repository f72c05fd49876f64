package tcppeer

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/weftrpc/weft/bench/internal/peer/peertest"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPeer(t *testing.T) { peertest.Run(t, Peer{}) }

// stream is a connection of which only reading matters.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(b []byte) (int, error) { return s.Reader.Read(b) }

func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(nil, msg.Slow, []byte("body")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{5, 0, 0, 0, 'a'})
	f.Add([]byte{1, 0, 0, 0, 'a', 'b'})
	f.Fuzz(func(t *testing.T, input []byte) {
		in := frames{conn: stream{Reader: bytes.NewReader(input)}, buf: make([]byte, 16)}
		method, body, err := in.next()
		if err != nil {
			return
		}
		// What follows a frame is found only if it came with the same read.
		if again := appendFrame(nil, method, body); !bytes.HasPrefix(input, again) {
			t.Errorf("%x was read as %v %x", input, method, body)
		}
	})
}
