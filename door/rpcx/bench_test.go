package rpcx_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/door/rpcx"
)

func msgpackCodec() codec.Codec { return msgpack.New() }

// BenchmarkCalls calls a server by weft's wire and by rpcx's. All callers share one connection.
func BenchmarkCalls(b *testing.B) {
	_, addr := serve(b, weft.ServerConfig{}, arith)
	for _, callers := range []int{1, 100} {
		for _, pair := range []struct {
			name string
			wire string
		}{{"weft", "tcp"}, {"rpcx", "rpcx"}} {
			b.Run(fmt.Sprintf("%s/callers=%d", pair.name, callers), func(b *testing.B) {
				c, err := weft.Dial(context.Background(), pair.wire+"://"+addr, &weft.ClientConfig{Wires: []weft.Wire{rpcx.Wire(nil)}, MaxConns: 1})
				must(b, err)
				defer c.Close()
				b.ReportAllocs()
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						args, reply := &Args{7, 8}, new(Reply)
						for n := i; n < b.N; n += callers {
							if err := c.Call(context.Background(), "Arith.Mul", args, reply); err != nil || reply.C != 56 {
								b.Error(reply, err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
