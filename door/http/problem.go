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

// problem is an error as RFC 9457 has it.
type problem struct {
	Type    string   `json:"type"`
	Title   string   `json:"title"`
	Status  int      `json:"status"`
	Detail  string   `json:"detail,omitempty"`
	Code    string   `json:"code"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Details []detail `json:"details,omitempty"`
}

// detail is a typed value of an error.
type detail struct {
	Type  string `json:"type"`
	Value []byte `json:"value"`
}

func problemOf(e *weft.Error) *problem {
	p := &problem{Type: "about:blank", Title: e.Code.String(), Status: statusOf(e), Detail: e.Message,
		Code: e.Code.String(), Outcome: e.Outcome.String(), Reason: e.Reason}
	for _, d := range e.Details {
		p.Details = append(p.Details, detail(d))
	}
	return p
}

// bytes is the problem as JSON.
func (p *problem) bytes() []byte {
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
