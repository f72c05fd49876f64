package session

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/wire"
)

// peer is what is known of the peer: its hello, or what may be assumed before that has come. Its lock is for goroutines that wait
// for the hello; no other lock is taken while it is held.
type peer struct {
	hello atomic.Pointer[wire.Hello]

	mu   sync.Mutex
	came chan struct{} // closed when the hello has come; nil until a goroutine waits for it
}

// unmet is what is known of a server whose hello has not come. Streams get their credit
// with the hello.
var unmet = wire.Hello{
	MaxMessage: wire.InitialMessage, MaxMetadata: wire.InitialMessage, MaxCalls: wire.InitialCalls, MaxBindings: wire.InitialBindings,
}

// takes is what the peer takes, as far as it is known.
func (p *peer) takes() *wire.Hello { return p.hello.Load() }

// met reports whether the hello has come.
func (p *peer) met() bool { return p.hello.Load() != &unmet }

// greet notes the hello of a peer that was not met before.
func (p *peer) greet(h *wire.Hello) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hello.Store(h)
	if p.came != nil {
		close(p.came)
	}
}

// soon returns a channel that is closed when the hello has come.
func (p *peer) soon() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.came == nil {
		p.came = make(chan struct{})
		if p.met() {
			close(p.came)
		}
	}
	return p.came
}

// tooLong is the status of a message of n bytes.
func (p *peer) tooLong(n int) *wire.Status {
	return &wire.Status{
		Code: wire.ResourceExhausted, Outcome: wire.NotSent, Reason: wire.ReasonMessageTooLarge,
		Message: fmt.Sprintf("message of %d bytes is larger than the %d that its receiver takes (Limits.MaxMessage of the receiver)", n, p.takes().MaxMessage),
	}
}

// tooMuchMeta is the status of a call with n bytes of metadata.
//
//go:noinline
func (p *peer) tooMuchMeta(n int) *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.NotSent, Reason: wire.ReasonMetadataTooLarge,
		Message: fmt.Sprintf("metadata of %d bytes is larger than the %d that its receiver takes (Limits.MaxMetadata of the receiver)", n, p.takes().MaxMetadata)}
}

// tooMany is the status of a call for which there is no slot.
//
//go:noinline
func (p *peer) tooMany() *wire.Status {
	most := p.takes().MaxCalls
	if most == 0 {
		return &wire.Status{Code: wire.Unimplemented, Outcome: wire.NotSent, Reason: wire.ReasonNoServices, Message: "the peer takes no calls"}
	}
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.NotSent, Reason: wire.ReasonTooManyCalls,
		Message: fmt.Sprintf("as many calls are open on this connection as the peer takes: %d (its Limits.MaxCalls)", most)}
}
