package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport"
)

// hostile is a peer that knows the protocol and keeps to it when it likes. Everything that it
// does follows from its source of random numbers and from what it reads.
type hostile struct {
	conn   net.Conn
	random *rand.Rand
	server bool

	mu      sync.Mutex
	open    []uint32 // ids of calls of its peer that it has not answered
	past    []uint32 // and that it has
	pending []byte   // what leaves with the next tick
}

// tick is how often programs act in this simulation: many things happen at the same moment.
const tick = time.Millisecond

// run talks until the connection ends.
func (h *hostile) run() {
	defer h.conn.Close()
	hello := &wire.Hello{MaxMessage: 1 << 20, MaxMetadata: 16 << 10, MaxCalls: 64, MaxBindings: 64, StreamWindow: 4 << 10,
		Codecs: []string{"msgpack", "raw"}}
	b := append([]byte(wire.Preface), wire.AppendFrame(nil, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, hello))...)
	if !h.server {
		b = append(b, wire.AppendFrame(nil, wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "msgpack", "Work.Nest"))...)
	}
	if _, err := h.conn.Write(b); err != nil {
		return
	}
	ended := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(ended)
		h.read()
	})
	defer reader.Wait()
	defer h.conn.Close()
	for generation := uint16(0); ; generation++ {
		select {
		case <-ended:
			return
		case <-time.After(tick):
		}
		if b := h.act(generation); len(b) > 0 {
			if _, err := h.conn.Write(b); err != nil {
				return
			}
		}
	}
}

// read notes which calls its peer has opened.
func (h *hostile) read() {
	if _, err := io.ReadFull(h.conn, make([]byte, len(wire.Preface))); err != nil {
		return
	}
	header := make([]byte, wire.HeaderSize)
	for {
		if _, err := io.ReadFull(h.conn, header); err != nil {
			return
		}
		f := wire.ParseHeader(header)
		if _, err := io.CopyN(io.Discard, h.conn, int64(f.Length)); err != nil {
			return
		}
		h.mu.Lock()
		switch f.Type {
		case wire.TypeRequest:
			h.open = append(h.open, f.ID)
		case wire.TypePing:
			if f.Flags&wire.FlagAck == 0 {
				h.pending = wire.AppendFrame(h.pending, wire.Header{Type: wire.TypePing, Flags: wire.FlagAck}, make([]byte, 8))
			}
		}
		h.mu.Unlock()
	}
}

// answer is the reply to a call.
func (h *hostile) answer(id uint32) []byte {
	header := wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: id}
	if h.random.IntN(4) == 0 {
		header.Type, header.Code = wire.TypeError, uint16(h.random.IntN(18))
		return wire.AppendFrame(nil, header, wire.AppendStatus(nil, &wire.Status{Message: "no"}))
	}
	return wire.AppendFrame(nil, header, []byte{0x80}) // an empty map
}

// act returns what the hostile peer says in this tick.
func (h *hostile) act(turn uint16) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.pending
	h.pending = nil
	if !h.server && turn%4 == 0 { // calls that make the server call back
		for slot := range uint32(4) {
			out = wire.AppendFrame(out, wire.Header{Type: wire.TypeRequest, ID: wire.ID(slot+4*uint32(turn/4%8), turn/32), Arg: 200_000}, []byte{0x80})
		}
	}
	for len(h.open) > 0 && h.random.IntN(3) > 0 {
		i := h.random.IntN(len(h.open))
		id := h.open[i]
		h.open = append(h.open[:i], h.open[i+1:]...)
		out = append(out, h.answer(id)...)
		h.past = append(h.past, id)
	}
	for range h.random.IntN(3) {
		out = append(out, h.lie()...)
	}
	if h.random.IntN(8) == 0 {
		out = append(out, h.predict()...)
	}
	if h.random.IntN(400) == 0 {
		h.conn.Close()
	}
	return out
}

