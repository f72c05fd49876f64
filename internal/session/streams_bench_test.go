package session

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/internal/wire"
)

// BenchmarkStreams measures streams of 1,000 small messages that are open at the same time, in each direction. cpu-µs/msg is the
// processor time of both sides.
func BenchmarkStreams(b *testing.B) {
	const count = 1000
	body := pattern(100)
	down := streaming("Down.Many", func(_ *Context, st *Stream) *wire.Status {
		for range count {
			if status := st.Send(&body); status != nil {
				return status
			}
		}
		return nil
	})
	up := streaming("Up.Many", func(_ *Context, st *Stream) *wire.Status {
		for {
			if b, status := recv(st); b == nil {
				return status
			}
		}
	})
	for _, method := range []string{"Down.Many", "Up.Many"} {
		for _, streams := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%d", method, streams), func(b *testing.B) {
				client, _, end := tcpPair(b, down, up)
				defer end()
				before := cputime.Used()
				for b.Loop() {
					var wg sync.WaitGroup
					for range streams {
						wg.Go(func() {
							st := openStream(b, context.Background(), client, method)
							if method == "Up.Many" {
								for range count {
									if status := st.Send(&body); status != nil {
										b.Error(status)
									}
								}
								st.CloseSend()
							}
							n := 0
							for {
								m, status := recv(st)
								if m == nil {
									if status != nil || method == "Down.Many" && n != count {
										b.Error(n, status)
									}
									return
								}
								n++
							}
						})
					}
					wg.Wait()
				}
				b.ReportMetric(float64(cputime.Used()-before)/1e3/float64(b.N*streams*count), "cpu-µs/msg")
			})
		}
	}
}

// BenchmarkChat measures messages of which each is sent when the answer to the one before has come.
func BenchmarkChat(b *testing.B) {
	client, _, end := tcpPair(b, chat())
	defer end()
	st := openStream(b, context.Background(), client, "Echo.Chat")
	body := pattern(100)
	b.ReportAllocs()
	before := cputime.Used()
	for b.Loop() {
		if status := st.Send(&body); status != nil {
			b.Fatal(status)
		}
		recv(st)
	}
	b.ReportMetric(float64(cputime.Used()-before)/1e3/float64(b.N), "cpu-µs/op")
	st.CloseSend()
	recv(st)
}
