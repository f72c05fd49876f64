package grpc

import "sync"

// spareExchanges is the memory of unary calls of a connection that are over, for the next ones.
type spareExchanges struct{ pool sync.Pool }

// take returns memory for a call, which is zero but for what is used again: its channel, its alarm and the room for its reply.
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
	*x = exchange{done: x.done, alarm: x.alarm, body: x.body[:0]}
	p.pool.Put(x)
}
