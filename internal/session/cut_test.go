package session

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// Every golden conversation comes out right between two real sessions, also when
// its bytes arrive one at a time, and with checksums.
func TestGolden(t *testing.T) {
	for _, x := range loadGolden(t) {
		t.Run(x.Name, func(t *testing.T) {
			for _, slice := range []int{0, 1, 7} {
				for how := range 4 {
					sum := how&1 != 0
					p := &play{t: t, x: x, sum: sum, open: how&2 != 0}
					p.run(func(client, server *mem.Conn) {
						client.In().MaxRead(slice)
						server.In().MaxRead(slice)
					})
					p.check(fmt.Sprintf("reads of %d bytes, checksum %v, first flight %v", slice, sum, p.open))
					if !p.refused() && len(p.ends) != len(x.Calls) {
						t.Errorf("%d calls were made, want %d", len(p.ends), len(x.Calls))
					}
					for _, e := range p.ends {
						if g := e.g; (e.st == nil) != (g.End == "REPLY" || g.End == "" && !p.refused()) && g.Cancel == 0 {
							t.Errorf("%s ended with %+v, want %q", g.Method, e.st, g.End)
						}
					}
				}
			}
		})
	}
}

// places are the bytes of one direction to do something to: all of them, of long
// messages only those near the borders of frames and some between.
func places(from, to int64) []int64 {
	var list []int64
	for n := from; n <= to; n++ {
		border := (n - from) % (wire.MaxPayload + wire.HeaderSize)
		if to-from < 2000 || n-from < 250 || to-n < 100 || border < 30 || n%997 == 0 {
			list = append(list, n)
		}
	}
	return list
}

// The connection is cut at every byte of every conversation, in each direction:
// what a caller is told agrees with what the handler did, and nothing hangs.
func TestCutEverywhere(t *testing.T) {
	leak.Check(t)
	handshake := true
	for _, x := range loadGolden(t) {
		whole := &play{t: t, x: x}
		whole.run(nil)
		if len(whole.ends) == 0 {
			continue
		}
		for _, up := range []bool{true, false} {
			from, to := whole.helloUp, whole.clientBytes
			if !up {
				from, to = whole.helloDown, whole.serverBytes
			}
			if handshake {
				from = 0 // once is enough
			}
			for _, n := range places(from, to) {
				p := &play{t: t, x: x}
				p.run(func(client, server *mem.Conn) {
					if up {
						client.Out().CutAfter(n)
					} else {
						server.Out().CutAfter(n)
					}
				})
				where := fmt.Sprintf("cut after byte %d, up %v", n, up)
				p.check(where)
				if p.took > 7*time.Second {
					t.Errorf("%s, %s: it took %v to notice", x.Name, where, p.took)
				}
			}
		}
		handshake = false
		if t.Failed() {
			return
		}
	}
}

// The same with calls that leave together with the client's hello.
func TestCutFirstFlight(t *testing.T) {
	leak.Check(t)
	for _, x := range loadGolden(t) {
		whole := &play{t: t, x: x, open: true}
		whole.run(nil)
		for _, up := range []bool{true, false} {
			to := whole.clientBytes
			if !up {
				to = whole.serverBytes
			}
			for _, n := range places(0, min(to, 1000)) {
				p := &play{t: t, x: x, open: true}
				p.run(func(client, server *mem.Conn) {
					if up {
						client.Out().CutAfter(n)
					} else {
						server.Out().CutAfter(n)
					}
				})
				p.check(fmt.Sprintf("first flight, cut after byte %d, up %v", n, up))
				if p.took > 7*time.Second {
					t.Errorf("%s, first flight, cut after byte %d, up %v: it took %v to notice", x.Name, n, up, p.took)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// With checksums a changed bit never changes a result.
func TestFlipWithChecksum(t *testing.T) {
	leak.Check(t)
	for _, x := range loadGolden(t) {
		whole := &play{t: t, x: x, sum: true}
		whole.run(nil)
		for _, up := range []bool{true, false} {
			from, to := whole.helloUp, whole.clientBytes
			if !up {
				from, to = whole.helloDown, whole.serverBytes
			}
			for _, n := range places(from, to-1) {
				// Every bit of some conversations, every other byte of the rest.
				for _, bit := range flips(x, n) {
					p := &play{t: t, x: x, sum: true}
					p.run(flip(up, n, bit))
					p.check(fmt.Sprintf("bit %d of byte %d changed, up %v", bit, n, up))
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// Without checksums a changed bit may change a result; it must not make anything
// panic, hang or leak.
func TestFlipWithoutChecksum(t *testing.T) {
	leak.Check(t)
	for _, x := range loadGolden(t) {
		whole := &play{t: t, x: x}
		whole.run(nil)
		for _, up := range []bool{true, false} {
			to := whole.clientBytes
			from := whole.helloUp
			if !up {
				from, to = whole.helloDown, whole.serverBytes
			}
			if x.Name == "unary-ok" {
				from = 0
			}
			for _, n := range places(from, to-1) {
				if n%4 != 0 && x.Name != "unary-ok" {
					continue
				}
				p := &play{t: t, x: x, harm: true}
				p.run(flip(up, n, int(n/4%8)))
				if p.took > time.Minute {
					t.Errorf("%s, bit %d of byte %d changed, up %v: it took %v", x.Name, n/4%8, n, up, p.took)
				}
			}
		}
	}
}

// flips are the bits of a byte to change: all, for the conversations that have
// every kind of frame between them.
func flips(x *golden, n int64) []int {
	if slices.Contains([]string{"checksum", "stream-bidi"}, x.Name) {
		return []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	if n%2 == 1 {
		return nil
	}
	return []int{int(n / 2 % 8)}
}

func flip(up bool, n int64, bit int) func(client, server *mem.Conn) {
	return func(client, server *mem.Conn) {
		if up {
			client.Out().FlipBit(n, bit)
		} else {
			server.Out().FlipBit(n, bit)
		}
	}
}
