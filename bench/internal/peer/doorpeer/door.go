// Package doorpeer measures weft's doors: each peer is the client of another system, as it is, in
// front of a weft server with the door of that system's wire. What differs from the system itself
// is the server alone.
package doorpeer

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/internal/peer/netrpcpeer"
	"github.com/weftrpc/weft/bench/internal/weftserver"
	"github.com/weftrpc/weft/bench/msg"
)

// Suffix follows the name of the peer whose client is used.
const Suffix = "+weft"

// Peer is one system's client with a weft server.
type Peer struct {
	client  harness.Peer
	doors   func() []weft.Door
	version string // of the door
	pack    string // what the wire writes before the name of a service: "", or "main." as in the .proto
}

// Name is that of the client's system with [Suffix].
func (p Peer) Name() string { return p.client.Name() + Suffix }

// Describe describes the peer.
func (p Peer) Describe() contract.Description {
	d := p.client.Describe()
	d.Client = p.client.Name()
	d.Settings = fmt.Sprintf("the client of %s (%s); the server is weft's (%s) with its door and otherwise default configurations", d.Client, d.Settings, p.version)
	return d
}

// Supports what the client does, but no codec that is the client's own.
func (p Peer) Supports(codec msg.Codec, m msg.Method) error {
	if codec == msg.Raw {
		return errors.New("bytes as they are belong to weft's own wire")
	}
	return p.client.Supports(codec, m)
}

// Dial is the client's.
func (p Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	return p.client.Dial(ctx, cfg)
}

// Serve serves Hello and MathService with the door alone.
func (p Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	server := weft.NewServer(&weft.ServerConfig{
		Doors:  p.doors(),
		Limits: weft.Limits{MaxMessage: 2 * msg.LargeSize}, // JSON and gob are longer than the text that they carry
	})
	if err := p.register(server, cfg); err != nil {
		return err
	}
	return weftserver.Serve(ctx, server, cfg)
}

// register registers the methods with the messages of the codec.
func (p Peer) register(server *weft.Server, cfg harness.ServeConfig) error {
	for _, m := range msg.Methods() {
		var err error
		switch cfg.Codec {
		case msg.VT:
			err = weftserver.Echo(server, p.pack+m.Name(), func(message *vt.BenchmarkMessage) { cfg.Service.Answer(m, message) })
		case msg.Google:
			err = weftserver.Echo(server, p.pack+m.Name(), func(message *pb.BenchmarkMessage) { cfg.Service.Answer(m, message) })
		default:
			err = weftserver.Echo(server, p.pack+m.Name(), func(message *wire.BenchmarkMessage) { cfg.Service.AnswerPlain(m, message) })
		}
		if err != nil {
			return err
		}
	}
	add := p.pack + msg.Add.Name()
	if cfg.Codec == msg.VT || cfg.Codec == msg.Google {
		return weftserver.Add(server, add, cfg.Codec)
	}
	return weft.Handle(server, add, func(_ context.Context, r *netrpcpeer.Numbers) (*int32, error) {
		sum := r.A + r.B
		return &sum, nil
	})
}
