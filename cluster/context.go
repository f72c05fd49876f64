package cluster

import "context"

type keyKey struct{}

// WithKey returns a context whose calls have a key: the consistent hashes of package balance send equal keys to the same server, and rules
// that split calls send them to the same side.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

type idempotentKey struct{}

// WithIdempotent returns a context whose calls may run more than once: they are made again, and hedged, also when it is not known whether
// they ran.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// keyOf is the key of a call.
func (c *Client) keyOf(ctx context.Context, method string, args any) string {
	if ctx != context.Background() {
		if key, ok := ctx.Value(keyKey{}).(string); ok {
			return key
		}
	}
	if c.cfg.Key != nil {
		return c.cfg.Key(ctx, method, args)
	}
	return ""
}

// idempotent reports whether the call may run twice, as is known now: the list of servers may have been empty when it began.
func (x *call) idempotent() bool {
	return x.m.policyUnder(x.c, x.v).idempotent || markedIdempotent(x.ctx)
}

func markedIdempotent(ctx context.Context) bool {
	marked, _ := ctx.Value(idempotentKey{}).(bool)
	return marked
}
