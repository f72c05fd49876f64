package weft_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// faulty does in each hook of connections what it is told.
type faulty struct {
	mu sync.Mutex
	do map[string]func()
}

func (f *faulty) run(name string) {
	f.mu.Lock()
	do := f.do[name]
	f.mu.Unlock()
	if do != nil {
		do()
	}
}

func (f *faulty) set(name string, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.do = map[string]func(){name: do}
}

func (f *faulty) ServiceRegistered(string)     { f.run("ServiceRegistered") }
func (f *faulty) Listening(net.Addr)           { f.run("Listening") }
func (f *faulty) ConnAccepted(net.Conn) error  { f.run("ConnAccepted"); return nil }
func (f *faulty) ConnOpened(*weft.Peer)        { f.run("ConnOpened") }
func (f *faulty) ConnClosed(*weft.Peer, error) { f.run("ConnClosed") }

// faults are what code of the user's may do; hang ends when the test releases it.
func faults(release chan struct{}) map[string]func() {
	return map[string]func(){
		"panic":  func() { panic("on purpose") },
		"goexit": runtime.Goexit,
		"hang":   func() { <-release },
	}
}

// A hook or an authenticator of a server that panics, hangs or ends its goroutine costs its
// connection at most: others are served, and Shutdown and Close return in time.
func TestFaultyCodeOfServer(t *testing.T) {
	for _, where := range []string{"ConnAccepted", "AuthenticateConn", "ConnOpened", "ConnClosed"} {
		for _, what := range []string{"panic", "goexit", "hang"} {
			for _, end := range []string{"Shutdown", "Close"} {
				t.Run(where+" "+what+" "+end, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						release := make(chan struct{})
						f := &faulty{}
						w := start(t, &weft.ServerConfig{Hooks: []any{f}, AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
							f.run("AuthenticateConn")
							return nil, nil
						}}, nil)
						good := w.dial(nil)
						f.set(where, faults(release)[what])
						for range 3 {
							c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Transports: transports(w.net), Timeout: time.Second, NoWaitForReady: true})
							must(t, err)
							err = c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
							if where == "ConnClosed" && err != nil {
								t.Error(err)
							}
							c.Close()
						}
						synctest.Wait()
						multiply(t, good)
						f.mu.Lock()
						do := f.do
						f.do = nil
						f.mu.Unlock()
						multiply(t, w.dial(nil))
						f.mu.Lock()
						f.do = do
						f.mu.Unlock()

						began := time.Now()
						if end == "Close" {
							must(t, w.srv.Close())
						} else {
							ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
							defer cancel()
							must(t, w.srv.Shutdown(ctx))
						}
						if d := time.Since(began); end == "Close" && d > time.Second || d > 7*time.Second {
							t.Errorf("%s took %v", end, d)
						}
						close(release)
					})
				})
			}
		}
	}
}

// The same on a client, whose Close returns in time.
func TestFaultyCodeOfClient(t *testing.T) {
	for _, where := range []string{"ConnOpened", "ConnClosed", "ConnCredential", "TLSFunc", "Go"} {
		for _, what := range []string{"panic", "goexit", "hang"} {
			t.Run(where+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					f := &faulty{}
					f.set(where, faults(release)[what])
					w := start(t, nil, nil)
					cfg := &weft.ClientConfig{Transports: transports(w.net), Hooks: []any{f}, Lazy: true}
					cfg.ConnCredential = func(context.Context) (weft.Credential, error) {
						f.run("ConnCredential")
						return weft.Credential{}, nil
					}
					if where == "TLSFunc" {
						cfg.TLSFunc = func() *tls.Config { f.run("TLSFunc"); return nil }
					}
					if where == "Go" {
						cfg.Interceptors = []weft.UnaryInterceptor{func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
							f.run("Go")
							return next(ctx, info, req)
						}}
					}
					c, err := weft.Dial(t.Context(), address, cfg)
					must(t, err)
					call := c.Go(t.Context(), "Arith.Mul", &Args{7, 8}, nil, nil, weft.WithTimeout(3*time.Second))
					if where == "Go" && what == "hang" {
						time.AfterFunc(3*time.Second, func() { close(release) })
					}
					<-call.Done
					if where != "ConnClosed" && what != "hang" && (where == "Go" || where == "ConnCredential" || where == "TLSFunc") && call.Error == nil {
						t.Error("the call went well")
					}
					began := time.Now()
					must(t, c.Close())
					if d := time.Since(began); d > time.Second {
						t.Errorf("Close took %v", d)
					}
					if where != "Go" || what != "hang" {
						close(release)
					}
				})
			})
		}
	}
}

