//go:build unix

package adversary

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

var (
	duration = flag.Duration("duration", 300*time.Millisecond, "how long each attack lasts")
	document = flag.String("document", "", "a document into which the figures are written, between its marks")
)

func TestMain(m *testing.M) {
	if text := os.Getenv(role); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	leak.Main(m)
}
