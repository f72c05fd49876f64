// Package peertest is the conformance kit of [harness.Peer]: a peer that passes
// can be measured. It takes about a second for each codec.
package peertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/msg"
)

const (
	callers = 8
	patient = 20 * time.Second // what is hoped to take milliseconds
)

// Run holds the peer to its contract, as server and client in this process.
func Run(t *testing.T, peer harness.Peer) {
	if _, err := (harness.Peers{peer}).Find(peer.Name()); err != nil || peer.Name() == "" {
		t.Fatalf("the name %q does not find the peer: %v", peer.Name(), err)
	}
	supported := 0
	for _, codec := range []msg.Codec{msg.Raw, msg.VT, msg.Google} {
		for _, method := range msg.Methods() {
			if peer.Supports(codec, method) != nil {
				continue
			}
			supported++
			t.Run(string(codec)+"/"+method.String(), func(t *testing.T) { calls(t, peer, codec, method) })
		}
	}
	if supported == 0 {
		t.Fatal("the peer supports no codec and method")
	}
	codec := firstCodec(peer)
	t.Run("connections", func(t *testing.T) { connections(t, peer, codec) })
	t.Run("client closes", func(t *testing.T) {
		pair := start(t, peer, codec, 0)
		pair.endCalls(t, pair.closeClient)
	})
	t.Run("server stops", func(t *testing.T) {
		pair := start(t, peer, codec, 0)
		pair.endCalls(t, pair.stopServer)
	})
}

// calls makes a few hundred calls from several callers, each checked by the
// caller itself.
func calls(t *testing.T, peer harness.Peer, codec msg.Codec, method msg.Method) {
	each := map[msg.Method]int{msg.Say: 100, msg.Slow: 5, msg.Sleep: 5, msg.Large: 2}[method]
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

// connections asks for one for each caller.
func connections(t *testing.T, peer harness.Peer, codec msg.Codec) {
	pair := start(t, peer, codec, harness.PerCaller)
	if n := pair.client.Conns(); n != callers {
		t.Errorf("%d connections for %d callers", n, callers)
	}
	for i := range callers {
		if err := pair.caller(t, i).Call(msg.Say); err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
}

func firstCodec(peer harness.Peer) msg.Codec {
	for _, codec := range []msg.Codec{msg.Raw, msg.VT} {
		if peer.Supports(codec, msg.Say) == nil {
			return codec
		}
	}
	return msg.Google
}

// pair is a server and a client in this process.
type pair struct {
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
	return &pair{client: client, closeClient: closeClient, stopServer: stop}
}

func (p *pair) caller(t *testing.T, i int) harness.Caller {
	t.Helper()
	caller, err := p.client.Caller(i)
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// endCalls lets callers call until end makes them fail. A caller that waits for
// ever for a reply would hang a measurement.
func (p *pair) endCalls(t *testing.T, end func()) {
	t.Helper()
	deadline := time.Now().Add(patient)
	var running, failed sync.WaitGroup
	running.Add(callers)
	for i := range callers {
		caller := p.caller(t, i)
		failed.Go(func() {
			if err := caller.Call(msg.Say); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			running.Done()
			for caller.Call(msg.Say) == nil {
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