// lie is a frame that no honest peer sends, or not now. Most of them end the connection, so they are
// rare, but for those that name ids: these come behind a good answer in the same bytes.
func (h *hostile) lie() []byte {
	id := wire.ID(uint32(h.random.IntN(40)), uint16(h.random.IntN(6)))
	if n := len(h.past); n > 0 && h.random.IntN(2) == 0 {
		id = h.past[h.random.IntN(n)] + uint32(h.random.IntN(3))<<16 // of this call, or of a later one in its slot
	}
	flags := wire.FlagAnswer
	switch h.random.IntN(60) {
	case 0, 1, 2:
		return h.answer(id)
	case 3:
		return wire.AppendFrame(nil, wire.Header{Type: wire.TypeReply, Flags: flags | wire.FlagMore, ID: id}, []byte{0x80})
	case 4, 5, 6:
		return wire.AppendFrame(nil, wire.Header{Type: wire.TypeChunk, Flags: flags, ID: id}, []byte{0x80})
	case 7, 8:
		return wire.AppendFrame(nil, wire.Header{Type: wire.TypeData, Flags: flags, ID: id}, []byte{0x80})
	case 9, 10:
		return wire.AppendFrame(nil, wire.Header{Type: wire.TypeCredit, Flags: flags, ID: id, Arg: 100}, nil)
	case 11:
		return wire.AppendFrame(nil, wire.Header{Type: wire.TypeGoAway, Code: uint16(wire.Unavailable)}, nil)
	case 12:
		return wire.AppendFrame(nil, wire.Header{Type: wire.TypeCancel, ID: id, Code: 1}, nil)
	case 13:
		return wire.AppendFrame(nil, wire.Header{Type: wire.Type(h.random.IntN(256)), Flags: wire.Flags(h.random.IntN(256)), ID: id}, nil)
	}
	return nil
}

// predict answers the next call of every slot that was used, and has its peer busy behind that with frames
// that mean nothing: a call that is made meanwhile may have one of these ids.
func (h *hostile) predict() (out []byte) {
	next := make(map[uint32]uint16)
	for _, id := range h.past {
		next[wire.Slot(id)] = uint16(id>>16) + 1
	}
	for slot := range uint32(len(next)) {
		if generation, ok := next[slot]; ok {
			out = append(out, h.answer(wire.ID(slot, generation))...)
			if h.random.IntN(2) == 0 {
				break
			}
		}
	}
	for range h.random.IntN(400) {
		out = wire.AppendFrame(out, wire.Header{Type: wire.TypeCredit, Flags: wire.FlagAnswer, ID: wire.ID(63, 9), Arg: 1}, nil)
	}
	return out
}

// TestHostileServers has clients call servers that answer what they like: every call ends at its
// deadline, Close returns, and nothing is left.
func TestHostileServers(t *testing.T) {
	hostileSeeds(t, func(t *testing.T, seed uint64) []string {
		net := newNetwork(seed, weather{Delay: tick, Buffer: 1 << 20})
		l, err := net.of("server").Listen(context.Background(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { accept(&wg, l, net, true) })
		ledger := newLedger()
		c, err := weft.Dial(context.Background(), "sim://a", &weft.ClientConfig{
			Transports: []transport.Transport{net.of("client")}, Logger: silent(), MaxConns: 1, Lazy: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() { callHostile(ledger, c, int64(i)*1000, net.random(fmt.Sprint("caller ", i))) })
		}
		callers.Wait()
		began := time.Now()
		c.Close()
		if took := time.Since(began); took > time.Second {
			ledger.wrong("Close took %v", took)
		}
		l.Close()
		wg.Wait()
		return ledger.ends()
	})
}

// TestHostileClients has servers call clients back that answer what they like: every call of a handler
// ends at its deadline, Shutdown returns, and nothing is left.
func TestHostileClients(t *testing.T) {
	hostileSeeds(t, func(t *testing.T, seed uint64) []string {
		net := newNetwork(seed, weather{Delay: tick, Buffer: 1 << 20})
		ledger := newLedger()
		srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{net.of("server")}, Logger: silent()})
		err := weft.Handle(srv, "Work.Nest", func(ctx context.Context, _ *Order) (*Receipt, error) {
			o := &Order{ID: ledger.fresh()}
			limit := 20 * tick
			x := ledger.open(o.ID, "server", once, callPlan{Timeout: limit})
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			r, err := weft.Invoke[Receipt](ctx, weft.PeerFrom(ctx), "Back.Once", o)
			ledger.close(x, r, err)
			return &Receipt{}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		l, err := srv.Listen(context.Background(), "sim://a")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, weft.ErrServerClosed) {
				ledger.wrong("Serve returned %v", err)
			}
		})
		stop := time.Now().Add(300 * tick)
		var peers sync.WaitGroup
		for i := range 2 {
			peers.Go(func() {
				for n := 0; time.Now().Before(stop); n++ {
					conn, err := net.of(fmt.Sprint("client-", i)).Dial(context.Background(), "a")
					if err != nil {
						return
					}
					(&hostile{conn: conn, random: net.random(fmt.Sprint("peer ", i, n))}).run()
				}
			})
		}
		time.Sleep(250 * tick)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		srv.Shutdown(ctx)
		if took := time.Since(began); took > 11*time.Second {
			ledger.wrong("Shutdown took %v", took)
		}
		for _, k := range net.live("") {
			k.cut(true)
		}
		peers.Wait()
		wg.Wait()
		time.Sleep(time.Second) // handlers whose connection was lost last
		return ledger.ends()
	})
}

