//go:build unix

package adversary

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/internal/wire"
)

// hostileServers are what a client may find at an address. Each is what is done with a connection, until it is closed.
func hostileServers() map[string]func(net.Conn) {
	all := map[string]func(net.Conn){
		"silence":                   func(c net.Conn) { io.Copy(io.Discard, c) },
		"never reading":             func(c net.Conn) { c.Write(opening()); wait(c) },
		"random bytes":              func(c net.Conn) { c.Write(noise(100_000)); io.Copy(io.Discard, c) },
		"another protocol":          func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") },
		"a reset at once":           func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) },
		"an end behind the hello":   func(c net.Conn) { c.Write(opening()) },
		"a hello, a byte at a time": func(c net.Conn) { slowly(c, opening(), 20*time.Millisecond) },
		"no answers":                func(c net.Conn) { c.Write(opening()); io.Copy(io.Discard, c) },
		"only drains": func(c net.Conn) {
			c.Write(wire.AppendFrame(opening(), wire.Header{Type: wire.TypeGoAway, Code: uint16(wire.Unavailable)}, nil))
			io.Copy(io.Discard, c)
		},
		"floods": func(c net.Conn) {
			var wg sync.WaitGroup
			wg.Go(func() { io.Copy(io.Discard, c) })
			defer wg.Wait()
			c.Write(opening())
			var b []byte
			random := rand.New(rand.NewPCG(3, 4))
			for range 5_000 {
				b = wire.AppendFrame(b, wire.Header{Type: wire.TypeCredit, Flags: wire.FlagAnswer, ID: random.Uint32(), Arg: 1}, nil)
			}
			for {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		},
		"malformed frames": func(c net.Conn) {
			random := rand.New(rand.NewPCG(5, 6))
			b := opening()
			for range 300 {
				b = append(b, grammar(random)...)
			}
			c.Write(b)
			io.Copy(io.Discard, c)
		},
		"answers to calls that are not open": answering(func(id uint32, random *rand.Rand) []byte {
			b := reply(0, id, []byte{0x80})
			if random.IntN(4) == 0 {
				b = append(b, reply(0, wire.ID(uint32(random.IntN(12)), uint16(id>>16)+1), []byte{0x80})...)
				for range 300 {
					b = wire.AppendFrame(b, wire.Header{Type: wire.TypeCredit, Flags: wire.FlagAnswer, ID: 1 << 20}, nil)
				}
			}
			return b
		}),
		"two answers to each call": answering(func(id uint32, _ *rand.Rand) []byte {
			return append(reply(0, id, []byte{0x80}), reply(0, id, []byte{0x80})...)
		}),
		"answers that have no end":   answering(func(id uint32, _ *rand.Rand) []byte { return reply(wire.FlagMore, id, []byte{0x80}) }),
		"answers that do not decode": answering(func(id uint32, _ *rand.Rand) []byte { return reply(0, id, noise(1000)) }),
	}
	bodies := codecBombs()
	for _, codec := range []string{"msgpack", "json", "gob"} {
		all["bombs of "+codec] = answering(func(id uint32, random *rand.Rand) []byte {
			list := bodies[codec]
			return reply(0, id, list[random.IntN(len(list))])
		})
	}
	for place, c := range compressors() {
		b := sync.OnceValue(func() []byte { return bomb(c, place, 8<<20) })
		all["bombs of "+c.Name()] = answering(func(id uint32, _ *rand.Rand) []byte { return reply(wire.FlagCompressed, id, b()) })
	}
	return all
}

