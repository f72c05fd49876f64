package connectpeer

import (
	"testing"

	"github.com/weftrpc/weft/bench/internal/peer/peertest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPeer(t *testing.T) { peertest.Run(t, Peer{}) }

func TestPeerOverHTTP1(t *testing.T) { peertest.Run(t, Peer{HTTP1: true}) }
