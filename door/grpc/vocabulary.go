package grpc

import (
	"math"
	"strings"
	"time"

	"github.com/weftrpc/weft"
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
	// resolve finds what a path leads to; nil on a client.
	resolve func(path []byte) any
}

// Name implements hpack.Vocabulary.
func (vocabulary) Name(name []byte) hpack.Kind {
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
		return kindIgnored
	}
	if strings.HasPrefix(string(name), reservedPrefix) {
		return kindIgnored
	}
	return hpack.Other
}

// reservedPrefix begins the keys of metadata that are weft's own.
const reservedPrefix = "weft-"

// Look implements hpack.Vocabulary.
func (v vocabulary) Look(f *hpack.Field, value []byte) {
	switch f.Kind {
	case hpack.Method:
		f.OK = string(value) == "POST"
	case hpack.Path:
		if f.OK = len(value) > 0; v.resolve != nil {
			f.Data = v.resolve(value)
		}
	case hpack.Status, kindStatus, kindAttempts:
		f.Num, f.OK = decimal(value)
	case kindContentType:
		f.Value, f.OK = codecOf(value)
	case kindPriority:
		var p weft.Priority
		f.OK = p.UnmarshalText(value) == nil
		f.Num = uint64(p)
	case kindTimeout:
		var t time.Duration
		t, f.OK = timeoutOf(value)
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

func decimal(v []byte) (n uint64, ok bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}

// timeoutOf reads the value of grpc-timeout.
func timeoutOf(v []byte) (time.Duration, bool) {
	if len(v) < 2 || len(v) > 9 {
		return 0, false
	}
	n, ok := decimal(v[:len(v)-1])
	if !ok {
		return 0, false
	}
	var unit time.Duration
	switch v[len(v)-1] {
	case 'n':
		unit = time.Nanosecond
	case 'u':
		unit = time.Microsecond
	case 'm':
		unit = time.Millisecond
	case 'S':
		unit = time.Second
	case 'M':
		unit = time.Minute
	case 'H':
		unit = time.Hour
	default:
		return 0, false
	}
	if n > uint64(math.MaxInt64)/uint64(unit) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * unit, true
}

// appendTimeout appends a value of grpc-timeout, which has at most eight digits. It is
// rounded up, so that a server does not end a call before its client.
func appendTimeout(b []byte, d time.Duration) []byte {
	const most = 99999999
	d = max(d, 1)
	for _, u := range []struct {
		unit   time.Duration
		letter byte
	}{{time.Nanosecond, 'n'}, {time.Microsecond, 'u'}, {time.Millisecond, 'm'}, {time.Second, 'S'}, {time.Minute, 'M'}} {
		if n := (d-1)/u.unit + 1; n <= most {
			return append(appendDecimal(b, uint64(n)), u.letter)
		}
	}
	return append(appendDecimal(b, uint64(min((d-1)/time.Hour+1, most))), 'H')
}
