//go:build unix

package adversary

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/wire"
)

// attacker attacks the server at an address until its context ends.
type attacker func(ctx context.Context, address string)

// attack is an attacking process. It says when it begins.
func attack(t task) error {
	a, ok := attackers()[t.Attack]
	if !ok {
		return fmt.Errorf("there is no attack %q", t.Attack)
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.For)
	defer cancel()
	fmt.Println("begins")
	a(ctx, t.Address)
	return nil
}

func attackers() map[string]attacker {
	all := map[string]attacker{
		"honest": honest,
		"frames of CREDIT": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: wire.TypeCredit, ID: r.Uint32(), Arg: 1}, nil)
		}),
		"frames of DATA for no stream": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: wire.TypeData, ID: r.Uint32()}, []byte{1})
		}),
		"frames of CANCEL": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: wire.TypeCancel, ID: r.Uint32(), Code: 1}, nil)
		}),
		"frames of BIND": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", "Adv.Echo"))
		}),
		"pings": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: wire.TypePing}, make([]byte, 8))
		}),
		"frames of an unknown kind": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: 0xF3}, make([]byte, r.IntN(64)))
		}),
		"refused chunks": flood(func(r *rand.Rand) []byte {
			return wire.AppendFrame(nil, wire.Header{Type: wire.TypeChunk, ID: r.Uint32()}, []byte{1})
		}),
		"short connections of CREDIT":        shortFlood,
		"calls of a method":                  calls(method{"raw", "Adv.Echo"}),
		"calls of no method":                 calls(method{"raw", "Adv.None"}),
		"calls that panic":                   calls(method{"raw", "Adv.Panic"}),
		"calls and cancels":                  rapidCancel,
		"replies that are not read":          unreadReplies,
		"replies that are read slowly":       slowlyRead,
		"messages that no handler reads":     unreadMessages,
		"messages without an end":            unfinished,
		"metadata of all sizes":              metadata,
		"hellos, a byte at a time":           slowHello,
		"silent connections":                 silent,
		"connections that come and go":       comeAndGo,
		"malformed frames":                   malformed,
		"answers to calls that are not open": predicted,
	}
	for name, b := range bombs() {
		all[name] = b
	}
	return all
}

// honest is a busy client that does no harm.
func honest(ctx context.Context, address string) {
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{MaxConns: 1})
	if err != nil {
		return
	}
	defer c.Close()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			var reply []byte
			for ctx.Err() == nil {
				c.Call(ctx, "Adv.Echo", []byte("hello"), &reply, weft.WithCodec(raw.New()))
			}
		})
	}
	wg.Wait()
}

// again makes connections and has f use each, as long as the attack lasts.
func again(ctx context.Context, address string, f func(*rand.Rand, *wired), bindings ...method) {
	random := rand.New(rand.NewPCG(1, 2))
	for ctx.Err() == nil {
		r, err := connect(ctx, address, bindings...)
		if err != nil {
			pause(ctx, 5*time.Millisecond)
			continue
		}
		f(random, r)
		r.Close()
	}
}

// flood writes the same kind of frame as fast as it can.
func flood(frame func(*rand.Rand) []byte) attacker {
	return func(ctx context.Context, address string) {
		again(ctx, address, func(random *rand.Rand, r *wired) {
			r.ignore()
			var b []byte
			for len(b) < 64<<10 {
				b = append(b, frame(random)...)
			}
			for ctx.Err() == nil {
				if _, err := r.Write(b); err != nil {
					return
				}
			}
		}, method{"raw", "Adv.Echo"})
	}
}

// shortFlood makes connections as fast as it can, each for so many frames that the server refuses it, and does not wait for that.
func shortFlood(ctx context.Context, address string) {
	var b []byte
	for len(b) < 64<<10 {
		b = append(b, wire.AppendFrame(nil, wire.Header{Type: wire.TypeCredit, ID: uint32(len(b)), Arg: 1}, nil)...)
	}
	again(ctx, address, func(_ *rand.Rand, r *wired) { r.Write(b) }, method{"raw", "Adv.Echo"})
}

// calls makes calls as fast as it can, and reads the replies.
func calls(m method) attacker {
	return func(ctx context.Context, address string) {
		again(ctx, address, func(_ *rand.Rand, r *wired) {
			answered := make(chan int, 1024)
			go r.countReplies(answered) // it ends with the connection
			open := 0
			for ctx.Err() == nil {
				for range 256 {
					r.request(0, 0, []byte("hello"))
				}
				if open += 256; r.send() != nil {
					return
				}
				for open > 8000 { // slots are used again when their calls have ended
					n, ok := <-answered
					if !ok {
						return
					}
					open -= n
				}
			}
		}, m)
	}
}