// Hooks that panic while the server starts do not keep it from serving.
func TestFaultyHooksAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{}
		w := start(t, nil, nil)
		for _, where := range []string{"ServiceRegistered", "Listening"} {
			f.set(where, func() { panic("on purpose") })
			srv := weft.NewServer(&weft.ServerConfig{Hooks: []any{f}, Transports: transports(w.net)})
			must(t, srv.Register(Arith{}))
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- srv.ListenAndServe(ctx, "mem://other") }() // it ends with ctx
			synctest.Wait()
			multiply(t, dial(t, "mem://other", &weft.ClientConfig{Transports: transports(w.net)}))
			cancel()
			must(t, <-served)
		}
	})
}

// faultyRegistry does what it is told when it is called.
type faultyRegistry struct{ faulty }

func (r *faultyRegistry) Register(weft.Instance) (weft.Registration, error) {
	r.run("Register")
	return r, nil
}

func (r *faultyRegistry) Update(weft.Instance) error {
	r.run("Update")
	return nil
}

func (r *faultyRegistry) Close(context.Context) error {
	r.run("Close")
	return nil
}

// A registry that panics, hangs or ends its goroutine does not keep a server from ending, nor
// end the process.
func TestFaultyRegistry(t *testing.T) {
	for _, where := range []string{"Register", "Update", "Close"} {
		for _, what := range []string{"panic", "goexit", "hang"} {
			t.Run(where+" "+what, func(t *testing.T) {
				release, reached := make(chan struct{}), make(chan struct{})
				once := sync.OnceFunc(func() { close(reached) })
				r := &faultyRegistry{}
				fault := faults(release)[what]
				r.set(where, func() { once(); fault() })
				network := start(t, nil, nil).net
				srv := weft.NewServer(&weft.ServerConfig{Registry: r, Transports: transports(network), LoadReportInterval: 10 * time.Millisecond})
				must(t, srv.Register(Arith{}))
				l, err := srv.Listen(t.Context(), "mem://other")
				must(t, err)
				served := make(chan error, 1)
				go func() { // it ends when the server is closed
					defer close(served)
					served <- srv.Serve(l)
				}()
				if where == "Close" {
					c := dial(t, "mem://other", &weft.ClientConfig{Transports: transports(network)})
					multiply(t, c)
				} else {
					<-reached
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				must(t, srv.Shutdown(ctx))
				close(release)
				<-served
			})
		}
	}
}

// early panics in each function of the user's that runs before a handler.
type early struct{ where string }

func (e *early) run(name string) {
	if e.where == name {
		panic("on purpose")
	}
}

func (e *early) AfterReadRequestHeader(context.Context, *weft.CallInfo) {
	e.run("AfterReadRequestHeader")
}

func (e *early) BeforeReadRequestBody(context.Context, *weft.CallInfo) error {
	e.run("BeforeReadRequestBody")
	return nil
}

func (e *early) AfterReadRequestBody(context.Context, *weft.CallInfo, any, error) {
	e.run("AfterReadRequestBody")
}

// A call whose function before the handler panics is refused, by weft's own wire and by a door: the handler has not run.
func TestPanicBeforeHandler(t *testing.T) {
	for _, where := range []string{"AfterReadRequestHeader", "Authenticate", "BeforeReadRequestBody", "AfterReadRequestBody"} {
		t.Run(where, func(t *testing.T) {
			e := &early{where}
			answered := make(chan *weft.Error, 1)
			cfg := doors(fakeDoor{match: func(b []byte) (bool, bool) { return b[0] == 'x', false }, serve: func(c *weft.DoorConn) error {
				if _, err := c.Admit(weft.Credential{}, nil); err != nil {
					return err
				}
				in := new(nothing)
				c.Begin(weft.Head{Method: "Arith.Mul", Codec: "gob"}, in).Run()
				answered <- in.last
				return nil
			}})
			cfg.Hooks = []any{e}
			cfg.Authenticate = func(context.Context, weft.Credential, *weft.CallInfo) (any, error) {
				e.run("Authenticate")
				return nil, nil
			}
			w := start(t, cfg, nil)
			c := w.dial(nil)
			err := c.Call(t.Context(), "Arith.Mul", &Args{6, 7}, new(Product))
			wantClosed(t, w.connect("x"))
			for wire, err := range map[string]error{"weft": err, "fake": <-answered} {
				var got *weft.Error
				if !errors.As(err, &got) || got.Code != weft.Internal || got.Outcome != weft.Refused || got.Reason != weft.ReasonPanic || !strings.Contains(got.Message, where) {
					t.Errorf("%s: the call ended with %+v", wire, got)
				}
			}
			if n := w.srv.Stats().Refused[weft.ReasonPanic]; n != 2 {
				t.Errorf("%d calls were refused, want 2", n)
			}
		})
	}
}
