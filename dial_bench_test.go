package weft_test

import (
	"io"
	"net"
	"testing"

	"github.com/weftrpc/weft/internal/cputime"
)

// BenchmarkDialBare is what BenchmarkDial is held against: a TCP connection on which as
// many bytes go each way, without anything that knows what they mean. cpu-µs/op is the
// processor time of both sides.
func BenchmarkDialBare(b *testing.B) {
	const size = 200 // bytes of a preface, a hello, a binding and a request
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, size)
				for {
					if _, err := io.ReadFull(c, buf); err != nil {
						return
					}
					if _, err := c.Write(buf); err != nil {
						return
					}
				}
			}()
		}
	}()
	b.ReportAllocs()
	before := cputime.Used()
	buf := make([]byte, size)
	for b.Loop() {
		c, err := net.Dial("tcp", l.Addr().String())
		must(b, err)
		_, err = c.Write(buf)
		must(b, err)
		_, err = io.ReadFull(c, buf)
		must(b, err)
		must(b, c.Close())
	}
	b.ReportMetric(float64(cputime.Used()-before)/1e3/float64(b.N), "cpu-µs/op")
}
