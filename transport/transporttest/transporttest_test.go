package transporttest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/transporttest"
)

// faulty breaks one promise of a transport that keeps the others.
type faulty struct {
	*mem.Network
	dial   func(n *mem.Network, ctx context.Context, addr string) (net.Conn, error)
	listen func(n *mem.Network, ctx context.Context, addr string) (net.Listener, error)
	conn   func(c net.Conn) net.Conn
}

func (f *faulty) Dial(ctx context.Context, addr string) (c net.Conn, err error) {
	if f.dial != nil {
		c, err = f.dial(f.Network, ctx, addr)
	} else {
		c, err = f.Network.Dial(ctx, addr)
	}
	if err == nil && f.conn != nil {
		c = f.conn(c)
	}
	return c, err
}

func (f *faulty) Listen(ctx context.Context, addr string) (net.Listener, error) {
	if f.listen != nil {
		return f.listen(f.Network, ctx, addr)
	}
	return f.Network.Listen(ctx, addr)
}

type conn struct {
	net.Conn
	read  func(c net.Conn, b []byte) (int, error)
	write func(c net.Conn, b []byte) (int, error)
}

func (c *conn) Read(b []byte) (int, error) {
	if c.read != nil {
		return c.read(c.Conn, b)
	}
	return c.Conn.Read(b)
}

func (c *conn) Write(b []byte) (int, error) {
	if c.write != nil {
		return c.write(c.Conn, b)
	}
	return c.Conn.Write(b)
}

// acceptError is a listener whose Accept ends with an error of its own.
type acceptError struct {
	net.Listener
}

func (l acceptError) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, io.EOF
	}
	return c, nil
}

// elsewhere is a listener that says it is at an address where it is not.
type elsewhere struct {
	net.Listener
}

func (elsewhere) Addr() net.Addr { return mem.Addr("elsewhere") }

// faults returns a broken transport for each promise it breaks.
func faults() map[string]*faulty {
	return map[string]*faulty{
		"the listener's address can be dialed": {listen: func(n *mem.Network, ctx context.Context, addr string) (net.Listener, error) {
			l, err := n.Listen(ctx, addr)
			return elsewhere{l}, err
		}},
		"an address is listened on once": {listen: func(n *mem.Network, ctx context.Context, addr string) (net.Listener, error) {
			l, err := n.Listen(ctx, addr)
			if err != nil {
				return n.Listen(ctx, "")
			}
			return l, nil
		}},
		"contexts do not outlive Dial and Listen": {dial: func(n *mem.Network, ctx context.Context, addr string) (net.Conn, error) {
			c, err := n.Dial(ctx, addr)
			return &conn{Conn: c, write: func(c net.Conn, b []byte) (int, error) {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
				return c.Write(b)
			}}, err
		}},
		"Dial without a listener fails and names the address": {dial: func(n *mem.Network, ctx context.Context, addr string) (net.Conn, error) {
			c, err := n.Dial(ctx, addr)
			if err != nil {
				return nil, errors.New("connection refused")
			}
			return c, nil
		}},
		"Dial ends with its context": {dial: func(n *mem.Network, ctx context.Context, addr string) (net.Conn, error) {
			return n.Dial(context.WithoutCancel(ctx), addr)
		}},
		"closing the listener ends Accept": {listen: func(n *mem.Network, ctx context.Context, addr string) (net.Listener, error) {
			l, err := n.Listen(ctx, addr)
			return acceptError{l}, err
		}},
		"closing a connection ends its Write": {conn: func(c net.Conn) net.Conn {
			return &conn{Conn: c, write: func(c net.Conn, b []byte) (int, error) { return len(b), nil }}
		}},
		"the reader gets everything before EOF": {conn: func(c net.Conn) net.Conn {
			return &conn{Conn: c, write: func(c net.Conn, b []byte) (int, error) {
				_, err := c.Write(b[:len(b)-1])
				return len(b), err
			}}
		}},
		"much travels both ways at once": {conn: func(c net.Conn) net.Conn {
			c.(*mem.Conn).In().FlipBit(5_000_000, 3)
			return c
		}},
		"concurrent writes do not mix": {conn: func(c net.Conn) net.Conn {
			return &conn{Conn: c, write: func(c net.Conn, b []byte) (int, error) {
				half, err := c.Write(b[:len(b)/2])
				if err != nil {
					return half, err
				}
				time.Sleep(time.Millisecond)
				rest, err := c.Write(b[len(b)/2:])
				return half + rest, err
			}}
		}},
		"a read deadline ends Read": {conn: func(c net.Conn) net.Conn {
			return &conn{Conn: c, read: func(c net.Conn, b []byte) (int, error) {
				n, err := c.Read(b)
				if err != nil {
					err = errors.New("too late")
				}
				return n, err
			}}
		}},
	}
}

// Each broken transport fails the check of the promise it breaks. A failing check
// fails its process, so each runs in one of its own, which this variable tells what
// to run.
const variable = "WEFT_BROKEN_PROMISE"

func TestRunFindsFaults(t *testing.T) {
	if promise, child := os.LookupEnv(variable); child {
		transporttest.Run(t, func(*testing.T) (transport.Transport, string) {
			f := faults()[promise]
			f.Network = mem.New()
			return f, ""
		})
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for promise := range faults() {
		name := strings.ReplaceAll(promise, " ", "_")
		cmd := exec.Command(program, "-test.run=^TestRunFindsFaults$/^"+name+"$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"="+promise)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestRunFindsFaults/"+name) {
			t.Errorf("Run did not find that %q is broken: %v\n%s", promise, err, out)
		}
	}
}

func TestRunPasses(t *testing.T) {
	transporttest.Run(t, func(*testing.T) (transport.Transport, string) { return mem.New(), "" })
}

// The test of a transport is one call in a test of its package.
func ExampleRun() {
	testConformance := func(t *testing.T) {
		transporttest.Run(t, func(t *testing.T) (transport.Transport, string) {
			return mem.New(), "orders"
		})
	}
	fmt.Printf("%T\n", testConformance)
	// Output: func(*testing.T)
}
