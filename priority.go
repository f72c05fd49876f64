package weft

import (
	"context"
	"strconv"

	"github.com/weftrpc/weft/internal/overload"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Priority says how much a call matters: which calls a server that is overloaded refuses first.
type Priority uint8

// The priorities. PriorityCritical is for calls whose failure users see at once, if these
// are few; PrioritySheddable for those that can be made later, such as of batches.
const (
	PriorityDefault   = Priority(overload.Default)
	PriorityCritical  = Priority(overload.Critical)
	PrioritySheddable = Priority(overload.Sheddable)
)

// String is the name of the priority, for example "critical".
func (p Priority) String() string {
	switch p {
	case PriorityDefault:
		return "default"
	case PriorityCritical:
		return "critical"
	case PrioritySheddable:
		return "sheddable"
	}
	return "Priority(" + strconv.Itoa(int(p)) + ")"
}

// MarshalText returns the name of the priority, which UnmarshalText takes.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText sets the priority that has a name: "default", "critical" or "sheddable".
func (p *Priority) UnmarshalText(text []byte) error {
	if *p = parsePriority(string(text)); *p == PriorityDefault && string(text) != PriorityDefault.String() {
		return Errorf(InvalidArgument, "there is no priority %q; there are default, critical and sheddable", text)
	}
	return nil
}

// priorityKey is the metadata key that carries a call's priority.
const priorityKey = "weft-priority"

// WithPriority returns a context whose calls have the priority. Without it the calls that a handler makes with its context, or one made
// from it, have that of the handler's own call, and others have PriorityDefault. A server takes a critical call for one of PriorityDefault
// if its caller has no right to critical ones; see Overload.
func WithPriority(ctx context.Context, p Priority) context.Context {
	m, _ := ctx.Value(outgoingKey{}).(Metadata)
	if key, _, rest := wire.FirstPair(m.pairs); key == priorityKey {
		m.pairs, m.count = rest, m.count-1
	}
	return context.WithValue(ctx, outgoingKey{}, m.reserved(priorityKey, p.String()))
}

// PriorityFrom returns the priority of the calls that are made with ctx: in a handler that of
// its own call, as the server has granted it, unless WithPriority has set another.
func PriorityFrom(ctx context.Context) Priority {
	m, _ := ctx.Value(outgoingKey{}).(Metadata)
	if key, value, _ := wire.FirstPair(m.pairs); key == priorityKey {
		return parsePriority(value)
	}
	return inherited(ctx)
}

// outgoing is the metadata of the calls that are made with ctx.
func outgoingMetadata(ctx context.Context) Metadata {
	m, p := Metadata{}, PriorityDefault
	switch v := ctx.Value(outgoingKey{}).(type) {
	case Metadata:
		m, p = v, inherited(ctx)
	case *session.Context: // in whose handler no metadata was added
		p = grantedPriority(v)
	}
	if p != PriorityDefault {
		if key, _, _ := wire.FirstPair(m.pairs); key != priorityKey {
			if told := m.reserved(priorityKey, p.String()); told.wrong == "" {
				return told // without room for it the call is made without
			}
		}
	}
	return m
}

// inherited is the priority of the call in whose handler ctx is used.
func inherited(ctx context.Context) Priority {
	if c := session.FromContext(ctx); c != nil {
		return grantedPriority(c)
	}
	return PriorityDefault
}

// grantedPriority is the priority of a call that has come in.
func grantedPriority(c *session.Context) Priority {
	p := PriorityDefault
	for rest := c.Meta(); rest != ""; {
		var key, value string
		if key, value, rest = wire.NextPair(rest); key == priorityKey {
			p = parsePriority(value)
			break
		}
	}
	if p == PriorityCritical {
		if from := peerOf(c); from == nil || !from.critical {
			return PriorityDefault
		}
	}
	return p
}

// parsePriority reads a priority; one that is not known is PriorityDefault.
func parsePriority(s string) Priority {
	switch s {
	case "critical":
		return PriorityCritical
	case "sheddable":
		return PrioritySheddable
	}
	return PriorityDefault
}
