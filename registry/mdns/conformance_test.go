package mdns

import (
	"net"
	"testing"
	"time"

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

func TestConformance(t *testing.T) {
	t.Parallel()
	name := loopback(t)
	registrytest.Run(t, registrytest.Config{
		New:    func(*testing.T) registry.Driver { return newDriver([]string{name}) },
		Settle: gather + 2*time.Second,
	})
}
