package netrpc_test

import (
	"errors"
	"net"
	"net/rpc"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/wiretest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// stock is the client of the standard library.
type stock struct{ *rpc.Client }

func (s stock) Call(method string, args, reply any) error { return s.Client.Call(method, args, reply) }

func TestDoor(t *testing.T) {
	const first = "\x2e\x7f\x03\x01\x01\x07Request"
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireNetRPC,
		Door:   netrpc.Door,
		Dial:   func(conn net.Conn) (doortest.Client, error) { return stock{rpc.NewClient(conn)}, nil },
		Garbage: [][]byte{
			[]byte(first),
			append([]byte(first), make([]byte, 4096)...),
			append([]byte(first), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"...),
			[]byte("\xf8\x7f\xff\xff\xff\xff\xff\xff\xff\x03\x01\x01\x07Request"),
		},
	})
}

func TestWire(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: netrpc.Wire, NoCredential: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := rpc.NewServer()
		if err := srv.RegisterName("Test", plain{h}); err != nil {
			t.Error(err)
		}
		srv.ServeConn(conn)
	}})
}

// plain are the handlers as a program of the standard library has them: their errors are
// text alone.
type plain struct{ h *wiretest.Handlers }

func (p plain) Echo(m, reply *wiretest.Message) error { return p.h.Echo(m, reply) }
func (p plain) Wait(m, reply *wiretest.Message) error { return p.h.Wait(m, reply) }
func (p plain) Fail(m, _ *wiretest.Message) error {
	return errors.New("no " + m.Text + " here")
}
