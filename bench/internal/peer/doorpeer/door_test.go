package doorpeer

import (
	"testing"

	"github.com/weftrpc/weft/bench/internal/peer/peertest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPeers(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name(), func(t *testing.T) { peertest.Run(t, p) })
	}
}
