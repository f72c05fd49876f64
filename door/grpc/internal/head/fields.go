// Package head encodes the header fields that begin the requests of a gRPC client.
package head

import (
	"strings"
	"time"

	"github.com/weftrpc/weft/door/grpc/internal/number"
	"github.com/weftrpc/weft/door/internal/hpack"
)

// maxNames is how many methods and codecs have a place in the table of a connection's fields.
const maxNames = 256

// Config is what all requests of a connection have in common.
type Config struct {
	Secure    bool
	Authority string
	// Accepts and Encoding name the compressors of replies, and that of the requests; "": none.
	Accepts, Encoding string
	// ContentType returns the content type of messages in a codec.
	ContentType func(codec string) string
}

// Fields encodes the fields of the requests of a connection. It is used under the lock of what is written to it.
type Fields struct {
	enc      *hpack.Encoder
	scheme   byte
	encoding string
	typeOf   func(codec string) string

	authority, te, agent, accept, timeout hpack.Known

	paths map[string]*hpack.Known // by the name of the method
	types map[string]*hpack.Known // by the name of the codec
	last  last
}

// last is what follows from method and codec, as it was encoded for the newest request.
type last struct {
	method []byte // a copy: the caller's may be in memory that is used again
	codec  string
	epoch  int
	block  []byte // nil: there is none
}

// New returns the fields of a connection that encodes by enc.
func New(enc *hpack.Encoder, cfg Config) *Fields {
	f := &Fields{
		enc: enc, scheme: hpack.StaticHTTP, encoding: cfg.Encoding, typeOf: cfg.ContentType,
		authority: hpack.Known{Name: ":authority", Value: cfg.Authority}, te: hpack.Known{Name: "te", Value: "trailers"},
		agent: hpack.Known{Name: "user-agent", Value: "weft-go"}, accept: hpack.Known{Name: "grpc-accept-encoding", Value: cfg.Accepts},
		timeout: hpack.Known{Name: "grpc-timeout"}, paths: make(map[string]*hpack.Known), types: make(map[string]*hpack.Known),
	}
	if cfg.Secure {
		f.scheme = hpack.StaticHTTPS
	}
	return f
}

// Append appends the fields of a request that follow from its method and its codec, and its timeout; 0: it has none.
func (f *Fields) Append(b []byte, method, codec string, timeout time.Duration) []byte {
	b = f.appendNamed(b, method, codec)
	if timeout > 0 {
		var digits [16]byte
		b = f.enc.Named(b, &f.timeout, number.AppendTimeout(digits[:0], timeout))
	}
	return b
}

func (f *Fields) appendNamed(b []byte, method, codec string) []byte {
	e, l := f.enc, &f.last
	epoch := e.Epoch()
	if l.block != nil && l.epoch == epoch && string(l.method) == method && l.codec == codec {
		return append(b, l.block...)
	}
	at := len(b)
	b = e.Static(b, hpack.StaticPOST)
	b = e.Static(b, f.scheme)
	b = f.appendKnown(b, f.paths, ":path", method, pathOf)
	b = e.Known(b, &f.authority)
	b = f.appendKnown(b, f.types, "content-type", codec, f.typeOf)
	b = e.Known(b, &f.te)
	b = e.Known(b, &f.agent)
	if f.accept.Value != "" {
		b = e.Known(b, &f.accept)
	}
	if f.encoding != "" {
		b = e.Literal(b, "grpc-encoding", f.encoding)
	}
	if e.Epoch() == epoch { // else they name entries of the table that are new
		*l = last{append(l.method[:0], method...), codec, epoch, append(l.block[:0], b[at:]...)}
	}
	return b
}

// appendKnown appends a field whose value follows from a name, by its place in the table of a connection's fields if there are few of them.
func (f *Fields) appendKnown(b []byte, all map[string]*hpack.Known, field, name string, value func(string) string) []byte {
	k := all[name]
	if k == nil {
		if len(all) >= maxNames {
			return f.enc.Literal(b, field, value(name))
		}
		k = &hpack.Known{Name: field, Value: value(name)}
		all[strings.Clone(name)] = k
	}
	return f.enc.Known(b, k)
}

// pathOf is the path of a method.
func pathOf(method string) string {
	i := strings.LastIndexByte(method, '.')
	return "/" + method[:max(i, 0)] + "/" + method[i+1:]
}
