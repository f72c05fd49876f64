// Package peertest is the conformance kit of [harness.Peer]: a peer that passes
// can be measured. It takes a few seconds for each codec.
package peertest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/msg"
)

const (
	callers = 8
	patient = 20 * time.Second // what is hoped to take milliseconds
)

// Run holds the peer to its contract, as server and client in this process.
func Run(t *testing.T, peer harness.Peer) {
	t.Run("description", func(t *testing.T) { describes(t, peer) })
	codecs := 0
	for _, codec := range msg.Codecs() {
		if methods := supported(t, peer, codec); len(methods) > 0 {
			t.Run(string(codec), func(t *testing.T) { run(t, peer, codec, methods) })
			codecs++
		}
	}
	if codecs == 0 {
		t.Fatal("the peer supports no codec and method")
	}
}

// supported is what the peer can carry with a codec.
func supported(t *testing.T, peer harness.Peer, codec msg.Codec) []msg.Method {
	var methods []msg.Method
	for _, m := range append(msg.Methods(), msg.Add) {
		switch err := peer.Supports(codec, m); {
		case err == nil:
			methods = append(methods, m)
		case err.Error() == "":
			t.Errorf("%s with %s is refused without a reason", m.Name(), codec)
		}
	}
	return methods
}

// run is Run for one codec and the methods that the peer carries with it.
func run(t *testing.T, peer harness.Peer, codec msg.Codec, methods []msg.Method) {
	for _, m := range methods {
		t.Run(m.String(), func(t *testing.T) { calls(t, peer, codec, m) })
	}
	if slices.Contains(methods, msg.Medium) {
		t.Run("beside large replies", func(t *testing.T) { beside(t, peer, codec) })
	}
	if slices.Contains(methods, msg.Add) {
		t.Run("new connections", func(t *testing.T) { again(t, peer, codec) })
	}
	t.Run("connections", func(t *testing.T) { connections(t, peer, codec, methods[0]) })
	t.Run("client closes", func(t *testing.T) {
		pair := start(t, peer, codec, 0)
		pair.endCalls(t, methods[0], pair.closeClient)
	})
	t.Run("server stops", func(t *testing.T) {
		pair := start(t, peer, codec, 0)
		pair.endCalls(t, methods[0], pair.stopServer)
	})
}

// describes looks at what the report will show of the peer.
func describes(t *testing.T, peer harness.Peer) {
	if _, err := (harness.Peers{peer}).Find(peer.Name()); err != nil || peer.Name() == "" {
		t.Errorf("the name %q does not find the peer: %v", peer.Name(), err)
	}
	d := peer.Describe()
	if d.Language != "Go" || d.Version == "" || d.Settings == "" {
		t.Errorf("the description %+v does not say in Go, of which version and how configured", d)
	}
	if (d.MaxCallers == 0) != (d.MaxCallersWhy == "") {
		t.Errorf("at most %d callers, because of %q", d.MaxCallers, d.MaxCallersWhy)
	}
}

