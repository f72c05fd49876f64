package runner

import (
	"testing"

	"github.com/weftrpc/weft/bench/contract"
)

// TestTitles: what is not usual about a run is in its title.
func TestTitles(t *testing.T) {
	for want, change := range map[string]func(r *Record){
		"echo warp raw, 5000 callers":              func(*Record) {},
		"echo warp raw, 5000 callers, 2 servers":   func(r *Record) { r.Servers = 2 },
		"echo warp raw, 5000 callers, 4 clients":   func(r *Record) { r.Clients = 4 },
		"echo warp raw, 5000 callers, veth":        func(r *Record) { r.Network = Namespaces },
		"echo warp raw, 5000 callers, 10000 calls": func(r *Record) { r.Quota = 10_000 },
		"echo warp raw, 5000 callers, open, 80 %":  func(r *Record) { r.Share = 0.8 },
	} {
		r := Record{Workload: contract.Echo, Peer: "warp", Codec: "raw", Callers: 5000, Servers: 1, Clients: 1, Network: Loopback}
		if change(&r); r.Title() != want {
			t.Errorf("the title is %q, want %q", r.Title(), want)
		}
	}
}
