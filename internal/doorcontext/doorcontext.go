// Package doorcontext makes the contexts of the calls of a connection that a door serves, several at once.
package doorcontext

import (
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/slab"
)

// Contexts are the contexts of the calls of one connection. Each is used once, since a handler may keep it. The zero value is ready for use.
type Contexts struct {
	plain slab.Slab[session.Context]        // of calls without metadata, which is most of them
	some  slab.Slab[session.ForeignContext] // of those with little
	owner *session.Owner                    // of plain; nil: there was none yet
}

const (
	// Few is how many contexts are made at once at most while no other call is under way: they stay in memory, and are looked at by the garbage
	// collector, for as long as one does.
	Few = 7
	// Small is how many bytes of metadata a call has at most whose context is not alone.
	Small = 256

	most = 63 // contexts that are made at once at most
)

// NextLocked returns a context; up to atOnce are made at once. alone says that it must not stay in memory for as long as others. The owner is the
// same for all. It is called with the lock of the connection held.
func (c *Contexts) NextLocked(alone bool, atOnce int, owner any, m *session.Method, pairs string, received, deadline int64) *session.Context {
	atOnce = min(atOnce, most)
	if !alone && pairs == "" {
		if c.owner == nil {
			c.owner = session.OwnedBy(owner)
		}
		ctx := c.plain.Next(1, atOnce)
		c.owner.Init(ctx, m, received, deadline)
		return ctx
	}
	ctx := (*session.ForeignContext)(nil)
	if alone {
		ctx = new(session.ForeignContext)
	} else {
		ctx = c.some.Next(1, atOnce)
	}
	ctx.Init(owner, m, pairs, received, deadline)
	return &ctx.Context
}
