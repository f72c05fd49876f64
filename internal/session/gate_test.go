package session

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/wire"
)

// countingGate counts the calls that it has admitted and that have not ended.
type countingGate struct {
	inside, admitted, dropped atomic.Int64
	refusal                   atomic.Pointer[Refusal]
}

func (g *countingGate) Admit(*Context) *Refusal {
	if r := g.refusal.Load(); r != nil {
		return r
	}
	g.inside.Add(1)
	g.admitted.Add(1)
	return nil
}

func (g *countingGate) Dropped(*Context) {
	g.inside.Add(-1)
	g.dropped.Add(1)
}

// on wraps the method's function, which counts the calls out that reach it.
func (g *countingGate) on(m *Method) *Method {
	serve := m.Serve
	m.Gate = g
	m.Serve = func(r *Request) {
		if r.Ctx.Gated() {
			defer g.inside.Add(-1)
		}
		serve(r)
	}
	return m
}

// A gate is told of the end of every call that it has admitted, also of those that were read
// together with what ends the connection.
func TestGateIsToldOfEveryEnd(t *testing.T) {
	for _, what := range []string{"violation", "slot in use", "connection lost", "canceled"} {
		t.Run(what, func(t *testing.T) {
			var g countingGate
			p := newStranger(t, nil, g.on(wait()))
			p.greet(nil)
			p.bind(0, wait().Name)
			const calls = 40
			var b []byte
			for slot := range uint32(calls) {
				b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, ID: wire.ID(slot, 0)}, nil)...)
			}
			switch what {
			case "violation":
				p.write(append(b, p.bytes(wire.Header{Type: wire.TypeRequest, Code: 77, ID: wire.ID(calls, 0)}, nil)...))
			case "slot in use":
				p.write(append(b, p.bytes(wire.Header{Type: wire.TypeRequest, ID: wire.ID(3, 1)}, nil)...))
			case "connection lost":
				p.write(b)
				p.pong()
				p.conn.Close()
			case "canceled":
				for slot := range uint32(calls) {
					b = append(b, p.bytes(wire.Header{Type: wire.TypeCancel, Code: 1, ID: wire.ID(slot, 0)}, nil)...)
				}
				p.write(b)
			}
			polltest.True(t, 10*time.Second, "every call has ended", func() bool { return g.admitted.Load() >= calls && g.inside.Load() == 0 })
		})
	}
}

// A call that the gate refuses gets its status, and is told to the owner.
func TestGateRefuses(t *testing.T) {
	var g countingGate
	var told atomic.Pointer[wire.Status]
	r := newRig(t, setup{server: func(c *Config) {
		c.Refused = func(_ *Session, st *wire.Status) { told.Store(st) }
	}}, g.on(echo()), g.on(chat()))
	mustEcho(t, r.client, "taken")
	g.refusal.Store(NewRefusal(wire.Status{Code: wire.ResourceExhausted, Reason: "FULL", Message: "no room",
		Details: []wire.Detail{{Type: "a.Detail", Value: []byte("7")}}}))
	for _, method := range []string{"Echo.Say", "Echo.Chat"} {
		var st *wire.Status
		if method == "Echo.Say" {
			st = do(t.Context(), r.client, newCall(method, []byte("refused"), nil))
		} else {
			_, st = recv(openStream(t, t.Context(), r.client, method))
		}
		if st == nil || st.Code != wire.ResourceExhausted || st.Outcome != wire.Refused || st.Reason != "FULL" || st.Message != "no room" ||
			len(st.Details) != 1 || string(st.Details[0].Value) != "7" {
			t.Errorf("%s was refused with %+v", method, st)
		}
		if st := told.Swap(nil); st == nil || st.Reason != "FULL" {
			t.Errorf("told of %+v", st)
		}
	}
	g.refusal.Store(nil)
	mustEcho(t, r.client, "taken again")
	if g.dropped.Load() != 0 {
		t.Errorf("%d calls were dropped", g.dropped.Load())
	}
}

// urgentGate is a countingGate for which one call is urgent.
type urgentGate struct {
	countingGate
	urgent uint32 // its id
}

func (g *urgentGate) Admit(c *Context) *Refusal {
	c.Urgent = c.id == g.urgent
	return g.countingGate.Admit(c)
}

// An urgent call beyond the limit takes the place of the last call that waits in the line, is admitted by a gate and is not urgent. That one is
// refused, and its gate is told once. Below the limit there is room for both.
func TestUrgentCallTakesAPlace(t *testing.T) {
	t.Run("beyond the limit", func(t *testing.T) { testUrgentCall(t, true) })
	t.Run("below it", func(t *testing.T) { testUrgentCall(t, false) })
}

func testUrgentCall(t *testing.T, beyond bool) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what is read together is in the line before the first call begins
	g := urgentGate{urgent: wire.ID(3, 0)}
	gated, free := echo(), unary("Echo.Free", func(_ *Context, body []byte) ([]byte, *wire.Status) { return body, nil })
	g.on(gated)
	gated.Gate = &g
	for _, m := range []*Method{gated, free} {
		for m.pace.Tier() != pace.Alone { // each call is a job of its own
			m.pace.Stalled()
		}
	}
	p := newStranger(t, func(c *Config) {
		c.Exec.Scarce, c.Exec.Beyond = func() bool { return true }, func() bool { return beyond }
		c.Exec.Displaced = NewRefusal(wire.Status{Code: wire.ResourceExhausted, Reason: "PLACE_TAKEN"})
	}, gated, free)
	p.greet(nil)
	p.bind(0, gated.Name)
	p.bind(1, free.Name)
	var b []byte
	for slot, binding := range []uint16{0, 0, 1, 0} {
		b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, Code: binding, ID: wire.ID(uint32(slot), 0)}, nil)...)
	}
	p.write(b)
	for answers := 0; answers < 4; {
		h, payload, err := p.read()
		switch {
		case err != nil:
			t.Fatal(err)
		case h.Flags&wire.FlagAnswer == 0:
			continue
		case h.ID == wire.ID(1, 0) && beyond:
			var st wire.Status
			if err := wire.ParseStatus(payload, &st); err != nil || h.Type != wire.TypeError || h.Flags&wire.FlagRefused == 0 || st.Reason != "PLACE_TAKEN" {
				t.Errorf("the call whose place was taken was answered with %+v, %+v, %v", h, st, err)
			}
		case h.Type != wire.TypeReply:
			t.Errorf("call %x was answered with %+v", h.ID, h)
		}
		answers++
	}
	polltest.True(t, 10*time.Second, "every call has ended", func() bool { return g.inside.Load() == 0 })
	if n := g.dropped.Load(); (n == 1) != beyond || n > 1 {
		t.Errorf("the gate was told %d times of a call that was not served", n)
	}
}

// A job gives its place in the line up when it has one call, which the gate may refuse and which is not urgent, however the job was made.
func TestGivesWay(t *testing.T) {
	plain, urgent, free := &Context{gated: true}, &Context{gated: true, Urgent: true}, &Context{}
	for name, the := range map[string]struct {
		calls []*Context
		want  bool
	}{
		"a call": {[]*Context{plain}, true}, "an urgent one": {[]*Context{urgent}, false}, "one that no gate has admitted": {[]*Context{free}, false},
		"two": {[]*Context{plain, plain}, false},
	} {
		j := &job{}
		for _, c := range the.calls {
			j.add(item{ctx: c})
		}
		if got := (work{job: &job{items: j.items}}).givesWay(); got != the.want {
			t.Errorf("%s: %v, want %v", name, got, the.want)
		}
	}
}
