package weftpeer

import (
	"testing"

	"github.com/weftrpc/weft/bench/internal/peer/peertest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPeer(t *testing.T) { peertest.Run(t, Peer{}) }

func TestForeignWires(t *testing.T) {
	for _, p := range []Peer{GRPC(), RPCX()} {
		t.Run(p.Name(), func(t *testing.T) { peertest.Run(t, p) })
	}
}
