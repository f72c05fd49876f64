package grpc

import (
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/number"
	"github.com/weftrpc/weft/door/grpc/internal/percent"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
)

// Other handles the requests on a connection of HTTP/2 that are none of gRPC: Config.Other makes one. Package door/connect has one.
type Other interface {
	// Open begins a request. The fields are those of its header, names and values in turn, the pseudo-header fields among them, valid until Open
	// returns. end says that there is no body. The goroutine that reads the connection calls it.
	Open(conn *http2.Conn, st *http2.Stream, fields []string, end bool) Request
}

// Request is a request that is none of gRPC.
type Request interface {
	// Data gets a piece of the body, valid until it returns; see http2.Handler.
	Data(p []byte, end bool)
	// Closed tells that the client has left the request, or the connection has ended.
	Closed()
}

// PathOf is the path that the option Path has given a method; "": none.
func PathOf(m weft.MethodInfo) string { return m.Annotations[routes.PathKey] }

// Trailers are the fields, names and values in turn, that end a call; e is nil if it went well.
func Trailers(e *weft.Error) []string {
	if e == nil {
		return []string{statusName, "0"}
	}
	all := []string{statusName, strconv.FormatUint(uint64(e.Code), 10), messageName, percent.EncodeMost(e.Message, maxMessage)}
	if d := detailsOf(e); d != "" {
		all = append(all, detailsName, d)
	}
	if ms, ok := pushback(e); ok {
		all = append(all, pushbackName, ms)
	}
	if o := OutcomeName(e.Outcome); o != "" {
		all = append(all, outcomeName, o)
	}
	return all
}

// OutcomeName is how the outcome of a call travels; "": it does not.
func OutcomeName(o weft.Outcome) string {
	switch o {
	case weft.Refused, weft.NotSent:
		return outcomeRefused
	case weft.Executed:
		return outcomeExecuted
	}
	return ""
}

// AddDetail adds a detail that has come to an error, unless it has all it may have. A google.rpc.ErrorInfo gives the error its reason.
func AddDetail(e *weft.Error, d weft.Detail) {
	if len(e.Details) < maxDetails {
		addKnownDetail(e, d)
	}
}

// Timeout reads a grpc-timeout.
func Timeout(text string) (time.Duration, bool) { return number.Timeout([]byte(text)) }

// text is the value of a field that a vocabulary with keep adds to what the field means.
type text string

// keepField notes a field as Other gets it.
func (r *request) keepField(f *hpack.Field) {
	name, value := f.Name, f.Value
	switch f.Kind {
	case hpack.Other:
	case hpack.Path:
		name = ":path"
		if to, ok := f.Data.(*routes.Place); ok {
			value = to.Path
		}
	case hpack.ContentLength:
		name, value = "content-length", strconv.FormatUint(f.Num, 10)
	case kindTimeout:
		// It is not kept as a text: most calls of gRPC have another one.
		if name, value = timeoutName, "-"; f.OK {
			value = string(number.AppendTimeout(nil, time.Duration(min(f.Num, uint64(longest)))))
		}
	default:
		t, ok := f.Data.(text)
		if !ok {
			return
		}
		name, value = kindName(f.Kind), string(t)
	}
	r.fields = append(r.fields, name, value)
}

// kindName is the name of the fields of a kind whose values are kept.
func kindName(k hpack.Kind) string {
	switch k {
	case hpack.Method:
		return ":method"
	case hpack.Scheme:
		return ":scheme"
	case hpack.Authority:
		return ":authority"
	case kindContentType:
		return contentType
	case kindEncoding:
		return encodingName
	case kindAcceptEncoding:
		return acceptName
	case kindAttempts:
		return attemptsName
	case kindPriority:
		return priorityName
	}
	return "x-other"
}

// ignored reports whether a field that a vocabulary with keep does not tell from metadata is none.
func ignored(name string) bool {
	return strings.HasPrefix(name, reservedPrefix) || vocabulary{}.Name([]byte(name)) == kindIgnored
}

// pass has another handler answer a request that is none of gRPC.
func (s *serverConn) pass(x *call, end bool) {
	x.other = s.other.Open(s.conn, &x.st, s.req.fields, end)
	if !x.state.CompareAndSwap(waiting, running) {
		x.other.Closed()
	}
}
