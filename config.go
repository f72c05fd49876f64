package weft

import (
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// defaultTransports are what addresses can name without configuration.
var defaultTransports = []transport.Transport{tcp.New(nil), unix.New(nil)}

// The defaults of the limits. A limit that the peer is told of is told when the connection is made.
const (
	DefaultTimeout            = 10 * time.Second       // of a unary call
	DefaultMaxMessage         = 4 << 20                // bytes of one message, decompressed
	DefaultMaxMetadata        = 16 << 10               // bytes of the metadata of one call
	DefaultMaxCalls           = 16384                  // calls open on a connection
	DefaultMaxCallBytes       = 64 << 20               // bytes of the requests in flight on a connection
	DefaultMaxStreamBytes     = 128 << 20              // bytes of messages of streams that were not received yet, on a connection
	DefaultMaxOrdered         = 1024                   // one-way calls of one order that wait on a connection
	DefaultMaxBindings        = 1024                   // methods, times codecs, used on a connection
	DefaultStreamWindow       = 256 << 10              // bytes sent ahead on a stream
	DefaultWriteBuffer        = 4 << 20                // bytes waiting to be written before callers wait
	DefaultWriteTimeout       = 10 * time.Second       // for a write that makes no progress
	DefaultPingInterval       = 2 * time.Second        // silence before a ping while calls are open
	DefaultPingIdle           = 30 * time.Second       // silence before a ping while none is
	DefaultPingTimeout        = 3 * time.Second        // for the answer to a ping
	DefaultHandshakeTimeout   = 5 * time.Second        // for TLS and the two hellos, each
	DefaultDrainTimeout       = 30 * time.Second       // for the calls in flight at a shutdown
	DefaultCompressAbove      = 1 << 10                // bytes below which a body is not compressed
	DefaultMaxPending         = 1024                   // connections of a server that have not said hello
	DefaultBackoff            = 100 * time.Millisecond // before the second attempt to connect; grows 1.6 times each
	DefaultMaxBackoff         = 30 * time.Second       // the longest time between two attempts
	DefaultLoadReportInterval = 30 * time.Second       // between two reports of a server's load to its registry
)

// Limits bound what the peer of a connection can make this process hold, and how long the peer may be silent. A zero field means its
// default, given beside it in the constants; a negative one is an error.
type Limits struct {
	MaxMessage       int           // bytes of one message's body after decompression; at most 1 GiB
	MaxMetadata      int           // bytes of one call's metadata; at most 65,535
	MaxCalls         int           // calls that the peer may have open; at most 65,536
	MaxCallBytes     int           // bytes of the requests of these calls; more are refused
	MaxStreamBytes   int           // bytes of messages of all streams that were not received yet; a stream beyond ends, and senders over HTTP/2 wait
	MaxOrdered       int           // one-way calls with one key of WithOrder that wait; more are refused
	MaxBindings      int           // methods, times codecs, that the peer may use at once; at most 65,536, and 16 are always allowed
	StreamWindow     int           // bytes the peer may send ahead on each stream; at most 1 GiB
	WriteBuffer      int           // bytes that may wait to be written before callers wait
	WriteTimeout     time.Duration // a write without progress for so long ends the connection
	PingInterval     time.Duration // silence after which the peer is sent a ping, while calls are open
	PingIdle         time.Duration // the same while none is
	PingTimeout      time.Duration // silence after that ends the connection
	HandshakeTimeout time.Duration // for TLS and for the hellos of a new connection, each; on a server half of it for the first byte
	CompressAbove    int           // bodies with fewer bytes are sent as they are
}

// ServerConfig configures a Server. The zero value, and a nil pointer to one,
// give safe defaults. A server copies it; changes made later have no effect.
type ServerConfig struct {
	// Transports are what ListenAndServe's addresses can name; nil: tcp and unix.
	Transports []transport.Transport
	// TLS makes every connection a TLS one, on every transport; nil: plaintext. Without protocols of its own it gets "weft/1" and those of
	// Doors. To reload certificates use its callbacks; package transport/tls has them ready.
	TLS *tls.Config

	// Codecs are what callers may use; nil: protobuf, msgpack, json, raw and gencode.
	Codecs []codec.Codec
	// Compressors are what callers may use and replies to them may use; nil: none.
	Compressors []compress.Compressor
	// Compressor compresses replies to callers that can undo it; nil: none does.
	Compressor compress.Compressor
	// Checksum asks for a checksum behind every frame; it is used when the peer asks for it too.
	Checksum bool

	// Authenticate accepts or refuses every call, before its body is decoded, by the credential in its metadata. An error refuses the call, as
	// Unauthenticated if it has no code; its text goes to the caller as it is: log a cause that strangers must not see. The principal that it
	// returns is the one that PrincipalFrom gives the handler. nil: every call is accepted. It may be called concurrently.
	Authenticate func(ctx context.Context, cred Credential, info *CallInfo) (principal any, err error)
	// AuthenticateConn accepts or refuses every connection by the credential in its hello. The principal it returns is that of the
	// connection's calls for which Authenticate gives none. The text of an error goes to the caller, as that of Authenticate does; on weft's own
	// wire its Reason does not. ctx ends after Limits.HandshakeTimeout. nil: every connection is accepted.
	AuthenticateConn func(ctx context.Context, cred Credential, peer *Peer) (principal any, err error)

	// Interceptors run around every unary call, the first outermost.
	Interceptors []UnaryInterceptor
	// StreamInterceptors run around every streaming call, the first outermost.
	StreamInterceptors []StreamInterceptor
	// Hooks are values that implement one or more of the hook interfaces, such as ConnOpenedHook. A value that implements none is an error.
	Hooks []any

	// Plugins are rules around calls, each one value; they run before Interceptors, StreamInterceptors and Hooks, in the order of the list.
	Plugins []Plugin
	// Doors are the foreign wires that are served on the server's listeners, beside weft's own. The first one that recognizes a connection gets it.
	Doors []Door
	// Timeout is that of a unary call without a deadline that comes through a door, and
	// of the calls that the server makes to its clients. 0: DefaultTimeout; below zero: none.
	Timeout time.Duration

	// Registry is where the services are registered for clients, from when the server serves its first listener until it shuts down; nil:
	// nowhere. Package registry and those below it have them.
	Registry Registry
	// Instance is what is published of each service: weight, group, version, zone and so on, but no Service. Without an Address it is that
	// of the first listener; one that listens everywhere is published with an address of this machine. Without an ID it is the address.
	// Server.SetInstance changes it while the server runs.
	Instance Instance
	// Instances are published of the services of these names, in place of Instance. Without an Address or ID they have those of Instance.
	Instances map[string]Instance
	// LoadReportInterval is how often the load is published with the instance, if it has
	// changed by more than a quarter. 0: DefaultLoadReportInterval; below zero: never.
	LoadReportInterval time.Duration

	// Limits bound what a client can make the server hold.
	Limits Limits
	// Overload is the protection against more calls than the server can answer in time. It is on unless it says otherwise.
	Overload Overload
	// MaxPending is how many connections may be in their handshake; beyond it one that makes no progress is ended for each new one, first
	// those of an address that has many. 0: DefaultMaxPending.
	MaxPending int
	// MaxConns is how many connections may be open; more are refused. 0: no limit.
	MaxConns int
	// MaxMemory is how much memory requests, unread messages and unwritten replies may take for all connections, in bytes, beyond 64 KiB of
	// each. Then new calls are refused with ReasonTooManyBytes, and an eighth beyond it the connection ends for which most is held. A
	// message longer than a quarter of that eighth can end its connection without a refusal before, for its buffer has room for more, so the
	// bound should be many times Limits.MaxMessage.
	// 0: half of what the machine, the control group or GOMEMLIMIT allows; below zero: no bound.
	MaxMemory int64
	// DrainTimeout is how long ListenAndServe lets calls in flight go on after its context has ended. 0: DefaultDrainTimeout.
	DrainTimeout time.Duration

	// Logger gets what an operator should know: panics, refused connections, lost ones. nil: warnings and errors go to slog.Default().
	// slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// ClientConfig configures a Client. The zero value, and a nil pointer to one, give
// safe defaults. A client copies it; changes made later have no effect.
type ClientConfig struct {
	// Transports are what the address can name; nil: tcp and unix.
	Transports []transport.Transport
	// TLS makes the connection a TLS one; nil: plaintext. Without a ServerName it is
	// taken from the address, without protocols it gets "weft/1", or those of the wire in Wires.
	TLS *tls.Config
	// TLSFunc returns the TLS configuration for the next connection, for certificates that change; it goes before TLS.
	TLSFunc func() *tls.Config

	// Lazy makes Dial return without a connection; it is made for the first call.
	Lazy bool
	// NoWaitForReady makes a call fail at once while there is no connection and the last
	// attempt to make one failed; otherwise it waits until its deadline.
	NoWaitForReady bool
	// MaxConns is how many connections are used when many calls are open: one, until about 256 calls are. 0: 2.
	MaxConns int
	// Timeout is that of a unary call whose context has no deadline. 0: DefaultTimeout; below zero: none.
	Timeout time.Duration

	// Codec is that of calls which name none; nil: protobuf for protobuf messages and structs with numbers, msgpack for everything else.
	Codec codec.Codec
	// Codecs are those of calls that the server makes to this client; nil: as in a server's.
	Codecs []codec.Codec
	// Compressor compresses requests, where the server can undo it; nil: none does.
	Compressor compress.Compressor
	// Compressors are what replies may be compressed with; nil: Compressor alone.
	Compressors []compress.Compressor
	// Checksum asks for a checksum behind every frame; it is used when the peer asks for it too.
	Checksum bool

	// Name is what the client tells servers of itself, such as "billing/1.4", so that an operator sees which program has a connection: see
	// Peer.Name. It travels with the connection, before any call, and is not verified. It has at most 200 bytes, without control
	// characters. "": no name.
	Name string

	// Credential gives the credential of every call; ctx has the deadline of the call. nil: none. It may be called concurrently.
	Credential func(ctx context.Context, method string) (Credential, error)
	// ConnCredential gives the credential of every connection; nil: none.
	ConnCredential func(ctx context.Context) (Credential, error)

	// Interceptors run around every unary call, the first outermost.
	Interceptors []UnaryInterceptor
	// StreamInterceptors run around every streaming call, the first outermost.
	StreamInterceptors []ClientStreamInterceptor
	// Hooks are values that implement one or more of the hook interfaces. A value that implements none is an error.
	Hooks []any

	// Plugins are rules around calls, each one value; they run before Interceptors, StreamInterceptors and Hooks, in the order of the list.
	// Their Server and ServerStream run around the calls of Services.
	Plugins []Plugin
	// Wires are the foreign wires that an address can name by its scheme.
	Wires []Wire

	// Services are what the server may call on this client; nil: nothing.
	Services *Services

	// Limits bound what the server can make the client hold.
	Limits Limits
	// Backoff is the time before the second attempt to connect, which grows by
	// 1.6 each time, give or take a fifth, up to MaxBackoff. 0: their defaults.
	Backoff, MaxBackoff time.Duration

	// Logger gets what an operator should know: lost and refused connections. nil:
	// warnings and errors go to slog.Default(). slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// software is what a side says of itself in its hello.
const software = "weft-go/0.1"

// maxName is how many bytes a client's Name may have.
const maxName = 200

// softwareOf is what a client with a name says of itself in its hello.
func softwareOf(name string) (string, error) {
	if name == "" {
		return software, nil
	}
	control := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }
	if len(name) > maxName || strings.ContainsFunc(name, control) || strings.TrimSpace(name) != name {
		return "", Errorf(InvalidArgument, "weft: dial: ClientConfig.Name is %.*q, want at most %d bytes of text without control characters and without spaces around it",
			maxName, name, maxName)
	}
	return name + " " + software, nil
}

// drainWait is how long a side that drains waits for its peer to acknowledge that.
const drainWait = 5 * time.Second

// checkCompressors reports what is wrong with the compressors of a configuration.
func checkCompressors(all []compress.Compressor) error {
	if len(all) > wire.MaxNames {
		return Errorf(InvalidArgument, "weft: %d compressors are configured, at most %d are allowed", len(all), wire.MaxNames)
	}
	names := make(map[string]bool, len(all))
	for i, c := range all {
		if c == nil {
			return Errorf(InvalidArgument, "weft: compressor %d of the configuration is nil", i)
		}
		name := c.Name()
		if err := wire.CheckName(name); err != nil {
			return Errorf(InvalidArgument, "weft: compressor %q of type %T has a %w", name, c, err)
		}
		if names[name] {
			return Errorf(InvalidArgument, "weft: two compressors have the name %q", name)
		}
		names[name] = true
	}
	return nil
}

// notNegative reports a setting that is below zero.
func notNegative[T int | time.Duration](setting string, v T) error {
	if v < 0 {
		return Errorf(InvalidArgument, "weft: %s is %v, want 0 (its default) or more", setting, v)
	}
	return nil
}

// noneNil reports which of n values of a configuration is nil.
func noneNil(what string, n int, isNil func(i int) bool) error {
	for i := range n {
		if isNil(i) {
			return Errorf(InvalidArgument, "weft: %s %d of the configuration is nil", what, i)
		}
	}
	return nil
}

// DefaultCodecs are the codecs of a configuration that names none: protobuf, msgpack, json, raw and gencode. For one more, append it.
func DefaultCodecs() []codec.Codec {
	return []codec.Codec{protobuf.New(), msgpack.New(), json.New(), raw.New(), gencode.New()}
}

// defaultCodecNames are the names of DefaultCodecs.
func defaultCodecNames() []string { return []string{"protobuf", "msgpack", "json", "raw", "gencode"} }

// bounds on what a limit may be set to.
const (
	mostMessage  = 1 << 30
	mostMetadata = 1<<16 - 1
	mostSlots    = 1 << 16
	mostTimeout  = time.Duration(1 << 61) // twice as much can be added to a clock
)

// resolve fills in the defaults.
func (l Limits) resolve() (session.Limits, error) {
	out := session.Limits{DrainWait: drainWait}
	for _, f := range []struct {
		name        string
		set         int
		to          *int
		normal, top int
	}{
		{"MaxMessage", l.MaxMessage, &out.MaxMessage, DefaultMaxMessage, mostMessage},
		{"MaxMetadata", l.MaxMetadata, &out.MaxMetadata, DefaultMaxMetadata, mostMetadata},
		{"MaxCalls", l.MaxCalls, &out.MaxCalls, DefaultMaxCalls, mostSlots},
		{"MaxCallBytes", l.MaxCallBytes, &out.MaxCallBytes, DefaultMaxCallBytes, 0},
		{"MaxStreamBytes", l.MaxStreamBytes, &out.MaxStreamBytes, DefaultMaxStreamBytes, 0},
		{"MaxOrdered", l.MaxOrdered, &out.MaxOrdered, DefaultMaxOrdered, 0},
		{"MaxBindings", l.MaxBindings, &out.MaxBindings, DefaultMaxBindings, mostSlots},
		{"StreamWindow", l.StreamWindow, &out.StreamWindow, DefaultStreamWindow, mostMessage},
		{"WriteBuffer", l.WriteBuffer, &out.WriteBuffer, DefaultWriteBuffer, 0},
		{"CompressAbove", l.CompressAbove, &out.CompressAbove, DefaultCompressAbove, 0},
	} {
		switch {
		case f.set < 0:
			return out, Errorf(InvalidArgument, "weft: limit %s is %d, want 0 (its default) or more", f.name, f.set)
		case f.top > 0 && f.set > f.top:
			return out, Errorf(InvalidArgument, "weft: limit %s is %d, want %d at most", f.name, f.set, f.top)
		case f.set == 0:
			*f.to = f.normal
		default:
			*f.to = f.set
		}
	}
	for _, f := range []struct {
		name   string
		set    time.Duration
		to     *time.Duration
		normal time.Duration
	}{
		{"WriteTimeout", l.WriteTimeout, &out.WriteTimeout, DefaultWriteTimeout},
		{"PingInterval", l.PingInterval, &out.PingInterval, DefaultPingInterval},
		{"PingIdle", l.PingIdle, &out.PingIdle, DefaultPingIdle},
		{"PingTimeout", l.PingTimeout, &out.PingTimeout, DefaultPingTimeout},
		{"HandshakeTimeout", l.HandshakeTimeout, &out.HandshakeTimeout, DefaultHandshakeTimeout},
	} {
		if f.set < 0 {
			return out, Errorf(InvalidArgument, "weft: limit %s is %v, want 0 (its default) or more", f.name, f.set)
		}
		*f.to = min(f.set, mostTimeout)
		if f.set == 0 {
			*f.to = f.normal
		}
	}
	return out, nil
}

// limitsOf is the public form of limits with their defaults.
func limitsOf(l session.Limits) Limits {
	return Limits{
		MaxMessage: l.MaxMessage, MaxMetadata: l.MaxMetadata, MaxCalls: l.MaxCalls, MaxCallBytes: l.MaxCallBytes,
		MaxStreamBytes: l.MaxStreamBytes, MaxOrdered: l.MaxOrdered, MaxBindings: l.MaxBindings, StreamWindow: l.StreamWindow, WriteBuffer: l.WriteBuffer, WriteTimeout: l.WriteTimeout,
		PingInterval: l.PingInterval, PingIdle: l.PingIdle, PingTimeout: l.PingTimeout, HandshakeTimeout: l.HandshakeTimeout,
		CompressAbove: l.CompressAbove,
	}
}

func orDefault[T comparable](v, normal T) T {
	var zero T
	if v == zero {
		return normal
	}
	return v
}
