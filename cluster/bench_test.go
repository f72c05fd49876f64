package cluster_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/registry/static"
)

// BenchmarkCall compares a client of one server with the same call through a
// cluster of one server, and three clients that take turns with a cluster of three,
// over TCP with 64 callers. cpu-ns/op is the processor time of the whole process,
// servers included, so the difference between two rows is what the cluster costs:
//
//	go test ./cluster -run '^$' -bench Call -count 10
func BenchmarkCall(b *testing.B) {
	var addresses []string
	for range 3 {
		srv := weft.NewServer(nil)
		must(b, weft.HandleRaw(srv, "Echo.Raw", func(_ context.Context, req, _ []byte) ([]byte, error) { return req, nil }))
		l, err := srv.Listen(b.Context(), "tcp://127.0.0.1:0")
		must(b, err)
		go srv.Serve(l) // this goroutine ends with the server
		b.Cleanup(func() { srv.Close() })
		addresses = append(addresses, "tcp://"+l.Addr().String())
	}
	cfg := &weft.ClientConfig{Codec: raw.New()}
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprint("direct-to-", n), func(b *testing.B) {
			var turns turns
			for _, address := range addresses[:n] {
				c, err := weft.Dial(b.Context(), address, cfg)
				must(b, err)
				defer c.Close()
				turns.clients = append(turns.clients, c)
			}
			measure(b, &turns)
		})
		b.Run(fmt.Sprint("cluster-of-", n), func(b *testing.B) {
			reg, err := static.New(addresses[:n]...)
			must(b, err)
			defer reg.Close()
			c, err := cluster.New(&cluster.Config{Registry: reg, Client: cfg})
			must(b, err)
			defer c.Close()
			measure(b, c)
		})
	}
}

// turns is the least code that calls several servers in turn.
type turns struct {
	clients []*weft.Client
	calls   atomic.Uint64
}

func (t *turns) Call(ctx context.Context, method string, args, reply any, opts ...weft.CallOption) error {
	return t.clients[t.calls.Add(1)%uint64(len(t.clients))].Call(ctx, method, args, reply, opts...)
}

func measure(b *testing.B, c weft.Caller) {
	message := make([]byte, 581)
	call := func(reply *[]byte) {
		if err := c.Call(context.Background(), "Echo.Raw", &message, reply); err != nil {
			b.Fatal(err)
		}
	}
	var first []byte
	call(&first)
	var failed atomic.Bool
	b.SetParallelism(32)
	b.ReportAllocs()
	b.ResetTimer()
	before := cputime.Used()
	b.RunParallel(func(pb *testing.PB) {
		var reply []byte
		for pb.Next() && !failed.Load() {
			if err := c.Call(context.Background(), "Echo.Raw", &message, &reply); err != nil {
				failed.Store(true)
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(cputime.Used()-before)/float64(b.N), "cpu-ns/op")
}
