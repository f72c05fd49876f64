package main

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/internal/runner"
)

func TestDoorTable(t *testing.T) {
	of := func(peer string, callsPerSec, server float64) runner.Record {
		return record(func(r *runner.Record) { r.Peer, r.Codec, r.CallsPerSec, r.ServerCPU = peer, "gob", callsPerSec, server })
	}
	got := doorTable(results{of("net-rpc", 1000, 8), of("net-rpc+weft", 3000, 2), of("grpc-go", 1, 1), of("weft", 1000, 4), of("weft-rpcx", 900, 5)})
	for _, want := range []string{"| net-rpc | gob | 1,000 | 3,000 (3.00 ×) | 2.00 (0.25 ×) |", "| weft-rpcx | gob | 1,000 | 900 (0.90 ×) | 5.00 (1.25 ×) |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "grpc-go") {
		t.Errorf("a peer without a door is shown:\n%s", got)
	}
}

func TestCodecTable(t *testing.T) {
	of := func(peer, codec string, cpu float64) runner.Record {
		return record(func(r *runner.Record) { r.Peer, r.Codec, r.ClientCPU, r.ServerCPU = peer, codec, cpu/2, cpu/2 })
	}
	got := codecTable(results{of("grpc-go", vtproto, 60), of("weft", "plain", 6)})
	if want := "| `plain` | a struct, as MessagePack | – | 6.00 µs (10.0 ×) | – |"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestCodecGoals(t *testing.T) {
	verdictOf := func(plain float64) verdict {
		of := func(peer, codec string, cpu float64) runner.Record {
			return record(func(r *runner.Record) { r.Peer, r.Codec, r.ClientCPU, r.ServerCPU = peer, codec, cpu, 0 })
		}
		for _, g := range codecGoals(results{of("grpc-go", vtproto, 70), of("weft", "plain", plain)}) {
			if g.what == "processor time of a call of grpc-go with vtproto, over that of weft with plain, 1,000 callers" {
				return g.verdict
			}
		}
		return noData
	}
	if got := verdictOf(10); got != met {
		t.Errorf("7 times is %s", got)
	}
	if got := verdictOf(10.1); got != missed {
		t.Errorf("less is %s", got)
	}
}
