package main

import (
	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/peer/floorpeer"
	"github.com/weftrpc/weft/bench/internal/peer/grpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/tcppeer"
	"github.com/weftrpc/weft/bench/internal/peer/weftpeer"
)

// peers are those that this program knows, in the order of a round.
func peers() harness.Peers {
	return harness.Peers{tcppeer.Peer{}, floorpeer.Peer{}, grpcpeer.Peer{}, weftpeer.Peer{}}
}
