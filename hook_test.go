package weft_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// everyHook implements all hooks, notes each call, and fails the one called fail.
type everyHook struct {
	diary
	fail string
	err  error
}

func (h *everyHook) note(name string, info *weft.CallInfo) error {
	if info != nil {
		h.add("%s %s", name, info.Method)
	} else {
		h.add("%s", name)
	}
	if name == h.fail {
		return h.err
	}
	return nil
}

func (h *everyHook) ServiceRegistered(service string) { h.add("ServiceRegistered %s", service) }
func (h *everyHook) Listening(a net.Addr)             { h.add("Listening %s", a) }
func (h *everyHook) ConnAccepted(net.Conn) error      { return h.note("ConnAccepted", nil) }
func (h *everyHook) ConnOpened(p *weft.Peer)          { h.add("ConnOpened %s", p.Addr().Network()) }
func (h *everyHook) ConnClosed(p *weft.Peer, err error) {
	h.add("ConnClosed %s %v", p.Addr().Network(), err != nil)
}

func (h *everyHook) AfterReadRequestHeader(_ context.Context, info *weft.CallInfo) {
	h.note("AfterReadRequestHeader", info)
}
func (h *everyHook) BeforeReadRequestBody(_ context.Context, info *weft.CallInfo) error {
	return h.note("BeforeReadRequestBody", info)
}
func (h *everyHook) AfterReadRequestBody(_ context.Context, info *weft.CallInfo, req any, err error) {
	h.note("AfterReadRequestBody", info)
	h.add("%v %v", req, weft.CodeOf(err))
}
func (h *everyHook) BeforeWriteReply(_ context.Context, info *weft.CallInfo, reply any, err error) error {
	defer h.add("%v %v", reply, weft.CodeOf(err))
	return h.note("BeforeWriteReply", info)
}
func (h *everyHook) AfterWriteReply(_ context.Context, info *weft.CallInfo, reply any, err error) {
	h.note("AfterWriteReply", info)
	h.add("%v %v", reply, weft.CodeOf(err))
}

func (h *everyHook) BeforeWriteRequest(_ context.Context, info *weft.CallInfo, req any) error {
	defer h.add("%v", req)
	return h.note("BeforeWriteRequest", info)
}
func (h *everyHook) AfterWriteRequest(_ context.Context, info *weft.CallInfo, req any, err error) {
	h.note("AfterWriteRequest", info)
	h.add("%v %v", req, weft.CodeOf(err))
}
func (h *everyHook) BeforeReadReplyHeader(_ context.Context, info *weft.CallInfo) error {
	return h.note("BeforeReadReplyHeader", info)
}
func (h *everyHook) AfterReadReplyHeader(_ context.Context, info *weft.CallInfo, err error) {
	h.note("AfterReadReplyHeader", info)
	h.add("%v", weft.CodeOf(err))
}
func (h *everyHook) BeforeReadReplyBody(_ context.Context, info *weft.CallInfo) error {
	return h.note("BeforeReadReplyBody", info)
}
func (h *everyHook) AfterReadReplyBody(_ context.Context, info *weft.CallInfo, err error) {
	h.note("AfterReadReplyBody", info)
	h.add("%v %v", info.Reply, weft.CodeOf(err))
}

// hooked starts a world with every hook on both sides.
func hooked(t *testing.T) (w *world, c *weft.Client, server, client *everyHook) {
	server, client = new(everyHook), new(everyHook)
	w = start(t, &weft.ServerConfig{Hooks: []any{server}}, func(s *weft.Server) error { return errors.Join(s.Register(Arith{}), streams(s)) })
	server.want(t, "ServiceRegistered Arith", "ServiceRegistered Stream")
	c = w.dial(&weft.ClientConfig{Hooks: []any{client}})
	synctest.Wait()
	server.want(t, "ConnAccepted", "ConnOpened mem")
	client.want(t, "ConnOpened mem")
	return w, c, server, client
}

