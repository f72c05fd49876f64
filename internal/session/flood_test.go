package session

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/internal/wire"
)

// flooded is a server with callers, each on a connection of its own, and one connection more.
type flooded struct {
	t       testing.TB
	l       net.Listener
	server  *Config
	client  *Config
	calls   atomic.Int64
	stop    chan struct{}
	workers sync.WaitGroup
	mu      sync.Mutex
	ended   []*Session
}

func newFlooded(t testing.TB, callers int) *flooded {
	f := &flooded{t: t, stop: make(chan struct{})}
	var err error
	if f.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	f.server, f.client = newConfig(NewExecutor(), []*Method{scratchEcho(), wait()}), newConfig(NewExecutor(), nil)
	f.client.Resolve = nil
	f.workers.Go(func() {
		for {
			conn, err := f.l.Accept()
			if err != nil {
				return
			}
			f.workers.Go(func() {
				if s, _ := Accept(context.Background(), conn, f.server, nil); s != nil {
					f.mu.Lock()
					f.ended = append(f.ended, s)
					f.mu.Unlock()
					s.Run(nil, nil)
				}
			})
		}
	})
	for range callers {
		conn, err := net.Dial("tcp", f.l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s, st := Dial(context.Background(), conn, f.client, "")
		if st != nil {
			t.Fatal(st)
		}
		f.mu.Lock()
		f.ended = append(f.ended, s)
		f.mu.Unlock()
		f.workers.Go(func() { s.Run(nil, nil) })
		f.workers.Go(func() {
			r := newCaller(s)
			for {
				select {
				case <-f.stop:
					return
				default:
				}
				if err := r.call(); err != nil {
					select {
					case <-f.stop:
					default:
						t.Error(err)
					}
					return
				}
				f.calls.Add(1)
			}
		})
	}
	return f
}

func (f *flooded) end() {
	close(f.stop)
	f.l.Close()
	f.mu.Lock()
	for _, s := range f.ended {
		s.Close(closedHere())
	}
	f.mu.Unlock()
	f.workers.Wait()
	f.server.Exec.Close()
	f.client.Exec.Close()
}

// rate is how many calls are made in a time.
func (f *flooded) rate(d time.Duration) float64 {
	from, at := f.calls.Load(), cputime.Used()
	time.Sleep(d)
	return float64(f.calls.Load()-from) / (cputime.Used() - at).Seconds()
}

// flood has another process send bytes on one connection until its input ends.
func (f *flooded) flood(kind string) (end func()) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestFloodPeer$")
	cmd.Env = append(os.Environ(), floodEnv+"="+kind+" "+f.l.Addr().String())
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return func() {
		in.Close()
		cmd.Wait()
	}
}

const floodEnv = "WEFT_TEST_FLOOD"

