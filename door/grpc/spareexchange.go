package grpc

import (
	"sync"
	"time"

	"github.com/weftrpc/weft/door/internal/http2"
)

// spareExchanges is the memory of unary calls of a connection that are over, for the next ones.
type spareExchanges struct{ pool sync.Pool }

// take returns memory for a call, which is zero but for what is used again: its channel and the room for its reply.
func (p *spareExchanges) take() *exchange {
	if x, ok := p.pool.Get().(*exchange); ok {
		return x
	}
	return &exchange{done: make(chan struct{}, 1)}
}

// give takes the memory of a call that went well and whose caller has the reply, unless something else refers to it.
func (p *spareExchanges) give(x *exchange) {
	if !x.over || cap(x.body) > 2*small {
		return
	}
	x.st, x.c, x.begun, x.over, x.owed, x.body, x.due = http2.Stream{}, nil, false, false, 0, x.body[:0], time.Time{}
	x.meta, x.reply, x.restore, x.call, x.early = nil, nil, nil, nil, false
	x.ended.Store(false)
	p.pool.Put(x)
}
