package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/peer/netrpcpeer"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/codec"
)

// operations starts the servers and clients of all calls, and lists what to
// measure; stop ends them.
func operations(ctx context.Context) (all []operation, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	sources := subjects()
	for _, c := range []msg.Codec{msg.Gob, msg.JSON} {
		sources = append(sources, netRPC{c})
	}
	for _, s := range sources {
		some, stopThese, err := s.operations(ctx)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all, stops = append(all, some...), append(stops, stopThese)
	}
	return all, stop, nil
}

// calls starts a server of weft and a client of it. Once is one call.
func (s subject[M]) calls(ctx context.Context) (once func() error, stop func(), err error) {
	server := weft.NewServer(&weft.ServerConfig{Codecs: []codec.Codec{s.codec}})
	method := msg.Say.Name()
	if err := weft.Handle(server, method, func(_ context.Context, m *M) (*M, error) {
		s.answer(m)
		return m, nil
	}); err != nil {
		return nil, nil, err
	}
	listener, err := server.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ends when the server is closed
	stopServer := func() {
		server.Close()
		<-served
	}
	client, err := weft.Dial(ctx, "tcp://"+listener.Addr().String(), &weft.ClientConfig{Codec: s.codec})
	if err != nil {
		stopServer()
		return nil, nil, err
	}
	reply := new(M)
	once = func() error {
		if err := client.Call(ctx, method, s.message, reply); err != nil {
			return err
		}
		return s.check(reply)
	}
	return once, func() { client.Close(); stopServer() }, nil
}

// netRPC is net/rpc with one of its codecs, set up as for the comparison.
type netRPC struct{ codec msg.Codec }

func (n netRPC) operations(ctx context.Context) (all []operation, stop func(), err error) {
	once, stop, err := callsOver(ctx, netrpcpeer.Peer{}, n.codec)
	if err != nil {
		return nil, nil, fmt.Errorf("calls of net/rpc with %s: %w", n.codec, err)
	}
	return []operation{{kind: call, codec: string(n.codec), peer: netrpcpeer.Peer{}.Name(), once: once}}, stop, nil
}

// callsOver starts a peer's server and a client with one caller.
func callsOver(ctx context.Context, peer harness.Peer, c msg.Codec) (once func() error, stop func(), err error) {
	serving, stopServer := context.WithCancel(ctx)
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() { // ends with its context
		served <- peer.Serve(serving, harness.ServeConfig{
			Addr: "127.0.0.1:0", Codec: c, Service: msg.NewService(), Ready: func(addr string) { ready <- addr },
		})
	}()
	var addr string
	select {
	case addr = <-ready:
	case err := <-served:
		stopServer()
		return nil, nil, fmt.Errorf("the server ended before it listened: %w", err)
	}
	client, err := peer.Dial(ctx, harness.DialConfig{Addr: addr, Codec: c, Callers: 1})
	if err != nil {
		stopServer()
		return nil, nil, errors.Join(err, <-served)
	}
	stop = func() {
		client.Close()
		stopServer()
		<-served
	}
	caller, err := client.Caller(0)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return func() error { return caller.Call(msg.Say) }, stop, nil
}
