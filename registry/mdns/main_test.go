package mdns

import (
	"flag"
	"os"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

// TestMain runs the tests, or, in the processes that TestTwoHosts starts, one host.
func TestMain(m *testing.M) {
	if role := os.Getenv(hostRole); role != "" {
		os.Exit(runHost(role))
	}
	// The tests wait most of the time, so more of them run at once than there are
	// processors; -parallel counts if it is given.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leak.Main(m)
}
