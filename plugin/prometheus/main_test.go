package prometheus_test

import (
	"os"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

// TestMain also is the server process of the tests, when it is started as that.
func TestMain(m *testing.M) {
	if registered := os.Getenv("WEFT_TEST_SERVER"); registered != "" {
		serveUntilKilled(registered)
	}
	leak.Main(m)
}
