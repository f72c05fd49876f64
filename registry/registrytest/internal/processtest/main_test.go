package processtest

import (
	"os"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

// TestMain runs the tests, or is the program that they start.
func TestMain(m *testing.M) {
	if addr := os.Getenv(programAddress); addr != "" {
		os.Exit(program(addr))
	}
	leak.Main(m)
}
