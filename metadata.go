package weft

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Metadata is a list of key and value pairs that travels beside a call. It cannot be changed, so any number of goroutines may share it. A
// key may occur more than once; keys are compared byte by byte and are lower-case by convention. Values may be any bytes. The zero value is
// empty.
//
// A key has 1 to 255 bytes and must not begin with "weft-"; a block has at most 64 pairs and 64 KiB. A call with other metadata fails with
// InvalidArgument, one with more than the Limits.MaxMetadata of the peer, 16 KiB by default, with ResourceExhausted.
type Metadata struct {
	pairs string // as they travel
	count int
	wrong string // what is wrong with it
}

// authorization is the key that carries a caller's credential.
const authorization = "authorization"

// NewMetadata makes metadata of keys and values in turn.
func NewMetadata(pairs ...string) Metadata { return Metadata{}.With(pairs...) }

// With returns the metadata with further pairs, keys and values in turn.
func (m Metadata) With(pairs ...string) Metadata {
	if len(pairs)%2 != 0 {
		m.wrong = fmt.Sprintf("metadata key %q has no value", pairs[len(pairs)-1])
		return m
	}
	b := []byte(m.pairs)
	for i := 0; i < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		switch {
		case key == "" || len(key) > wire.MaxMetaKey:
			m.wrong = fmt.Sprintf("metadata key of %d bytes, want 1 to %d", len(key), wire.MaxMetaKey)
			return m
		case strings.HasPrefix(key, reservedPrefix):
			m.wrong = fmt.Sprintf("metadata key %q: keys that begin with \"weft-\" are reserved", key)
			return m
		case len(b)+len(key)+len(value)+3 > wire.MaxMetaBlock:
			m.wrong = fmt.Sprintf("metadata has more than %d bytes", wire.MaxMetaBlock)
			return m
		case m.count == wire.MaxMetaPairs:
			m.wrong = fmt.Sprintf("metadata has more than %d pairs", wire.MaxMetaPairs)
			return m
		}
		b = wire.AppendPair(b, key, value)
		m.count++
	}
	m.pairs = string(b)
	return m
}

// before returns the metadata with a pair in front, where Get finds it first.
func (m Metadata) before(key, value string) Metadata {
	if m.wrong != "" {
		return m
	}
	return m.behind(Metadata{count: m.count}.With(key, value))
}

// reserved returns the metadata with a pair in front whose key applications cannot use.
func (m Metadata) reserved(key, value string) Metadata {
	first := Metadata{pairs: string(wire.AppendPair(nil, key, value)), count: m.count + 1}
	switch {
	case m.wrong != "":
		return m
	case m.count == wire.MaxMetaPairs:
		first.wrong = fmt.Sprintf("metadata has more than %d pairs", wire.MaxMetaPairs)
	}
	return m.behind(first)
}

// behind puts the metadata behind other one.
func (m Metadata) behind(first Metadata) Metadata {
	switch {
	case first.wrong != "":
	case len(first.pairs)+len(m.pairs) > wire.MaxMetaBlock:
		first.wrong = fmt.Sprintf("metadata has more than %d bytes", wire.MaxMetaBlock)
	default:
		first.pairs += m.pairs
	}
	return first
}

// metadataOf wraps the inside of a block that has come in and has been checked. Pairs with reserved keys, which nothing here knows, are
// dropped.
func metadataOf(pairs string) Metadata {
	m := Metadata{pairs: pairs}
	reserved := false
	for k := range m.All() {
		m.count++
		reserved = reserved || strings.HasPrefix(k, reservedPrefix)
	}
	if !reserved {
		return m
	}
	clean := Metadata{}
	for k, v := range m.All() {
		if !strings.HasPrefix(k, reservedPrefix) {
			clean = clean.With(k, v)
		}
	}
	return clean
}

// reservedPrefix begins the keys that applications cannot use.
const reservedPrefix = "weft-"

// All yields every pair, in order.
func (m Metadata) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := m.pairs; rest != ""; {
			var key, value string
			if key, value, rest = wire.NextPair(rest); !yield(key, value) {
				return
			}
		}
	}
}

// Get returns the first value of a key, "" if there is none.
func (m Metadata) Get(key string) string {
	for k, v := range m.All() {
		if k == key {
			return v
		}
	}
	return ""
}

// Values returns all values of a key, in order.
func (m Metadata) Values(key string) []string {
	var values []string
	for k, v := range m.All() {
		if k == key {
			values = append(values, v)
		}
	}
	return values
}

// Len is the number of pairs.
func (m Metadata) Len() int { return m.count }

// String shows the pairs; what an authorization says is left out.
func (m Metadata) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for k, v := range m.All() {
		if b.Len() > 1 {
			b.WriteByte(' ')
		}
		if strings.EqualFold(k, authorization) {
			v = "(hidden)"
		}
		fmt.Fprintf(&b, "%s=%q", k, v)
	}
	b.WriteByte('}')
	return b.String()
}

// Format is String for every verb of package fmt, so that none shows more.
func (m Metadata) Format(f fmt.State, _ rune) { fmt.Fprint(f, m.String()) }

type outgoingKey struct{ session.OrContext }

// WithMetadata returns a context whose calls carry these pairs, keys and values in turn, behind those that ctx has already. Metadata that
// came in with a call is not passed on by itself.
func WithMetadata(ctx context.Context, pairs ...string) context.Context {
	m, _ := ctx.Value(outgoingKey{}).(Metadata)
	return context.WithValue(ctx, outgoingKey{}, m.With(pairs...))
}

// MetadataFrom returns, in a handler, what the caller sent.
func MetadataFrom(ctx context.Context) Metadata {
	if c := session.FromContext(ctx); c != nil {
		return metadataOf(c.Meta())
	}
	return Metadata{}
}

// SetReplyMetadata adds pairs, keys and values in turn, to what a handler sends back with its reply or its error. It must be called from
// the handler's goroutine before the handler returns. The error says what is wrong with the pairs, or that ctx is not that of a handler.
func SetReplyMetadata(ctx context.Context, pairs ...string) error {
	c := session.FromContext(ctx)
	if c == nil {
		return Errorf(FailedPrecondition, "reply metadata can only be set with the context of a handler")
	}
	m := metadataOf(c.ReplyMeta()).With(pairs...)
	if m.wrong != "" {
		return Errorf(InvalidArgument, "%s", m.wrong)
	}
	limit, setting := DefaultMaxMetadata, ""
	if c.Session != nil {
		limit, setting = int(c.Session.Peer().MaxMetadata), " (its Limits.MaxMetadata)"
	}
	if len(m.pairs) > limit {
		return Errorf(ResourceExhausted, "reply metadata has %d bytes, the caller takes %d%s", len(m.pairs), limit, setting).WithReason(ReasonMetadataTooLarge)
	}
	c.SetReplyMeta(m.pairs)
	return nil
}

// OutgoingMetadata returns what WithMetadata has put into a context.
func OutgoingMetadata(ctx context.Context) Metadata {
	m, _ := ctx.Value(outgoingKey{}).(Metadata)
	return m
}
