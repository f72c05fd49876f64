package main

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
)

// refuseLonger refuses words of more than a number of bytes. Without a call of next
// the handler does not run.
func refuseLonger(most int) weft.UnaryInterceptor {
	return func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		if w, ok := req.(*Word); ok && len(w.Text) > most {
			return nil, weft.Errorf(weft.InvalidArgument, "the word has %d bytes, at most %d are allowed", len(w.Text), most)
		}
		return next(ctx, info, req)
	}
}

// addTrace is for a client: it adds metadata to every call.
func addTrace(id string) weft.UnaryInterceptor {
	return func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(weft.WithMetadata(ctx, "trace-id", id), info, req)
	}
}

// opened is a hook.
type opened struct{}

// ConnOpened is called when a client has connected.
func (opened) ConnOpened(p *weft.Peer) {
	fmt.Println("a client has connected over", p.Addr().Network())
}