// Each hook is called once for each call, in the documented order.
func TestHookOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, server, client := hooked(t)
		multiply(t, c)
		client.want(t,
			"BeforeWriteRequest Arith.Mul", "&{7 8}",
			"AfterWriteRequest Arith.Mul", "&{7 8} OK",
			"BeforeReadReplyHeader Arith.Mul",
			"AfterReadReplyHeader Arith.Mul", "OK",
			"BeforeReadReplyBody Arith.Mul",
			"AfterReadReplyBody Arith.Mul", "&{56} OK")
		server.want(t,
			"AfterReadRequestHeader Arith.Mul",
			"BeforeReadRequestBody Arith.Mul",
			"AfterReadRequestBody Arith.Mul", "&{7 8} OK",
			"BeforeWriteReply Arith.Mul", "&{56} OK",
			"AfterWriteReply Arith.Mul", "&{56} OK")

		c.Call(t.Context(), "Arith.Div", &Args{}, nil) // an error of the handler
		if got := client.take(); !slices.Equal(got[len(got)-2:], []string{"AfterReadReplyHeader Arith.Div", "InvalidArgument"}) {
			t.Errorf("client, failed call: %q", got)
		}
		if got := server.take(); !slices.Equal(got[len(got)-2:], []string{"AfterWriteReply Arith.Div", "<nil> InvalidArgument"}) {
			t.Errorf("server, failed call: %q", got)
		}

		c.Call(t.Context(), "Arith.Mul", "text", nil) // a request that cannot be decoded
		server.want(t, "AfterReadRequestHeader Arith.Mul", "BeforeReadRequestBody Arith.Mul",
			"AfterReadRequestBody Arith.Mul", "<nil> InvalidArgument")
		client.take()

		must(t, c.Notify(t.Context(), "Arith.Mul", &Args{1, 2}))
		client.want(t, "BeforeWriteRequest Arith.Mul", "&{1 2}", "AfterWriteRequest Arith.Mul", "&{1 2} OK")
		synctest.Wait()
		server.take()

		s, err := weft.Subscribe[Product](t.Context(), c, "Stream.Mul", &Args{6, 7})
		must(t, err)
		receive(t, s)
		client.want(t)
		server.want(t, "AfterReadRequestHeader Stream.Mul", "BeforeReadRequestBody Stream.Mul",
			"BeforeWriteReply Stream.Mul", "<nil> OK", "AfterWriteReply Stream.Mul", "<nil> OK")

		c.Close()
		synctest.Wait()
		client.want(t, "ConnClosed mem true")
		server.want(t, "ConnClosed mem true")
		must(t, weft.Handle(w.srv, "Arith.Other", Arith{}.Mul)) // not its service's first
		must(t, w.srv.RegisterName("Other", Arith{}))
		server.want(t, "ServiceRegistered Other")
		must(t, w.srv.Alias("Calc.Times", "Arith.Mul"))
		must(t, w.srv.Alias("Calc.Mul", "Arith.Mul"))
		server.want(t, "ServiceRegistered Calc")
	})
}

// The error of a Before hook is what its call ends with; the connection goes on.
func TestHookErrors(t *testing.T) {
	reason := weft.Errorf(weft.FailedPrecondition, "a hook is against it").WithReason("HOOK")
	for _, tt := range []struct {
		fail    string
		outcome weft.Outcome
		last    string // the last that the failing side's hooks heard of the call
	}{
		{"BeforeReadRequestBody", weft.Refused, "BeforeReadRequestBody Arith.Mul"},
		{"BeforeWriteReply", weft.Executed, "<nil> FailedPrecondition"},
		{"BeforeWriteRequest", weft.NotSent, "&{7 8}"},
		{"BeforeReadReplyHeader", weft.OutcomeUnknown, "BeforeReadReplyHeader Arith.Mul"},
		{"BeforeReadReplyBody", weft.Executed, "BeforeReadReplyBody Arith.Mul"},
	} {
		t.Run(tt.fail, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c, server, client := hooked(t)
				h := client
				if strings.Contains(tt.fail, "Request") && tt.fail != "BeforeWriteRequest" || tt.fail == "BeforeWriteReply" {
					h = server
				}
				h.fail, h.err = tt.fail, reason
				err := c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, new(Product))
				e := wantError(t, err, weft.FailedPrecondition, tt.outcome, "a hook is against it")
				if e.Reason != "HOOK" || e.Method != "Arith.Mul" {
					t.Errorf("%+v", e)
				}
				if h == client && !errors.Is(err, reason) {
					t.Error("errors.Is does not find the hook's error")
				}
				synctest.Wait()
				if lines := h.take(); lines[len(lines)-1] != tt.last {
					t.Errorf("hooks heard %q", lines)
				}
				h.fail = ""
				multiply(t, c)
			})
		})
	}
}

