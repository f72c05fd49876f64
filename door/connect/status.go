package connect

import (
	"encoding/base64"
	"encoding/json"
	nethttp "net/http"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/internal/httpstatus"
)

// codeName is the name of a code in Connect.
func codeName(c weft.Code) string {
	names := [...]string{"", "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists",
		"permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented",
		"internal", "unavailable", "data_loss", "unauthenticated"}
	if c == 0 || int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// codeNamed is the code that has a name in Connect; 0: none has.
func codeNamed(name string) weft.Code {
	for c := weft.Canceled; c <= weft.Unauthenticated; c++ {
		if codeName(c) == name {
			return c
		}
	}
	return 0
}

// statusOf is the HTTP status of an error of a unary call.
func statusOf(e *weft.Error) int {
	if e.Reason == weft.ReasonNoMethod && e.Code == weft.Unimplemented {
		return nethttp.StatusNotFound
	}
	return httpstatus.Of(e.Code)
}

// failure is an error as Connect has it.
type failure struct {
	Code    string   `json:"code"`
	Message string   `json:"message,omitempty"`
	Details []detail `json:"details,omitempty"`
}

// detail is a typed value of an error; the value is base64.
type detail struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// ending is the message that ends a stream.
type ending struct {
	Error    *failure            `json:"error,omitempty"`
	Metadata map[string][]string `json:"metadata,omitempty"`
}

func failureOf(e *weft.Error) *failure {
	f := &failure{Code: codeName(e.Code), Message: strings.ToValidUTF8(e.Message, "\uFFFD")}
	for _, d := range e.Details {
		f.Details = append(f.Details, detail{d.Type, base64.RawStdEncoding.EncodeToString(d.Value)})
	}
	return f
}

// marks are what a weft client is told of an error beside it, names and values in turn: whether the call has run,
// and the reason. Stock clients get the details of an error as its handler has made it.
func marks(e *weft.Error) []string {
	var all []string
	if o := grpc.OutcomeName(e.Outcome); o != "" {
		all = append(all, headerOutcome, o)
	}
	if _, value, ok := fieldOf("reason", e.Reason); ok && e.Reason != "" {
		all = append(all, headerReason, value)
	}
	return all
}

// trailers are the fields that end a call of gRPC-Web.
func trailers(e *weft.Error) []string {
	if e == nil {
		return grpc.Trailers(nil)
	}
	bare := e.WithReason("")
	bare.Outcome = weft.OutcomeUnknown // it is one of the marks
	return append(grpc.Trailers(bare), marks(e)...)
}

// asJSON encodes a failure or an ending.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // it cannot be: strings alone
		return []byte(`{"code":"internal"}`)
	}
	return b
}

// readError is the error that a failure stands for; code is for one without a valid code, and outcome what a
// weft server says of it.
func (f *failure) readError(code weft.Code, outcome string) *weft.Error {
	e := &weft.Error{Code: codeNamed(f.Code), Message: f.Message}
	if e.Code == 0 {
		e.Code = code
	}
	for _, d := range f.Details {
		b, err := unbase64(d.Value)
		if err != nil {
			continue
		}
		grpc.AddDetail(e, weft.Detail{Type: d.Type[strings.LastIndexByte(d.Type, '/')+1:], Value: b})
	}
	switch outcome {
	case "refused":
		e.Outcome = weft.Refused
	case "executed":
		e.Outcome = weft.Executed
	default:
		switch e.Code {
		case weft.Unavailable, weft.DeadlineExceeded, weft.Canceled:
			// Something between this side and the handler may have said so.
		default:
			e.Outcome = weft.Executed
		}
	}
	return e
}
