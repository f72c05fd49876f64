package admin

import (
	"context"
	"io"

	"github.com/weftrpc/weft"
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// Token is that of Config.Token on the server. It travels beside the credential that the
	// caller has for its other calls. "": none.
	Token string
	// Options are those of every call.
	Options []weft.CallOption
}

// Client calls the service weft.Admin of a server. A request that is nil is the same as an empty
// one. Its methods may be called from any goroutine.
type Client struct {
	c   weft.Caller
	cfg ClientConfig
}

// NewClient makes a client that calls with c: a weft.Client, a weft.Peer, or a cluster.Client,
// which chooses a server for each call. cfg may be nil.
func NewClient(c weft.Caller, cfg *ClientConfig) *Client {
	a := &Client{c: c}
	if cfg != nil {
		a.cfg = *cfg
	}
	return a
}

// context returns ctx with the credential.
func (a *Client) context(ctx context.Context) context.Context {
	if a.cfg.Token == "" {
		return ctx
	}
	return weft.WithMetadata(ctx, CredentialKey, "Bearer "+a.cfg.Token)
}

// invoke makes a call.
func invoke[Res, Req any](ctx context.Context, a *Client, method string, req *Req) (*Res, error) {
	if req == nil {
		req = new(Req)
	}
	return weft.Invoke[Res](a.context(ctx), a.c, Service+"."+method, req, a.cfg.Options...)
}

// Describe lists the services and methods of the server.
func (a *Client) Describe(ctx context.Context, req *DescribeRequest) (*Description, error) {
	return invoke[Description](ctx, a, "Describe", req)
}

// Stats returns what the server has counted.
func (a *Client) Stats(ctx context.Context, req *StatsRequest) (*Stats, error) {
	return invoke[Stats](ctx, a, "Stats", req)
}

// Connections lists the open connections of the server.
func (a *Client) Connections(ctx context.Context, req *ConnectionsRequest) (*Connections, error) {
	return invoke[Connections](ctx, a, "Connections", req)
}

// Calls lists the calls that the server has not answered yet.
func (a *Client) Calls(ctx context.Context, req *CallsRequest) (*Calls, error) {
	return invoke[Calls](ctx, a, "Calls", req)
}

// Config returns the configuration of the server, without secrets.
func (a *Client) Config(ctx context.Context, req *ConfigRequest) (*Settings, error) {
	return invoke[Settings](ctx, a, "Config", req)
}

// Limits returns the limits of the server, the state of its overload protection, and breakers.
func (a *Client) Limits(ctx context.Context, req *LimitsRequest) (*Limits, error) {
	return invoke[Limits](ctx, a, "Limits", req)
}

// Stacks returns the stacks of the goroutines of the server's process.
func (a *Client) Stacks(ctx context.Context, req *StacksRequest) (*Stacks, error) {
	return invoke[Stacks](ctx, a, "Stacks", req)
}

// LogLevel returns the level of the program's log.
func (a *Client) LogLevel(ctx context.Context, req *LogLevelRequest) (*LogLevel, error) {
	return invoke[LogLevel](ctx, a, "LogLevel", req)
}

// SetLogLevel sets the level of the program's log.
func (a *Client) SetLogLevel(ctx context.Context, req *SetLogLevelRequest) (*LogLevel, error) {
	return invoke[LogLevel](ctx, a, "SetLogLevel", req)
}

// Drain publishes the server as draining, or shuts it down.
func (a *Client) Drain(ctx context.Context, req *DrainRequest) (*Drained, error) {
	return invoke[Drained](ctx, a, "Drain", req)
}

// subscribe opens a call that sends many messages.
func subscribe[Res, Req any](ctx context.Context, a *Client, method string, req *Req) (*weft.Stream[Res, Req], error) {
	c, ok := a.c.(weft.StreamCaller)
	if !ok {
		return nil, weft.Errorf(weft.Unimplemented, "admin: %s needs a weft.StreamCaller, and %T is none", method, a.c)
	}
	if req == nil {
		req = new(Req)
	}
	return weft.Subscribe[Res](a.context(ctx), c, Service+"."+method, req, a.cfg.Options...)
}

// Watch returns a stream of the statistics of the server. The caller must receive until the end,
// close the stream, or end ctx.
func (a *Client) Watch(ctx context.Context, req *WatchRequest) (*weft.Stream[Stats, WatchRequest], error) {
	return subscribe[Stats](ctx, a, "Watch", req)
}

// Tap returns a stream of the calls that the server answers from now on: when Tap has returned, the
// server shows them. The caller must receive until the end, close the stream, or end ctx. One that
// does not receive misses calls: TappedCall.Dropped counts them.
func (a *Client) Tap(ctx context.Context, req *TapRequest) (*weft.Stream[TappedCall, TapRequest], error) {
	stream, err := subscribe[TappedCall](ctx, a, "Tap", req)
	if err != nil {
		return nil, err
	}
	if _, err := stream.Recv(); err == io.EOF {
		return nil, weft.Errorf(weft.Unavailable, "admin: the server is shutting down")
	} else if err != nil {
		return nil, err
	}
	return stream, nil
}