// TestFloodPeer is the other process.
func TestFloodPeer(t *testing.T) {
	kind, addr, ok := strings.Cut(os.Getenv(floodEnv), " ")
	if !ok {
		return
	}
	go func() { // this goroutine ends with the process
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for again := true; again; again = kind == "connections" {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		floodOn(conn, kind)
		conn.Close()
	}
}

// floodOn floods on one connection.
func floodOn(conn net.Conn, kind string) {
	cfg := &Config{}
	conn.Write(cfg.appendGreeting(nil, ""))
	one := func(h wire.Header, payload []byte) []byte { return wire.AppendFrame(nil, h, payload) }
	conn.Write(one(wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", "Echo.Say")))
	conn.Write(one(wire.Header{Type: wire.TypeBind, Code: 1}, wire.AppendBind(nil, "raw", "No.Such")))
	conn.Write(one(wire.Header{Type: wire.TypeBind, Code: 2}, wire.AppendBind(nil, "raw", "Echo.Wait")))
	switch kind {
	case "cancel":
		floodCancels(conn)
		return
	case "connections":
		leaveCancels(conn)
		return
	}
	go func() {
		b := make([]byte, 64<<10)
		for {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	}()
	var b []byte
	for i := range uint32(4096) {
		if i%200 == 0 {
			// A call pays for what is skipped and bound behind it.
			b = append(b, one(wire.Header{Type: wire.TypeRequest, ID: i}, []byte("hello"))...)
		}
		switch kind {
		case "credit":
			b = append(b, one(wire.Header{Type: wire.TypeCredit, ID: i}, nil)...)
		case "echo":
			b = append(b, one(wire.Header{Type: wire.TypeRequest, ID: i}, []byte("hello"))...)
		case "bind":
			b = append(b, one(wire.Header{Type: wire.TypeBind, Code: 1}, wire.AppendBind(nil, "raw", fmt.Sprint("No.Such", i)))...)
		case "unknown":
			b = append(b, one(wire.Header{Type: wire.TypeRequest, Code: 1, ID: i}, nil)...)
		}
	}
	for {
		if _, err := conn.Write(b); err != nil {
			return
		}
	}
}

// floodCancels makes calls and cancels them, as many as it has slots for, and reads the answers.
func floodCancels(conn net.Conn) {
	const slots = 4096
	in := bufio.NewReaderSize(conn, 64<<10)
	in.Discard(len(wire.Preface))
	header := make([]byte, wire.HeaderSize)
	for turn := uint16(0); ; turn++ {
		var b []byte
		for slot := range uint32(slots) {
			id := wire.ID(slot, turn)
			b = wire.AppendFrame(b, wire.Header{Type: wire.TypeRequest, Code: 2, ID: id}, nil)
			b = wire.AppendFrame(b, wire.Header{Type: wire.TypeCancel, Code: uint16(wire.Canceled), ID: id}, nil)
		}
		sent := make(chan error, 1)
		go func() { // it ends with the connection
			_, err := conn.Write(b)
			sent <- err
		}()
		for open := slots; open > 0; {
			if _, err := io.ReadFull(in, header); err != nil {
				return
			}
			h := wire.ParseHeader(header)
			if _, err := in.Discard(int(h.Length)); err != nil {
				return
			}
			if h.Type == wire.TypeError || h.Type == wire.TypeReply {
				open--
			}
		}
		if <-sent != nil {
			return
		}
	}
}

// leaveCancels makes as many calls as a connection has slots for, and cancels them, when the server has said hello. It reads no answer.
func leaveCancels(conn net.Conn) {
	io.ReadFull(conn, make([]byte, len(wire.Preface)+wire.HeaderSize))
	var b []byte
	for slot := range uint32(15_000) {
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeRequest, Code: 2, ID: slot}, nil)
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeCancel, Code: uint16(wire.Canceled), ID: slot}, nil)
	}
	conn.Write(b)
}

// A connection that always has bytes to read leaves the others their share of the processors,
// whatever the bytes are, and so do many such connections together. Without pauses four callers keep one or two calls of a hundred on one
// processor. What is compared is calls for processor time, in one run; on two processors the
// flood has one of its own.
func TestFloodLeavesOthersTheirShare(t *testing.T) {
	const callers, least = 4, 0.2 // half of a fair share is 0.4
	for _, procs := range []int{1, 2} {
		for _, kind := range []string{"credit", "echo", "bind", "unknown", "cancel", "connections"} {
			t.Run(fmt.Sprint(kind, procs), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				f := newFlooded(t, callers)
				defer f.end()
				f.rate(50 * time.Millisecond)
				var best float64
				for range 5 { // the machine may be busy
					before := f.rate(150 * time.Millisecond)
					end := f.flood(kind)
					f.rate(150 * time.Millisecond)
					during := f.rate(300 * time.Millisecond)
					end()
					best = max(best, during/before)
					if best >= least {
						break
					}
				}
				t.Logf("during the flood the others make %.2f of their calls", best)
				if best < least {
					t.Errorf("during a flood of %s the others make %.2f of their calls for the same processor time, want %.2f at least", kind, best, least)
				}
			})
		}
	}
}

// Of what a peer has sent before its session ended, not all is handled: it may be very much, and there is no peer for the answers.
func TestEndedSessionHandlesNoMore(t *testing.T) {
	const sent, endsIt = 3000, 400 // the first read is short
	var ran atomic.Int32
	m := fast(unary("Echo.End", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
		if ran.Add(1) == endsIt {
			ctx.Session.Close(closedHere())
		}
		for from := now(); now()-from < 2000; {
		}
		return nil, nil
	}))
	p := newStranger(t, nil, m)
	p.greet(nil)
	p.bind(0, m.Name)
	var b []byte
	for slot := range uint32(sent) {
		b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, ID: slot}, nil)...)
	}
	p.write(b)
	<-p.ended
	if n := ran.Load(); n > endsIt+1000 { // a slice of the reader has 500 at most
		t.Errorf("the session has ended with call %d, and %d calls ran", endsIt, n)
	}
}
