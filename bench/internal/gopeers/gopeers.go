// Package gopeers lists the peers that are called from Go.
package gopeers

import (
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/peer/connectpeer"
	"github.com/weftrpc/weft/bench/internal/peer/doorpeer"
	"github.com/weftrpc/weft/bench/internal/peer/drpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/floorpeer"
	"github.com/weftrpc/weft/bench/internal/peer/grpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/httppeer"
	"github.com/weftrpc/weft/bench/internal/peer/jrpcpeer"
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

// Doors lists the peers of the plan doors that are in no other plan.
func Doors() []harness.Peer {
	all := []harness.Peer{httppeer.Peer{}, jrpcpeer.Peer{}}
	for _, p := range doorpeer.All() {
		all = append(all, p)
	}
	return append(all, weftpeer.GRPC(), weftpeer.RPCX())
}
