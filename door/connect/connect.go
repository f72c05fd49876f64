// Package connect is the Connect protocol, gRPC-Web and gRPC on one port, over HTTP/1.1 and
// HTTP/2, and a wire with which a weft client calls servers of Connect.
//
//	srv := weft.NewServer(&weft.ServerConfig{
//		Doors: connect.Doors(&connect.Config{Origins: []string{"https://app.example.com"}}),
//	})
//
// Requests of gRPC are served by package door/grpc on the same connections. With Config.HTTP,
// requests of none of the three protocols are served by package door/http.
//
// # Names
//
// The method "pkg.Service.Method" of weft has the path "/pkg.Service/Method", and the one that
// grpc.Path gives it.
//
// # Messages
//
// application/proto and application/json, application/connect+proto and +json, application/grpc-web,
// +proto and +json, and application/grpc-web-text are served; every other codec of the server has its
// name in the place of proto. A unary method that is registered with weft.Idempotent is called by GET too.
//
// # Errors
//
// The codes are those of Connect and gRPC, which are weft's, and so are the details. Outcome and reason travel
// as weft-outcome and weft-reason: in the header of a unary answer of Connect, in the metadata of the end of
// a stream, in the trailers of gRPC-Web.
package connect

import (
	nethttp "net/http"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/http"
)

// DefaultBodyTimeout is the default of Config.BodyTimeout.
const DefaultBodyTimeout = 30 * time.Second

// Config configures doors. The zero value, and a nil pointer to one, give safe defaults. Doors
// copies it.
type Config struct {
	// Origins are the origins of pages whose scripts may call methods (CORS): exact ones, as
	// "https://app.example.com", those of a domain, as "https://*.example.com", or "*" for all. nil:
	// no page of another origin may.
	Origins []string
	// Hosts are the names by which clients call the server, as in http.Config; those of HTTP are added.
	Hosts []string
	// Prefix is the path below which the methods are for Connect and gRPC-Web, for example "/api"; "":
	// they begin at "/".
	Prefix string
	// Leading reports whether metadata of a reply under a key travels in the header, and otherwise
	// in the trailers. nil: what is set before the first message, or before the end of a unary
	// method, is in the header.
	Leading func(key string) bool
	// Compressors are what messages may be compressed with, under their names; the first one that
	// a client accepts is used for replies of Limits.CompressAbove bytes or more. nil: gzip.
	Compressors []compress.Compressor
	// StrictFields refuses JSON requests with fields that the type of the request does not have.
	StrictFields bool
	// RequireVersion refuses requests of Connect without the header Connect-Protocol-Version, or the
	// parameter connect=v1 of a GET.
	RequireVersion bool
	// BodyTimeout is the time for the request of a unary method to come in, and for the body of a request that is answered
	// before it is read; where HTTP is set, HTTP.BodyTimeout bounds the latter. 0: DefaultBodyTimeout.
	BodyTimeout time.Duration
	// HTTP has package door/http serve the requests that are of none of the protocols: those for its
	// routes, JSON without the header Connect-Protocol-Version, and its Handler. Its Origins are its own. nil: they are
	// answered with 404 and 415.
	HTTP *http.Config
	// GRPC configures gRPC. nil: the defaults, with Leading.
	GRPC *grpc.Config
}

// complete is the configuration with its defaults.
func (c *Config) complete() Config {
	var out Config
	if c != nil {
		out = *c
	}
	if out.Compressors == nil {
		out.Compressors = []compress.Compressor{gzip.New()}
	}
	if out.BodyTimeout <= 0 {
		out.BodyTimeout = DefaultBodyTimeout
	}
	return out
}

// Headers and parameters of Connect.
const (
	headerVersion     = "Connect-Protocol-Version"
	headerTimeout     = "Connect-Timeout-Ms"
	headerEncoding    = "Connect-Content-Encoding"
	headerAccept      = "Connect-Accept-Encoding"
	headerGRPCTimeout = "Grpc-Timeout"
	headerGRPCEnc     = "Grpc-Encoding"
	headerGRPCAccept  = "Grpc-Accept-Encoding"
	headerPriority    = "Weft-Priority"
	headerAttempts    = "Grpc-Previous-Rpc-Attempts"
	headerOutcome     = "weft-outcome" // of an error: refused or executed
	headerReason      = "weft-reason"  // of an error
	trailerPrefix     = "Trailer-"
	version           = "1"
)

// refusal is the error of a request that does not become a call.
func refusal(code weft.Code, reason, format string, args ...any) *weft.Error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.Refused
	return e
}

func set(h nethttp.Header, key, value string) { h[key] = []string{value} }
