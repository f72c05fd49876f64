//go:build unix

package adversary

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/weftrpc/weft/internal/section"
)

// publish writes the figures into a document.
func publish(name string, figures []figure) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, by `make adversary DURATION=%v`, on a machine with %d processors.\n\n", time.Now().Format(time.DateOnly), *duration, runtime.NumCPU())
	b.WriteString("| attack | neighbours' goodput | their p99 | new clients without an answer in 2 s | memory of the server |\n|---|---|---|---|---|\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s | %v | %d of %d | %+.0f MiB |\n",
			f.name(), f.part(), f.p99.Round(10*time.Microsecond), f.turnedAway, f.came, f.memorySeen)
	}
	b.WriteString("\n")
	return section.Replace(name, "adversary", b.String())
}
