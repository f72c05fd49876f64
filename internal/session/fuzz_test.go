package session

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// fuzzPrelude is what a fuzzed peer says before its own bytes: its hello, and a
// binding for each kind of method.
func fuzzPrelude(checksum bool) []byte {
	h := strangerHello()
	h.MaxCalls, h.MaxBindings, h.StreamWindow = 8, 2, 64
	if checksum {
		h.Features = wire.FeatureChecksum
	}
	b := append([]byte(wire.Preface), wire.AppendFrame(nil, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, h))...)
	for i, name := range []string{"Echo.Say", "Echo.Chat", "Echo.Wait", "No.Such", "Call.Back"} {
		b = append(b, frameBytes(checksum, wire.Header{Type: wire.TypeBind, Code: uint16(i)}, wire.AppendBind(nil, "raw", name))...)
	}
	return b
}

func frameBytes(checksum bool, h wire.Header, payload []byte) []byte {
	b := wire.AppendFrame(nil, h, payload)
	if checksum {
		b = wire.AppendChecksum(b, 0)
	}
	return b
}

// Whatever a peer says after a good handshake, a session does not panic, hang or
// leak, and what it holds stays bounded.
func FuzzSession(f *testing.F) {
	var file struct {
		Vectors []violation `json:"vectors"`
	}
	loadVectors(f, "violations", &file)
	for _, v := range file.Vectors {
		f.Add([]byte(v.Hex[min(len(v.Hex), 113):]), uint8(0)) // behind the hello
	}
	for _, h := range []wire.Header{
		{Type: wire.TypeRequest}, {Type: wire.TypeRequest, Flags: wire.FlagStream, Code: 1}, {Type: wire.TypeRequest, Code: 2, Arg: 5},
		{Type: wire.TypeRequest, Flags: wire.FlagMore}, {Type: wire.TypeChunk}, {Type: wire.TypeData}, {Type: wire.TypeCredit, Arg: 100},
		{Type: wire.TypeCancel, Code: 1}, {Type: wire.TypePing}, {Type: wire.TypeGoAway, Code: 14}, {Type: wire.TypeRequest, Code: 4},
		{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: 1 << 16}, {Type: wire.TypeError, Flags: wire.FlagAnswer, ID: 1 << 16, Code: 3},
	} {
		one := frameBytes(false, h, []byte("12345678"))
		f.Add(append(append(frameBytes(false, wire.Header{Type: wire.TypeRequest, Code: 4, ID: 5}, nil), one...), one...), uint8(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		if len(data) > 256<<10 {
			return
		}
		synctest.Test(t, func(t *testing.T) { fuzzOnce(t, data, how) })
	})
}

func fuzzOnce(t *testing.T, data []byte, how uint8) {
	back := unary("Call.Back", func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		c := newCall("Strange.Peer", bytes.Clone(b), new([]byte))
		c.Timeout = int64(time.Second)
		if st := do(ctx, ctx.Session, c); st != nil {
			return nil, &wire.Status{Code: st.Code, Message: st.Message}
		}
		return b, nil
	})
	p := quietStranger(t, func(c *Config) {
		c.Limits.MaxCalls, c.Limits.MaxBindings, c.Limits.MaxMessage, c.Limits.StreamWindow = 16, 8, 100_000, 1000
		c.Checksum = how&2 != 0
	}, echo(), chat(), wait(), back)
	if how&4 != 0 {
		p.conn.Out().MaxRead(int(how>>3) + 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		p.conn.Write(fuzzPrelude(how&2 != 0))
		p.conn.Write(data)
		if how&1 != 0 {
			time.Sleep(3 * time.Second) // what waits for the peer has to give up by itself
		}
		p.conn.CloseWrite()
	})
	go drainConn(p.conn)
	from := time.Now()
	<-p.accepted
	if p.s == nil {
		t.Fatalf("the handshake failed: %+v", p.refused)
	}
	<-p.s.Done()
	if took := time.Since(from); took > 20*time.Second {
		t.Errorf("the session lived for %v", took)
	}
	// A peer may make as many bindings as that before it has read the limit.
	if n := len(p.s.in.bindings); n > wire.InitialBindings {
		t.Errorf("%d bindings are held", n)
	}
	synctest.Wait()
	if n := p.s.in.arriving.Load(); n > 16 {
		t.Errorf("%d requests are unfinished with 16 slots", n)
	}
	if n := len(p.s.reading.parts.open); n != 0 {
		t.Errorf("%d unfinished messages are held after the end", n)
	}
	if n := p.s.in.running.Load(); n > 16 {
		t.Errorf("%d calls are counted as running with 16 slots", n)
	}
}

// drainConn reads and forgets.
func drainConn(conn *mem.Conn) {
	var scrap [4 << 10]byte
	for {
		if _, err := conn.Read(scrap[:]); err != nil {
			return
		}
	}
}
