package mdns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// loopback is the name of this machine's loopback interface, over which multicast
// passes as over any other.
func loopback(t testing.TB) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 {
			return i.Name
		}
	}
	t.Fatal("the loopback interface is not up")
	return ""
}

// TestConformance runs beside no other test: what those send fills the receive buffers of all speakers of this machine.
func TestConformance(t *testing.T) {
	name := loopback(t)
	registrytest.Run(t, registrytest.Config{
		New:    func(*testing.T) registry.Driver { return newDriver([]string{name}) },
		Probe:  newEcho(t, name).probe,
		Settle: gather + 2*time.Second,
	})
}

// echo finds out whether what is multicast on this machine arrives.
type echo struct {
	conn *net.UDPConn
	sent int
}

func newEcho(t *testing.T, name string) *echo {
	t.Helper()
	link, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenMulticastUDP("udp4", link, group())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	packets := ipv4.NewPacketConn(conn)
	if err := errors.Join(packets.SetMulticastInterface(link), packets.SetMulticastLoopback(true)); err != nil {
		t.Fatal(err)
	}
	return &echo{conn: conn}
}

// probe sends a message to the group, which no driver takes for its own, and waits until it comes back.
func (e *echo) probe(ctx context.Context) error {
	e.sent++
	message := fmt.Appendf(nil, "echo %d of %d", e.sent, os.Getpid())
	if _, err := e.conn.WriteToUDP(message, group()); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	if err := e.conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	for buffer := make([]byte, 64<<10); ; {
		n, err := e.conn.Read(buffer)
		if err != nil || string(buffer[:n]) == string(message) {
			return err
		}
	}
}
