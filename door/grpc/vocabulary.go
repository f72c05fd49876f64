package grpc

import (
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/number"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
	"github.com/weftrpc/weft/door/internal/hpack"
)

// The kinds of header fields that gRPC has.
const (
	kindContentType = hpack.First + iota
	kindTimeout
	kindEncoding
	kindAcceptEncoding
	kindStatus
	kindMessage
	kindDetails
	kindAttempts
	kindPriority
	kindPushback
	kindOutcome
	kindIgnored
)

// The names that both ends use.
const (
	contentType     = "content-type"
	base            = "application/grpc"
	timeoutName     = "grpc-timeout"
	encodingName    = "grpc-encoding"
	acceptName      = "grpc-accept-encoding"
	statusName      = "grpc-status"
	messageName     = "grpc-message"
	detailsName     = "grpc-status-details-bin"
	attemptsName    = "grpc-previous-rpc-attempts"
	priorityName    = "weft-priority"
	pushbackName    = "grpc-retry-pushback-ms"
	outcomeName     = "weft-outcome" // whether a call that failed has run
	outcomeRefused  = "refused"
	outcomeExecuted = "executed"
)

// vocabulary knows the header fields of gRPC.
type vocabulary struct {
	// routes finds what a path leads to; nil on a client.
	routes *routes.Routes
	// keep has the values of fields kept for Config.Other.
	keep bool
}

// Name implements hpack.Vocabulary.
func (v vocabulary) Name(name []byte) hpack.Kind {
	switch string(name) {
	case contentType:
		return kindContentType
	case timeoutName:
		return kindTimeout
	case encodingName:
		return kindEncoding
	case acceptName:
		return kindAcceptEncoding
	case statusName:
		return kindStatus
	case messageName:
		return kindMessage
	case detailsName:
		return kindDetails
	case attemptsName:
		return kindAttempts
	case priorityName:
		return kindPriority
	case pushbackName:
		return kindPushback
	case outcomeName:
		return kindOutcome
	case "user-agent", "accept-encoding", "grpc-message-type", "date", "server", "host":
		if !v.keep {
			return kindIgnored
		}
	}
	if !v.keep && strings.HasPrefix(string(name), reservedPrefix) {
		return kindIgnored
	}
	return hpack.Other
}

// reservedPrefix begins the keys of metadata that are weft's own.
const reservedPrefix = "weft-"

// methodHEAD is the number of the method HEAD, whose answers have no body; others have none.
const methodHEAD = 1

// Look implements hpack.Vocabulary.
func (v vocabulary) Look(f *hpack.Field, value []byte) {
	if v.keep && f.Kind != hpack.Path && f.Kind != kindTimeout {
		f.Data = text(value)
	}
	switch f.Kind {
	case hpack.Method:
		f.OK = string(value) == "POST"
		if string(value) == "HEAD" {
			f.Num = methodHEAD
		}
	case hpack.Path:
		if f.OK = len(value) > 0; v.routes != nil {
			f.Data = v.routes.Find(string(value))
		} else if v.keep { // in the table that all connections share
			f.Data = &routes.Place{Route: &routes.Route{Path: string(value), Name: routes.MethodOf(string(value))}}
		}
	case hpack.Status, kindStatus, kindAttempts:
		f.Num, f.OK = number.Decimal(value)
	case kindContentType:
		f.Value, f.OK = codecOf(value)
	case kindPriority:
		var p weft.Priority
		f.OK = p.UnmarshalText(value) == nil
		f.Num = uint64(p)
	case kindTimeout:
		var t time.Duration
		t, f.OK = number.Timeout(value)
		f.Num = uint64(t)
	case kindEncoding, kindAcceptEncoding, kindMessage, kindDetails, kindPushback, kindOutcome:
		f.Value, f.OK = string(value), true
	}
}

// codecOf is the name of the codec that a content type stands for.
func codecOf(v []byte) (name string, ok bool) {
	rest, ok := strings.CutPrefix(string(v), base)
	if !ok {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, ";")
	switch rest = strings.TrimSpace(rest); {
	case rest == "" || rest == "+proto":
		return protobufName, true
	case rest[0] == '+' && len(rest) > 1:
		return rest[1:], true
	}
	return "", false
}

// protobufName is the name of weft's codec for what gRPC calls proto.
const protobufName = "protobuf"

// typeOf is the content type of messages in a codec.
func typeOf(codec string) string {
	if codec == protobufName {
		return base
	}
	return base + "+" + codec
}