// ends returns what is wrong with the ends of calls: that there is none, or that it is late.
func (l *ledger) ends() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := append([]string(nil), l.faults...)
	for _, x := range l.order {
		for _, fault := range []string{x.endOf(), x.deadlineOf(nil)} {
			if fault != "" {
				out = append(out, fault+": "+x.String())
			}
		}
	}
	return out
}

// accept gives every connection a hostile server.
func accept(wg *sync.WaitGroup, l net.Listener, n *network, server bool) {
	for number := 0; ; number++ {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { (&hostile{conn: conn, server: server, random: n.random(fmt.Sprint("peer ", number))}).run() })
	}
}

// callHostile makes the calls of one caller, all of them at ticks.
func callHostile(l *ledger, c *weft.Client, first int64, random *rand.Rand) {
	for n := range int64(30) {
		time.Sleep(tick * time.Duration(random.IntN(4)))
		limit := tick * time.Duration(5+random.IntN(60))
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		o := &Order{ID: first + n}
		kind := []kindOfCall{once, once, once, note, chat}[random.IntN(5)]
		x := l.open(o.ID, "client", kind, callPlan{Timeout: limit})
		switch kind {
		case note:
			l.close(x, nil, c.Notify(ctx, "Work.Note", o))
		case chat:
			l.close(x, nil, chatHostile(ctx, c, o))
		default:
			r, err := weft.Invoke[Receipt](ctx, c, "Work.Once", o)
			l.close(x, r, err)
		}
		cancel()
	}
}

func chatHostile(ctx context.Context, c *weft.Client, o *Order) error {
	s, err := weft.OpenStream[Order, Receipt](ctx, c, "Work.Chat")
	if err != nil {
		return err
	}
	defer s.Close()
	for range 3 {
		if err := s.Send(o); err != nil {
			break // the receiver is told why
		}
		if _, err := s.Recv(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
	return nil
}

// hostileSeeds runs a simulation for a tenth of the seeds.
func hostileSeeds(t *testing.T, f func(t *testing.T, seed uint64) []string) {
	from, n := *firstSeed, max(*seeds/10, 1)
	if *oneSeed != 0 {
		from, n = *oneSeed, 1
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			for range *again {
				var wrong []string
				synctest.Test(t, func(t *testing.T) { wrong = f(t, seed) })
				for i, text := range wrong {
					if i < 5 {
						t.Error(text)
					}
				}
				if len(wrong) > 0 {
					t.Fatalf("%d are wrong; run it again: cd test/simulation && go test -run '%s' -seed=%d -again=20", len(wrong), t.Name(), seed)
				}
			}
		})
	}
}
