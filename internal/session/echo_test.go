package session

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

type rawCodec struct{}

func (rawCodec) Name() string                             { return "raw" }
func (rawCodec) Append(dst []byte, v any) ([]byte, error) { return append(dst, *v.(*[]byte)...), nil }
func (rawCodec) Decode(b []byte, v any) error {
	p := v.(*[]byte)
	*p = append((*p)[:0], b...)
	return nil
}
func (rawCodec) Size(v any) (int, bool) { return len(*v.(*[]byte)), true }
func (rawCodec) AppendSized(dst []byte, v any, n int) ([]byte, error) {
	return append(dst, *v.(*[]byte)...), nil
}

func testConfig(e *Executor) *Config {
	echo := &Method{Name: "Echo.Raw", Serve: func(r *Request) { r.ReplyBytes(r.Body) }}
	sleep := &Method{Name: "Echo.Sleep", Serve: func(r *Request) { time.Sleep(10 * time.Millisecond); r.ReplyBytes(r.Body) }}
	return &Config{
		Limits: Limits{MaxMessage: 4 << 20, MaxMetadata: 16 << 10, MaxCalls: 16384, MaxCallBytes: 64 << 20, MaxBindings: 1024,
			StreamWindow: 256 << 10, WriteBuffer: 1 << 20, WriteTimeout: 10 * time.Second, PingInterval: 10 * time.Second, PingIdle: 30 * time.Second, PingTimeout: 5 * time.Second,
			DrainWait: 5 * time.Second, Handshake: 5 * time.Second, CompressAbove: 1 << 10},
		Exec: e, Log: slog.New(slog.DiscardHandler), Codecs: []string{"raw"},
		Resolve: func(codec, name string) (*Binding, *wire.Status) {
			b := &Binding{Method: echo, Codec: rawCodec{}, Sizer: rawCodec{}}
			if name == "Echo.Sleep" {
				b.Method = sleep
			}
			return b, nil
		},
	}
}

var callers = flag.Int("callers", 100, "")
var method = flag.String("method", "Echo.Raw", "")

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestThroughput(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	defer l.Close()
	se, ce := NewExecutor(), NewExecutor()
	scfg, ccfg := testConfig(se), testConfig(ce)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go Accept(context.Background(), c, scfg)
		}
	}()
	var ss []*Session
	for range 2 {
		conn, _ := net.Dial("tcp", l.Addr().String())
		s, st := Dial(context.Background(), conn, ccfg, "")
		if st != nil {
			t.Fatal(st)
		}
		ss = append(ss, s)
	}
	n := 500000
	if *method != "Echo.Raw" {
		n = *callers * 20
	}
	per := n / *callers
	var wg sync.WaitGroup
	start, c0 := time.Now(), cpu()
	for i := range *callers {
		wg.Go(func() {
			s := ss[i%2]
			c := NewCall()
			req := make([]byte, 581)
			req[3] = byte(i)
			var rep []byte
			for range per {
				c.Reset()
				c.Method, c.Codec, c.Args, c.Reply = *method, rawCodec{}, &req, &rep
				c.Deadline = now() + int64(10*time.Second)
				if st := s.Start(context.Background(), c); st != nil {
					t.Fatal(st)
					return
				}
				s.Wait(context.Background(), c)
				s.Finish(c)
				if c.Status != nil || len(rep) != 581 || rep[3] != byte(i) {
					panic(fmt.Sprint(c.Status, len(rep)))
				}
			}
		})
	}
	wg.Wait()
	el := time.Since(start)
	fmt.Printf("callers %d: %.0f calls/s, cpu %.2f us/call\n", *callers, float64(n)/el.Seconds(), float64((cpu()-c0).Microseconds())/float64(n))
	for _, s := range ss {
		fmt.Println("writes", s.w.writes, s.w.taken/s.w.writes)
		s.Close(closedHere())
	}
}