func noise(n int) []byte {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func slowly(c net.Conn, b []byte, pause time.Duration) {
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// wait waits for the end of a connection without reading what comes on it: its writes fail then.
func wait(c net.Conn) {
	ping := wire.AppendFrame(nil, wire.Header{Type: wire.TypePing, Flags: wire.FlagAck}, make([]byte, 8))
	for {
		time.Sleep(50 * time.Millisecond)
		if _, err := c.Write(ping); err != nil {
			return
		}
	}
}

// reply is a REPLY, in chunks if it is long.
func reply(flags wire.Flags, id uint32, body []byte) (b []byte) {
	h := wire.Header{Type: wire.TypeReply, Flags: flags | wire.FlagAnswer, ID: id}
	for len(body) > wire.MaxPayload {
		h.Flags |= wire.FlagMore
		b = wire.AppendFrame(b, h, body[:wire.MaxPayload])
		body = body[wire.MaxPayload:]
		h = wire.Header{Type: wire.TypeChunk, Flags: wire.FlagAnswer, ID: id}
	}
	return wire.AppendFrame(b, h, body)
}

// answering says hello and answers each request.
func answering(answer func(id uint32, random *rand.Rand) []byte) func(net.Conn) {
	return func(c net.Conn) {
		random := rand.New(rand.NewPCG(8, 9))
		c.Write(opening())
		if _, err := io.ReadFull(c, make([]byte, len(wire.Preface))); err != nil {
			return
		}
		header := make([]byte, wire.HeaderSize)
		for {
			if _, err := io.ReadFull(c, header); err != nil {
				return
			}
			h := wire.ParseHeader(header)
			if _, err := io.CopyN(io.Discard, c, int64(h.Length)); err != nil {
				return
			}
			if h.Type == wire.TypeRequest {
				if _, err := c.Write(answer(h.ID, random)); err != nil {
					return
				}
			}
		}
	}
}

// TestClient has a client call each hostile server: every call ends by its deadline, Close returns, memory is
// bounded, and no goroutine is left.
func TestClient(t *testing.T) {
	for name, f := range hostileServers() {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() {
						defer c.Close()
						f(c)
					})
				}
			})
			beyond := 3*time.Second + victims*decoding(strings.TrimPrefix(name, "bombs of "))
			debug.FreeOSMemory()
			before := held()
			c, err := weft.Dial(t.Context(), "tcp://"+l.Addr().String(), quiet(&weft.ClientConfig{
				Lazy: true, Compressors: compressors(), Codecs: append(weft.DefaultCodecs(), gob.New()),
			}))
			must(t, err)
			grown := callAll(t, c, before, beyond)
			began := time.Now()
			must(t, c.Close())
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("Close took %v", took)
			}
			closed := time.Since(began)
			l.Close()
			serving.Wait()
			t.Logf("grown %.1f MiB; Close took %v, the servers' ends %v", grown, closed, time.Since(began)-closed)
			if most := 512.0 * memoryScale; grown > most {
				t.Errorf("the client grew by %.1f MiB, at most %.1f are promised", grown, most)
			}
		})
	}
}

// victims is how many goroutines call a hostile server at the same time.
const victims = 8

// decoding is how long the slowest of a codec's bombs takes to be decoded on this machine, with nothing beside it; 0: no caller decodes them.
// A reply that has come in time is decoded to its end.
func decoding(name string) (slowest time.Duration) {
	c := map[string]codec.Codec{"json": json.New(), "gob": gob.New()}[name]
	if c == nil {
		return 0
	}
	for _, b := range codecBombs()[name] {
		began := time.Now()
		_ = c.Decode(b, new(Bomb))
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

// callAll makes calls of all kinds for a while, none of which may go on for longer than beyond behind its deadline, and returns by how many
// MiB the process has grown.
func callAll(t *testing.T, c *weft.Client, before uint64, beyond time.Duration) (grown float64) {
	const limit = 150 * time.Millisecond
	body := bytes.Repeat([]byte("x"), 300_000)
	end := time.Now().Add(*duration / 2)
	var mu sync.Mutex
	var calling sync.WaitGroup
	for i := range victims {
		calling.Go(func() {
			for n := i; time.Now().Before(end); n++ {
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				began := time.Now()
				err := callOnce(ctx, c, n, body)
				took := time.Since(began)
				cancel()
				// A busy machine delays a goroutine; one that hangs does so for seconds.
				if took > limit+beyond {
					t.Errorf("call %d with a deadline of %v took %v: %v", n, limit, took, err)
				}
				mu.Lock()
				grown = max(grown, (float64(held())-float64(before))/(1<<20))
				mu.Unlock()
			}
		})
	}
	calling.Wait()
	return grown
}

func callOnce(ctx context.Context, c *weft.Client, n int, body []byte) error {
	switch n % 5 {
	case 0:
		return c.Call(ctx, "Adv.Decode", &Number{}, &Bomb{}, weft.WithCodec(json.New()))
	case 1:
		return c.Notify(ctx, "Adv.Note", &Number{})
	case 2:
		s, err := weft.OpenStream[Number, Number](ctx, c, "Adv.Chat")
		if err != nil {
			return err
		}
		defer s.Close()
		if err := s.Send(&Number{1}); err != nil {
			return err
		}
		_, err = s.Recv()
		return err
	case 3:
		return c.Call(ctx, "Adv.Echo", body, nil)
	}
	return c.Call(ctx, "Adv.Decode", &Number{}, &Bomb{}, weft.WithCodec(gob.New()))
}
