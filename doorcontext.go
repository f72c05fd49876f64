package weft

import (
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/slab"
)

// doorContexts are the contexts of the calls of a connection that a door serves. Each is used once, since a handler may keep it.
type doorContexts struct {
	plain slab.Slab[session.Context]        // of calls without metadata, which is most of them
	some  slab.Slab[session.ForeignContext] // of those with little
	owner *session.Owner                    // of plain; nil: there was none yet
}

const (
	maxContexts   = 63  // contexts of calls that are made at once at most
	fewContexts   = 7   // the same while no other call is under way: they stay in memory, and are looked at by the garbage collector, for as long as one does
	smallMetadata = 256 // bytes of metadata of a call whose context is one of them, at most
)

// nextLocked returns a context; up to most are made at once. alone says that it must not stay in memory for as long as others. It is called with
// the lock of the connection held.
func (d *doorContexts) nextLocked(alone bool, most int, p *Peer, m *session.Method, pairs string, received, deadline int64) *session.Context {
	most = min(most, maxContexts)
	if !alone && pairs == "" {
		if d.owner == nil {
			d.owner = session.OwnedBy(p)
		}
		ctx := d.plain.Next(1, most)
		d.owner.Init(ctx, m, received, deadline)
		return ctx
	}
	ctx := (*session.ForeignContext)(nil)
	if alone {
		ctx = new(session.ForeignContext)
	} else {
		ctx = d.some.Next(1, most)
	}
	ctx.Init(p, m, pairs, received, deadline)
	return &ctx.Context
}