// rapidCancel opens calls that wait and cancels them at once.
func rapidCancel(ctx context.Context, address string) {
	again(ctx, address, func(_ *rand.Rand, r *wired) {
		r.ignore()
		for ctx.Err() == nil {
			for range 200 {
				id := wire.ID(r.next%16384, uint16(r.next/16384))
				r.request(0, 0, nil)
				r.frame(wire.Header{Type: wire.TypeCancel, ID: id, Code: 1}, nil)
			}
			if r.send() != nil {
				return
			}
			if r.next > 15000 {
				return // a slot may still be taken
			}
		}
	}, method{"raw", "Adv.Wait"})
}

// unreadReplies asks for large replies and reads none.
func unreadReplies(ctx context.Context, address string) {
	again(ctx, address, func(_ *rand.Rand, r *wired) {
		for range 12_000 {
			r.request(0, 0, nil)
		}
		if r.send() == nil {
			pause(ctx, time.Minute)
		}
	}, method{"raw", "Adv.Big"})
}

// slowlyRead asks for large replies and reads 256 KiB a second.
func slowlyRead(ctx context.Context, address string) {
	again(ctx, address, func(_ *rand.Rand, r *wired) {
		for range 12_000 {
			r.request(0, 0, nil)
		}
		if r.send() != nil {
			return
		}
		b := make([]byte, 16<<10)
		for pause(ctx, time.Second/16) {
			if _, err := r.Read(b); err != nil {
				return
			}
		}
	}, method{"raw", "Adv.Big"})
}

// unreadMessages fills the window of as many streams as it can, whose handlers read nothing.
func unreadMessages(ctx context.Context, address string) {
	again(ctx, address, func(_ *rand.Rand, r *wired) {
		r.ignore()
		body := make([]byte, wire.MaxPayload)
		for slot := uint32(0); ctx.Err() == nil && slot < 4000; slot++ {
			id := wire.ID(slot, 0)
			r.frame(wire.Header{Type: wire.TypeRequest, Flags: wire.FlagStream, ID: id}, nil)
			for range 16 {
				r.frame(wire.Header{Type: wire.TypeData, ID: id}, body)
			}
			if r.send() != nil {
				return
			}
		}
		pause(ctx, time.Minute)
	}, method{"raw", "Adv.Unread"})
}

// unfinished begins large messages and never ends them.
func unfinished(ctx context.Context, address string) {
	again(ctx, address, func(_ *rand.Rand, r *wired) {
		r.ignore()
		body := make([]byte, wire.MaxPayload)
		for slot := uint32(0); ctx.Err() == nil && slot < 16_000; slot++ {
			id := wire.ID(slot, 0)
			r.frame(wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMore, ID: id}, body)
			for range 4 {
				r.frame(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore, ID: id}, []byte{1})
			}
			if r.send() != nil {
				return
			}
		}
	}, method{"raw", "Adv.Echo"})
}

// metadata sends metadata up to the limit, beyond it, and blocks that cannot be read.
func metadata(ctx context.Context, address string) {
	again(ctx, address, func(random *rand.Rand, r *wired) {
		r.ignore()
		for ctx.Err() == nil && r.next < 16_000 {
			var pairs []byte
			for range random.IntN(80) {
				pairs = wire.AppendPair(pairs, strings.Repeat("k", 1+random.IntN(255)), strings.Repeat("v", random.IntN(700)))
			}
			if random.IntN(4) == 0 {
				pairs = bytes.Repeat([]byte{byte(random.IntN(256))}, random.IntN(60_000))
			}
			pairs = pairs[:min(len(pairs), 65_535)]
			r.request(0, wire.FlagMeta, append(binary.LittleEndian.AppendUint16(nil, uint16(len(pairs))), pairs...))
			if r.send() != nil {
				return
			}
		}
	}, method{"raw", "Adv.Wait"})
}

// slowHello keeps many handshakes open, each of which goes on with a byte now and then.
func slowHello(ctx context.Context, address string) {
	var wg sync.WaitGroup
	b := opening()
	for range 400 {
		wg.Go(func() {
			for ctx.Err() == nil {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
				if err != nil {
					pause(ctx, 50*time.Millisecond)
					continue
				}
				for i := range b {
					if _, err := conn.Write(b[i : i+1]); err != nil || !pause(ctx, 100*time.Millisecond) {
						break
					}
				}
				conn.Close()
			}
		})
	}
	wg.Wait()
}

