package grpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
)

// step is what a server by hand sends of the reply to one of its open calls.
type step struct {
	call int
	what byte // h: the header; d: the message of the request; b, e: its beginning and the rest; t: trailers; f: trailers that tell of a failure; w: none, but what comes before is sent and read
}

// pieces serves one connection: it gathers requests until as many calls are open as steps name, and then takes the steps.
func pieces(conn net.Conn, calls int, steps []step) error {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.Preface))); err != nil {
		return err
	}
	frame := func(b []byte, typ, flags byte, id uint32, payload []byte) []byte {
		b = append(b, 0, byte(len(payload)>>8), byte(len(payload)), typ, flags)
		return append(binary.BigEndian.AppendUint32(b, id), payload...)
	}
	const data, headers, settings, endStream, endHeaders = 0, 1, 4, 1, 4
	if _, err := conn.Write(frame(nil, settings, 0, 0, nil)); err != nil {
		return err
	}
	var e hpack.Encoder
	var ids []uint32
	var bodies [][]byte
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		body := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(conn, body); err != nil {
			return err
		}
		if head[3] != data {
			continue
		}
		ids, bodies = append(ids, binary.BigEndian.Uint32(head[5:])), append(bodies, body)
		if len(ids) < calls {
			continue
		}
		var b []byte
		for _, s := range steps {
			id, body := ids[s.call], bodies[s.call]
			switch s.what {
			case 'h':
				b = frame(b, headers, endHeaders, id, e.Literal(e.Static(nil, hpack.Static200), contentType, base))
			case 'd':
				b = frame(b, data, 0, id, body)
			case 'b':
				b = frame(b, data, 0, id, body[:7])
			case 'e':
				b = frame(b, data, 0, id, body[7:])
			case 't':
				b = frame(b, headers, endStream|endHeaders, id, e.Literal(nil, statusName, "0"))
			case 'f':
				b = frame(b, headers, endStream|endHeaders, id, e.Literal(nil, statusName, "5"))
			case 'w':
				if _, err := conn.Write(b); err != nil {
					return err
				}
				b = nil
				time.Sleep(10 * time.Millisecond) // the client reads what was written by itself
			}
		}
		if _, err := conn.Write(b); err != nil {
			return err
		}
		ids, bodies = nil, nil
	}
}

// TestRepliesInPieces calls a server that sends what replies consist of in different orders: each caller has its own reply, whether or not
// it was decoded where it was read.
func TestRepliesInPieces(t *testing.T) {
	for _, one := range []struct {
		name  string
		steps string // pairs of the number of a call and what is sent
		codes [2]weft.Code
	}{
		{"one behind the other", "0h0d0t1h1d1t", [2]weft.Code{}},
		{"messages first", "0h1h0d1d0t1t", [2]weft.Code{}},
		{"the later one first", "0h1h0d1d1t0t", [2]weft.Code{}},
		{"trailers by themselves", "0h1h0d0w0t1w1d0w1t", [2]weft.Code{}},
		{"messages by themselves", "0h1h0d0w1d0w1t0w0t", [2]weft.Code{}},
		{"in two pieces", "0h1h0b1d0e1t0t", [2]weft.Code{}},
		{"two messages", "0h1h0d1d0d1t", [2]weft.Code{weft.Unimplemented, 0}},
		{"a failure behind the message", "0h1h0d1d0f1t", [2]weft.Code{weft.NotFound, 0}},
		{"a failure at once", "0h0d0f1h1d1t", [2]weft.Code{weft.NotFound, 0}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			var steps []step
			for i := 0; i < len(one.steps); i += 2 {
				steps = append(steps, step{int(one.steps[i] - '0'), one.steps[i+1]})
			}
			callInPieces(t, steps, one.codes)
		})
	}
}

// callInPieces makes pairs of calls of a server that answers both by steps, and wants the call that comes first there to end with the first code.
func callInPieces(t *testing.T, steps []step, codes [2]weft.Code) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = pieces(conn, len(codes), steps) // it ends with the connection
	})
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, MaxConns: 1, Codec: raw.New(),
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for round := range 20 {
		var both sync.WaitGroup
		var mu sync.Mutex
		got := make(map[weft.Code]int)
		for i := range codes {
			both.Go(func() {
				body, reply := fmt.Appendf(nil, "the body of call %d in round %d", i, round), []byte(nil)
				err := c.Call(ctx, "Test.Any", &body, &reply)
				if err == nil && string(reply) != string(body) {
					t.Errorf("the reply to %q is %q", body, reply)
				} else if err != nil && reply != nil {
					t.Errorf("the call failed with %v, and its reply is %q", err, reply)
				}
				mu.Lock()
				defer mu.Unlock()
				got[weft.CodeOf(err)]++
			})
		}
		both.Wait()
		want := make(map[weft.Code]int)
		for _, code := range codes {
			want[code]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("round %d: the calls ended with %v, want %v", round, got, want)
		}
	}
}
