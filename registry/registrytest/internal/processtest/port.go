package processtest

import (
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports of FreePort: below those that systems give to outgoing connections. From
// among these, the port of a server that is down could be taken by a client, which
// could even connect to itself.
const (
	lowestPort = 15000
	ports      = 15000
)

// FreePort returns a TCP port of the loopback address on which nothing listens. It
// stays free until the server is started, and while it is down: until the end of the
// test FreePort gives it to no other test, on Linux to none of another process either.
// The same holds for the ports at the given distances from it.
func FreePort(t *testing.T, distances ...int) int {
	t.Helper()
	var err error
	for range 100 {
		port := lowestPort + rand.IntN(ports)
		var kept []io.Closer
		if kept, err = keepPort(nil, port); err == nil {
			for _, d := range distances {
				if kept, err = keepPort(kept, port+d); err != nil {
					break
				}
			}
		}
		release := func() {
			for _, c := range kept {
				_ = c.Close() // nothing was sent on it
			}
		}
		if err == nil {
			t.Cleanup(release)
			return port
		}
		release()
	}
	t.Fatalf("registrytest: no free port was found: %v", err)
	return 0
}

// keepPort adds what keeps a port, on which nothing listens.
func keepPort(kept []io.Closer, port int) ([]io.Closer, error) {
	c, err := reserve(port)
	if err != nil {
		return kept, err
	}
	kept = append(kept, c)
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return kept, err
	}
	return kept, l.Close()
}
