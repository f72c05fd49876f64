package http

import (
	"encoding/json"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/weftrpc/weft"
)

// problemType is the media type of errors.
const problemType = "application/problem+json"

// Problem is an error as RFC 9457 has it: the body of an answer of the type
// application/problem+json.
type Problem struct {
	Type    string   `json:"type" doc:"always about:blank"`
	Title   string   `json:"title" doc:"the code"`
	Status  int      `json:"status" doc:"the HTTP status"`
	Detail  string   `json:"detail,omitempty" doc:"what went wrong, for people"`
	Code    string   `json:"code" doc:"what kind of thing went wrong, such as NotFound"`
	Outcome string   `json:"outcome" doc:"Refused if the method did not run, Executed if it did"`
	Reason  string   `json:"reason,omitempty" doc:"a constant for programs"`
	Details []Detail `json:"details,omitempty"`
}

// Detail is a typed value of an error.
type Detail struct {
	Type  string `json:"type"`
	Value []byte `json:"value"`
}

func problemOf(e *weft.Error) *Problem {
	p := &Problem{Type: "about:blank", Title: e.Code.String(), Status: statusOf(e), Detail: e.Message,
		Code: e.Code.String(), Outcome: e.Outcome.String(), Reason: e.Reason}
	for _, d := range e.Details {
		p.Details = append(p.Details, Detail(d))
	}
	return p
}

// bytes is the problem as JSON.
func (p *Problem) bytes() []byte {
	b, err := json.Marshal(p)
	if err != nil { // it cannot be: strings, numbers and bytes
		return []byte(`{"type":"about:blank","title":"Internal","status":500,"code":"Internal","outcome":"Unknown"}`)
	}
	return b
}

// writeProblem answers with an error.
func writeProblem(w nethttp.ResponseWriter, e *weft.Error) {
	p := problemOf(e)
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if d, ok := e.RetryAfter(); ok && d >= 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	}
	if p.Status == nethttp.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", "Bearer")
	}
	b := p.bytes()
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(b) // an error is that of the connection
}

// refusal is the error of a request that does not become a call.
func refusal(code weft.Code, reason, format string, args ...any) *weft.Error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.Refused
	return e
}
