package jrpcpeer

import (
	"testing"

	"github.com/weftrpc/weft/bench/internal/peer/peertest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPeer(t *testing.T) { peertest.Run(t, Peer{}) }
