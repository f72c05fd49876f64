// Package harness turns an RPC system that is called from Go into a peer of the
// comparison: implement [Peer], and [Main] is the program that package contract
// describes, with its loops of callers, its histograms and its events.
package harness

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/msg"
)

// PerCaller as a number of connections means one connection for each caller.
const PerCaller = -1

// Peer is one RPC system under measurement. A value serves one process, as
// server or as client, never both.
type Peer interface {
	// Name is the name in flags and records.
	Name() string

	// Describe returns what the report shows of the peer: Language, Version,
	// Settings, and where they apply MaxCallers with MaxCallersWhy, and Warmup.
	// The other fields are filled in by what Supports answers.
	Describe() contract.Description

	// Supports reports whether the peer can carry this codec through this method;
	// the error has the reason.
	Supports(codec msg.Codec, method msg.Method) error

	// Serve listens on cfg.Addr, calls cfg.Ready once with the address, and
	// serves until ctx ends. Nil means that it ended for that reason.
	Serve(ctx context.Context, cfg ServeConfig) error

	// Dial opens every connection that the callers will use, so that nothing is
	// set up inside the measured phase. It is called once for each server.
	Dial(ctx context.Context, cfg DialConfig) (Client, error)
}

// Balancer is implemented by peers that spread calls over several servers
// themselves. For others, each caller stays with one server.
type Balancer interface {
	// DialServers connects to all servers. cfg has no Addr, and all the callers.
	DialServers(ctx context.Context, addrs []string, cfg DialConfig) (Client, error)
}

// ServeConfig configures a peer's server.
type ServeConfig struct {
	Addr    string // host:port, with port 0: the peer lets the system choose
	Codec   msg.Codec
	Service *msg.Service      // what to do with a decoded request
	Ready   func(addr string) // to be called once, when clients may dial addr
}

// DialConfig configures a peer's client.
type DialConfig struct {
	Addr    string
	Codec   msg.Codec
	Callers int // how many callers will be asked for: Caller(0) to Caller(Callers-1)

	// Conns is the number of connections to share among the callers, PerCaller,
	// or 0 for what the peer thinks best.
	Conns int
}

// Client is the client side of one run.
type Client interface {
	// Caller makes the caller of index i, called once for each i and by one
	// goroutine at a time. Each caller owns a request and a reply that it uses
	// for all its calls.
	Caller(i int) (Caller, error)

	// Conns is how many connections are open.
	Conns() int

	// Close ends all connections; calls in flight fail. It may be called while
	// callers call.
	Close() error
}

// Caller makes one call at a time.
type Caller interface {
	// Call sends the published message to method m, or two numbers to msg.Add,
	// waits for the reply, and checks it with the functions of package msg. An
	// error is a failed call. It must not be called by two goroutines at once.
	Call(m msg.Method) error
}

// Peers finds a peer by its name.
type Peers []Peer

// Find returns the peer of that name, or an error that lists the names there are.
func (ps Peers) Find(name string) (Peer, error) {
	names := make([]string, len(ps))
	for i, p := range ps {
		if p.Name() == name {
			return p, nil
		}
		names[i] = p.Name()
	}
	return nil, fmt.Errorf("unknown peer %q; there are %q", name, names)
}
