package main

import (
	"testing"

	"github.com/weftrpc/weft/bench/report/records"
)

// The operations, as records name them.
const (
	encode = "encode"
	decode = "decode"
	reuse  = "reuse" // decode over the last message
	call   = "call"
)

// operation is what one row of a table measures.
type operation struct {
	kind  string // encode, decode, reuse or call
	codec string
	peer  string       // of a call
	size  int          // of the encoded message in bytes; 0 where it is not known
	once  func() error // does it once, and checks what came out of a call
}

// String names the operation in messages.
func (o operation) String() string {
	if o.peer == "" {
		return o.kind + " " + o.codec
	}
	return o.kind + " " + o.codec + " over " + o.peer
}

// measure repeats the operation for the time of a benchmark.
func (o operation) measure() (records.Codec, error) {
	var failed error
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if failed = o.once(); failed != nil {
				b.FailNow()
			}
		}
	})
	if failed != nil {
		return records.Codec{}, failed
	}
	n := float64(result.N)
	return records.Codec{
		Workload:    records.CodecWorkload,
		Codec:       o.codec,
		Operation:   o.kind,
		Peer:        o.peer,
		NsPerOp:     float64(result.T.Nanoseconds()) / n,
		BytesPerOp:  float64(result.MemBytes) / n,
		AllocsPerOp: float64(result.MemAllocs) / n,
		Size:        float64(o.size),
	}, nil
}
