package unix_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/transporttest"
	"github.com/weftrpc/weft/transport/unix"
)

func TestConformanceAbstract(t *testing.T) {
	n := 0
	transporttest.Run(t, func(t *testing.T) (transport.Transport, string) {
		n++
		return unix.New(nil), fmt.Sprintf("@weft-test-%d-%d", os.Getpid(), n)
	})
}

func TestLongestPath(t *testing.T) {
	path := socketPath(t)
	path += strings.Repeat("x", 107-len(path))
	listen(t, path)
	c, err := unix.New(nil).Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
