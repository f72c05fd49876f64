package otel_test

import (
	"os"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

// TestMain also is a server process of the tests, when it is started as that.
func TestMain(m *testing.M) {
	if next, ok := os.LookupEnv("WEFT_TEST_NEXT"); ok {
		serveUntilKilled(next)
	}
	leak.Main(m)
}