// A hook can turn a connection away.
func TestConnAcceptedRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &everyHook{fail: "ConnAccepted", err: errors.New("not from there")}
		var logged log
		w := start(t, &weft.ServerConfig{Hooks: []any{h}, Logger: logged.logger()}, nil)
		h.take()
		err := firstCall(t, address, &weft.ClientConfig{Transports: transports(w.net)})
		wantError(t, err, weft.PermissionDenied, weft.NotSent, "a hook of the server")
		h.want(t, "ConnAccepted")
		wantText(t, logged.String(), "refused by a hook", "not from there")
	})
}

// Several hooks run in the order of the list; the first error ends it.
func TestHookList(t *testing.T) {
	var d diary
	first, second, third := &named{&d, "1", nil}, &named{&d, "2", weft.Aborted}, &named{&d, "3", nil}
	c := start(t, &weft.ServerConfig{Hooks: []any{first, second, third}}, nil).dial(nil)
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Args{}, nil), weft.Aborted, weft.Refused)
	d.want(t, "1", "2")
}

type named struct {
	d    *diary
	name string
	err  error
}

func (n *named) BeforeReadRequestBody(context.Context, *weft.CallInfo) error {
	n.d.add("%s", n.name)
	return n.err
}

func TestHookConfigErrors(t *testing.T) {
	for _, hooks := range [][]any{{struct{}{}}, {new(everyHook), 7}} {
		wantError(t, weft.NewServer(&weft.ServerConfig{Hooks: hooks}).Register(Arith{}), weft.InvalidArgument, 0, "implements none of the hook interfaces")
		_, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Hooks: hooks, Lazy: true})
		wantError(t, err, weft.InvalidArgument, 0, "implements none of the hook interfaces")
	}
}

// What happens to a client's connection, its hooks are told, each time.
func TestConnHooksAcrossReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _, client := hooked(t)
		w.srv.Close()
		synctest.Wait()
		w.restart(nil, nil)
		multiply(t, c)
		got := slices.DeleteFunc(client.take(), func(s string) bool { return !strings.HasPrefix(s, "Conn") })
		if !slices.Equal(got, []string{"ConnClosed mem true", "ConnOpened mem"}) {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Minute)
		client.take()
		must(t, c.Shutdown(t.Context()))
		client.want(t, "ConnClosed mem true")
	})
}

// panics is a hook that does, as long as it is told to.
type panics struct{ on atomic.Bool }

func (p *panics) BeforeWriteRequest(context.Context, *weft.CallInfo, any) error {
	if p.on.Load() {
		panic("no")
	}
	return nil
}

// A hook that panics does not use up the places of one-way calls.
func TestPanicBeforeNotify(t *testing.T) {
	hook := &panics{}
	c := start(t, nil, nil).dial(&weft.ClientConfig{Hooks: []any{hook}})
	notify := func() (p any) {
		defer func() { p = recover() }()
		must(t, c.Notify(t.Context(), "Arith.Mul", &Args{1, 2}))
		return nil
	}
	hook.on.Store(true)
	for range 2000 {
		if notify() == nil {
			t.Fatal("the hook did not panic")
		}
	}
	hook.on.Store(false)
	if p := notify(); p != nil {
		t.Errorf("panic: %v", p)
	}
}

// nearly has a hook's name and not its signature.
type nearly struct{}

func (nearly) ConnClosed(*weft.Peer, error)                                   {}
func (nearly) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) {}

// A hook that nearly fits would never be called: an access check would let all in.
func TestHookWithWrongSignature(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Hooks: []any{nearly{}}})
	wantError(t, srv.Register(Arith{}), weft.InvalidArgument, 0, "weft_test.nearly", "BeforeReadRequestBody is func(context.Context, *weft.CallInfo), want func(context.Context, *weft.CallInfo) error")
	must(t, srv.Close())
	_, err := weft.Dial(t.Context(), "tcp://127.0.0.1:1", &weft.ClientConfig{Lazy: true, Plugins: []weft.Plugin{{Hooks: []any{nil}}}})
	wantError(t, err, weft.InvalidArgument, 0, "hook 0 of the configuration is nil")
}
