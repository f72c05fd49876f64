package admin

import (
	"context"

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