// calls makes a few hundred calls from several callers, each checked by the
// caller itself.
func calls(t *testing.T, peer harness.Peer, codec msg.Codec, method msg.Method) {
	callers, each := callers, map[msg.Method]int{msg.Say: 100, msg.Slow: 5, msg.Sleep: 5, msg.Medium: 2, msg.Large: 1, msg.Add: 100}[method]
	if method == msg.Medium || method == msg.Large {
		callers = 1 // as in the comparison; a slow codec takes seconds under the race detector
	}
	pair := start(t, peer, codec, 0)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range callers {
		caller := pair.caller(t, i)
		all.Go(func() {
			for range each {
				if err := caller.Call(method); err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(begin)
	pause := map[msg.Method]time.Duration{msg.Slow: msg.SlowTime, msg.Sleep: msg.SleepTime}[method]
	if least := time.Duration(each) * pause; took < least {
		t.Errorf("%d calls of %s in %v, which is less than %v", each, method.Name(), took, least)
	}
}

// beside makes small calls while another caller has large replies on their way.
func beside(t *testing.T, peer harness.Peer, codec msg.Codec) {
	pair := start(t, peer, codec, 0)
	var all sync.WaitGroup
	for i := range callers {
		caller := pair.caller(t, i)
		method, each := msg.Say, 100
		if i == 0 {
			method, each = msg.Medium, 3
		}
		all.Go(func() {
			for range each {
				if err := caller.Call(method); err != nil {
					t.Errorf("caller %d, %s: %v", i, method.Name(), err)
					return
				}
			}
		})
	}
	all.Wait()
}

// connections asks for one for each caller.
func connections(t *testing.T, peer harness.Peer, codec msg.Codec, method msg.Method) {
	pair := start(t, peer, codec, harness.PerCaller)
	if n := pair.client.Conns(); n != callers {
		t.Errorf("%d connections for %d callers", n, callers)
	}
	for i := range callers {
		if err := pair.caller(t, i).Call(method); err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
}

// again makes each call on a connection of its own, to one server.
func again(t *testing.T, peer harness.Peer, codec msg.Codec) {
	pair := start(t, peer, codec, 0)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range 5 {
				if err := pair.callOnce(msg.Add); err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// pair is a server and a client in this process.
type pair struct {
	peer        harness.Peer
	addr        string
	codec       msg.Codec
	client      harness.Client
	closeClient func()
	stopServer  func()
}

func start(t *testing.T, peer harness.Peer, codec msg.Codec, conns int) *pair {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	served := make(chan error, 1)
	go func() { // ends with ctx
		served <- peer.Serve(ctx, harness.ServeConfig{
			Addr: "127.0.0.1:0", Codec: codec, Service: msg.NewService(),
			Ready: func(addr string) { ready <- addr },
		})
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve returned %v after its context ended", err)
			}
		case <-time.After(patient):
			t.Error("Serve did not return after its context ended")
		}
	})
	t.Cleanup(stop)
	var addr string
	select {
	case addr = <-ready:
	case err := <-served:
		served <- err
		t.Fatalf("Serve returned %v before it called Ready", err)
	}
	dialCtx, dialed := context.WithTimeout(ctx, patient)
	defer dialed()
	client, err := peer.Dial(dialCtx, harness.DialConfig{Addr: addr, Codec: codec, Callers: callers, Conns: conns})
	if err != nil {
		t.Fatal(err)
	}
	closeClient := sync.OnceFunc(func() { client.Close() })
	t.Cleanup(closeClient) // before the server stops
	return &pair{peer: peer, addr: addr, codec: codec, client: client, closeClient: closeClient, stopServer: stop}
}

func (p *pair) caller(t *testing.T, i int) harness.Caller {
	t.Helper()
	caller, err := p.client.Caller(i)
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// callOnce dials, calls and closes.
func (p *pair) callOnce(m msg.Method) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	return harness.CallOnce(ctx, p.peer, harness.DialConfig{Addr: p.addr, Codec: p.codec}, m)
}

// endCalls lets callers call until end makes them fail. A caller that waits
// for a reply without end would hang a measurement.
func (p *pair) endCalls(t *testing.T, method msg.Method, end func()) {
	t.Helper()
	deadline := time.Now().Add(patient)
	var running, failed sync.WaitGroup
	running.Add(callers)
	for i := range callers {
		caller := p.caller(t, i)
		failed.Go(func() {
			if err := caller.Call(method); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			running.Done()
			for caller.Call(method) == nil {
				if time.Now().After(deadline) {
					t.Errorf("caller %d still succeeds", i)
					return
				}
			}
		})
	}
	running.Wait()
	end()
	all := make(chan struct{})
	go func() { // ends with the last caller
		failed.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(patient + time.Second):
		t.Error("some calls did not end with the connection")
	}
}
