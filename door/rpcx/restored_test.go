package rpcx_test

import (
	"bytes"
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/rpcx"
)

// placed is gzip that counts where it restores.
type placed struct {
	compress.Compressor
	all, reading atomic.Int64 // reading: on the goroutine that reads the connection
}

// Decompress implements compress.Compressor.
func (p *placed) Decompress(dst, src []byte, limit int) ([]byte, error) {
	p.all.Add(1)
	if bytes.Contains(debug.Stack(), []byte("(*serverConn).begin(")) {
		p.reading.Add(1)
	}
	return p.Compressor.Decompress(dst, src, limit)
}

// TestRestoredElsewhere: a compressed request of a fast method is not restored by the goroutine that reads, where it would hold all calls of
// the connection up while it waits for its turn.
func TestRestoredElsewhere(t *testing.T) {
	z := &placed{Compressor: gzip.New()}
	_, addr := serve(t, weft.ServerConfig{Compressors: []compress.Compressor{z}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Bytes.Drop", func(context.Context, *[]byte) (*[]byte, error) { return new([]byte), nil })
	})
	c := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.Codec, cfg.Compressor = raw.New(), gzip.New() })
	drop := func(request *[]byte) {
		t.Helper()
		if _, err := weft.Invoke[[]byte](t.Context(), c, "Bytes.Drop", request); err != nil {
			t.Fatal(err)
		}
	}
	small, large := []byte("weft"), bytes.Repeat([]byte("weft "), 1000)
	const calls = 20
	for range calls {
		for range 200 { // by which the server learns that the method is fast
			drop(&small)
		}
		drop(&large)
	}
	if all, reading := z.all.Load(), z.reading.Load(); all < calls || reading != 0 {
		t.Errorf("requests were restored %d times, %d of them by the goroutine that reads; want %d or more, and none", all, reading, calls)
	}
}
