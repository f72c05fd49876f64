// Package gopeers lists the peers that are called from Go.
package gopeers

import (
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/peer/connectpeer"
	"github.com/weftrpc/weft/bench/internal/peer/drpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/floorpeer"
	"github.com/weftrpc/weft/bench/internal/peer/grpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/netrpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/tcppeer"
	"github.com/weftrpc/weft/bench/internal/peer/thriftpeer"
	"github.com/weftrpc/weft/bench/internal/peer/weftpeer"
)

// All lists them in the order of a round.
func All() []harness.Peer {
	return []harness.Peer{
		tcppeer.Peer{},
		floorpeer.Peer{},
		weftpeer.Peer{},
		grpcpeer.Peer{},
		drpcpeer.Peer{},
		connectpeer.Peer{},
		connectpeer.Peer{HTTP1: true},
		thriftpeer.Peer{},
		netrpcpeer.Peer{},
	}
}