// silent opens connections at a rate, and says nothing on them.
func silent(ctx context.Context, address string) {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for pause(ctx, 10*time.Millisecond) {
		for range 6 {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err == nil {
				open = append(open, conn)
			}
		}
	}
}

// comeAndGo connects, says hello or not, and is gone.
func comeAndGo(ctx context.Context, address string) {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
				if err != nil {
					pause(ctx, 5*time.Millisecond)
					continue
				}
				b := opening(method{"raw", "Adv.Echo"})
				conn.Write(b[:(n*37+i)%(len(b)+1)])
				if n%3 == 0 {
					conn.(*net.TCPConn).SetLinger(0)
				}
				conn.Close()
				pause(ctx, time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// malformed sends frames that the grammar of the protocol gives, and spoils some.
func malformed(ctx context.Context, address string) {
	again(ctx, address, func(random *rand.Rand, r *wired) {
		r.ignore()
		for range 200 {
			r.out.Write(grammar(random))
			if random.IntN(10) == 0 && r.send() != nil {
				return
			}
		}
		r.send()
	}, method{"raw", "Adv.Echo"}, method{"msgpack", "Adv.Decode"}, method{"raw", "Adv.Unread"}, method{"raw", "Adv.None"})
}

// grammar is one frame. Most are what a peer may send; the others have a field that is wrong.
func grammar(random *rand.Rand) []byte {
	id := wire.ID(uint32(random.IntN(20)), uint16(random.IntN(3)))
	h := wire.Header{ID: id}
	payload := make([]byte, random.IntN(40))
	for i := range payload {
		payload[i] = byte(random.Uint32())
	}
	switch random.IntN(12) {
	case 0, 1, 2:
		h.Type, h.Code, h.Arg = wire.TypeRequest, uint16(random.IntN(5)), random.Uint32N(100_000)
		h.Flags = []wire.Flags{0, wire.FlagMeta, wire.FlagCompressed, wire.FlagMore, wire.FlagStream, wire.FlagOneway, wire.FlagMillis}[random.IntN(7)]
	case 3:
		h.Type, h.Flags = wire.TypeChunk, []wire.Flags{0, wire.FlagMore}[random.IntN(2)]
	case 4:
		h.Type, h.Flags = wire.TypeData, []wire.Flags{0, wire.FlagEnd, wire.FlagMore, wire.FlagCompressed}[random.IntN(4)]
	case 5:
		h.Type, h.Arg, payload = wire.TypeCredit, random.Uint32N(1000), nil
	case 6:
		h.Type, h.Code, payload = wire.TypeCancel, uint16(random.IntN(6)), nil
	case 7:
		h.Type, payload = wire.TypePing, make([]byte, 8)
	case 8:
		h.Type, h.Code = wire.TypeBind, uint16(random.IntN(6))
		payload = wire.AppendBind(nil, "raw", "Adv.Echo")
	case 9:
		h.Type, h.Flags, h.Code = wire.Type(4+random.IntN(2)), wire.FlagAnswer, uint16(random.IntN(20))
	case 10:
		h.Type = wire.Type(0x80 + random.IntN(128))
	case 11:
		h.Type, h.Code, payload = wire.TypeGoAway, uint16(random.IntN(20)), []byte("bye")
		if random.IntN(4) > 0 {
			h.Type, payload = wire.TypePing, make([]byte, 8)
		}
	}
	b := wire.AppendFrame(nil, h, payload)
	if random.IntN(60) == 0 {
		b[random.IntN(len(b))] ^= 1 << random.IntN(8)
	}
	return b
}

// predicted has the server call back, and answers calls before they are made.
func predicted(ctx context.Context, address string) {
	again(ctx, address, func(random *rand.Rand, r *wired) {
		r.ignore()
		for turn := uint16(0); ctx.Err() == nil && turn < 200; turn++ {
			for range 16 {
				r.request(0, 0, []byte{0x80})
			}
			for range random.IntN(3) {
				r.frame(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: wire.ID(uint32(random.IntN(16)), turn)}, []byte{0x80})
				for range 300 {
					r.frame(wire.Header{Type: wire.TypeCredit, ID: 5}, nil)
				}
			}
			if r.send() != nil || !pause(ctx, time.Millisecond) {
				return
			}
		}
	}, method{"msgpack", "Adv.Back"})
}
