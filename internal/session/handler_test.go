package session

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
)

// A handler that panics fails its own call and no other. The stack and the arguments
// go to the log, not to the caller.
func TestPanics(t *testing.T) {
	for _, tier := range []string{"worker", "reader", "stream"} {
		t.Run(tier, func(t *testing.T) {
			m := unary("Be.Clumsy", func(_ *Context, b []byte) ([]byte, *wire.Status) { panic("secret " + string(b)) })
			if tier == "reader" {
				fast(m)
			}
			if tier == "stream" {
				m = streaming("Be.Clumsy", func(_ *Context, st *Stream) *wire.Status {
					b, _ := recv(st)
					panic("secret " + string(b))
				})
			}
			var log lockedBuilder
			r := newRig(t, setup{server: func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }}, m, echo())
			for range 20 {
				var st *wire.Status
				if tier == "stream" {
					s := openStream(t, context.Background(), r.client, "Be.Clumsy")
					s.Send([]byte("password"))
					_, st = recv(s)
				} else {
					_, st = invoke(r.client, "Be.Clumsy", "password")
				}
				if st == nil || st.Code != wire.Internal || st.Outcome != wire.Executed || strings.Contains(fmt.Sprint(st), "secret") {
					t.Errorf("the call ended with %+v", st)
				}
				mustEcho(t, r.client, "next")
			}
			if got := log.String(); !strings.Contains(got, "secret password") || !strings.Contains(got, "session.TestPanics") {
				t.Errorf("the log does not tell what and where: %.300s", got)
			}
		})
	}
}

// A handler that ends its goroutine is answered for.
func TestGoexit(t *testing.T) {
	for _, inlined := range []bool{false, true} {
		m := unary("Go.Exit", func(*Context, []byte) ([]byte, *wire.Status) {
			runtime.Goexit()
			return nil, nil
		})
		if inlined {
			fast(m)
		}
		r := newRig(t, setup{}, m, echo())
		for range 3 {
			if _, st := invoke(r.client, "Go.Exit", ""); st == nil || st.Code != wire.Internal || st.Outcome != wire.Executed {
				t.Errorf("inline %v: the call ended with %+v", inlined, st)
			}
			mustEcho(t, r.client, "next")
		}
		r.end()
	}
}

// lockedBuilder is a strings.Builder for several goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A context that a handler keeps is over for ever, and never another call's.
func TestKeptContext(t *testing.T) {
	var mu sync.Mutex
	kept := make(map[string]*Context)
	keep := func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		if len(b) > 0 {
			mu.Lock()
			kept[string(b)] = ctx
			mu.Unlock()
			ctx.Done()
		}
		return b, nil
	}
	for _, m := range []*Method{unary("Keep.It", keep), fast(unary("Keep.It", keep))} {
		r := newRig(t, setup{}, m)
		call := func(body string, deadline int64) {
			c := newCall("Keep.It", []byte(body), nil)
			c.Meta, c.Deadline = string(wire.AppendPair(nil, "me", body)), deadline
			if st := do(context.Background(), r.client, c); st != nil {
				t.Fatal(st)
			}
		}
		for i := range 50 {
			call(fmt.Sprint("call", i), now()+int64(time.Minute)*int64(i+1))
			for range 20 {
				call("", 0)
			}
		}
		for body, ctx := range kept {
			select {
			case <-ctx.Done():
			default:
				t.Errorf("the context of %s is not done", body)
			}
			if ctx.Err() != context.Canceled {
				t.Errorf("the context of %s says %v", body, ctx.Err())
			}
			if want := string(wire.AppendPair(nil, "me", body)); ctx.Meta() != want {
				t.Errorf("the context of %s has the metadata %q", body, ctx.Meta())
			}
			due, ok := ctx.Deadline()
			var i int
			fmt.Sscanf(body, "call%d", &i)
			if left := time.Until(due); !ok || left < time.Duration(i)*time.Minute || left > time.Duration(i+1)*time.Minute+time.Second {
				t.Errorf("the context of %s has a deadline in %v", body, left)
			}
		}
		r.end()
	}
}

// What descends from a handler's context ends with the call, by itself.
func TestContextChildren(t *testing.T) {
	leak.Check(t)
	var after atomic.Int32
	children := make(chan context.Context, 100)
	r := newRig(t, setup{noLeakCheck: true}, unary("Make.Children", func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		type mine struct{}
		child, cancel := context.WithCancel(context.WithValue(ctx, mine{}, 1))
		timed, stop := context.WithTimeout(child, time.Hour)
		if FromContext(timed) != ctx {
			t.Error("the call is not found in a context that descends from its own")
		}
		context.AfterFunc(timed, func() { after.Add(1) })
		unused := context.AfterFunc(ctx, func() { t.Error("a function that was taken back ran") })
		if !unused() || unused() {
			t.Error("taking a function back did not work")
		}
		children <- child
		children <- timed
		_, _ = cancel, stop // not kept
		return b, nil
	}))
	for range 20 {
		if _, st := invoke(r.client, "Make.Children", ""); st != nil {
			t.Fatal(st)
		}
	}
	within(t, 20*time.Second, "the end of all children", func() {
		for range 40 {
			<-(<-children).Done()
		}
		for after.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
	})
}

// A call that is read when the session has just ended is over at once, and so is
// one that is read when the handlers were just told to stop.
func TestCallAfterTheEnd(t *testing.T) {
	for _, stop := range []func(s *Session){
		func(s *Session) { s.Close(closedHere()) },
		func(s *Session) { s.CancelIncoming(&wire.Status{Code: wire.Unavailable, Message: "stop"}) },
	} {
		r := newRig(t, setup{}, echo())
		r.broken = true
		stop(r.server)
		c := &Context{Session: r.server, Method: echo(), id: 5}
		if err := r.server.in.put(c); err != nil {
			t.Fatal(err)
		}
		if c.Err() != context.Canceled {
			t.Error("the context of a call that came too late goes on")
		}
		r.end()
	}
}

// The end of a connection ends the contexts and streams of all its calls, also of
// those that were read in the same moment.
func TestLostConnection(t *testing.T) {
	for i := range 40 {
		var running atomic.Int32
		hang := unary("Wait.On", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
			running.Add(1)
			defer running.Add(-1)
			<-ctx.Done()
			return nil, ended(ctx)
		})
		if i%2 == 0 {
			fast(hang)
		}
		hangStream := streaming("Recv.On", func(ctx *Context, st *Stream) *wire.Status {
			running.Add(1)
			defer running.Add(-1)
			_, status := recv(st)
			return status
		})
		p := quietStranger(t, nil, hang, hangStream)
		p.greet(nil)
		p.bind(0, "Wait.On")
		p.bind(1, "Recv.On")
		var batch []byte
		for slot := range uint32(100) {
			h := wire.Header{Type: wire.TypeRequest, ID: slot}
			if slot%2 == 0 {
				h.Code, h.Flags = 1, wire.FlagStream
			}
			batch = append(batch, p.bytes(h, nil)...)
		}
		go p.s.Close(closedHere())
		p.write(batch)
		p.conn.Close()
		<-p.s.Done()
		within(t, 20*time.Second, "the end of all handlers", func() {
			for range 3 {
				time.Sleep(2 * time.Millisecond)
				for running.Load() > 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
}
