package main

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/report/records"
)

// pair is one system's client, with its own server and with weft's; or weft at both ends of its own wire and of a foreign one.
type pair struct {
	peer, door, codec string
	callers           int
}

// name is what a row of the table begins with.
func (p pair) name() string {
	if strings.HasSuffix(p.door, doorSuffix) {
		return p.peer
	}
	return p.door
}

// pairs lists them in the order in which they were first measured.
func pairs(all results) []pair {
	var list []pair
	seen := make(map[pair]bool)
	for _, r := range all {
		peer, isDoor := strings.CutSuffix(r.Peer, doorSuffix)
		if strings.HasPrefix(r.Peer, wirePrefix) {
			peer, isDoor = strings.TrimSuffix(wirePrefix, "-"), true
		}
		p := pair{peer, r.Peer, r.Codec, r.Callers}
		if isDoor && r.Workload == contract.Echo && !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	return list
}

// doorSuffix follows the name of the peer whose client calls a server of weft.
const doorSuffix = "+weft"

// wirePrefix stands before the foreign wire of a peer that is weft at both ends.
const wirePrefix = "weft-"

// doorTable is what weft's doors cost beside the servers of the wires' own systems: the figures
// of weft's server, and in parentheses what they are of the other's.
func doorTable(all results) string {
	var b strings.Builder
	b.WriteString("| client | encoding | callers | calls/s | server CPU µs/call | p50 µs | p99 µs |\n|---|---|---:|---:|---:|---:|---:|\n")
	for _, p := range pairs(all) {
		stock, weft := all.of(contract.Echo, p.peer, p.codec, p.callers), all.of(contract.Echo, p.door, p.codec, p.callers)
		cells := []string{p.name(), p.codec, records.Count(p.callers)}
		for _, f := range []records.Field{records.CallsPerSec, records.ServerCPU, records.P50, records.P99} {
			cell := weft.Figure(f).Short()
			if ratio := weft.Over(f, stock, f); ratio.Known() {
				cell += fmt.Sprintf(" (%.2f ×)", ratio.Median)
			}
			cells = append(cells, cell)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}
