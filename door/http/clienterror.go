package http

import (
	"context"
	"encoding/json"
	nethttp "net/http"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/httpstatus"
)

// statusError is the error that an answer with another status than 200 stands for.
func (c *clientConn) statusError(ctx context.Context, res *nethttp.Response) error {
	var body []byte
	if isJSON(res) {
		var err error
		if body, _, err = c.body(ctx, res); err != nil {
			return err
		}
	}
	return ErrorOf(res, body)
}

// readProblem is the error that a Problem stands for, also one of another server; nil: the JSON is none.
func readProblem(body []byte, status int) *weft.Error {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	// A member of another type than a problem of this package has is one of another server's own: RFC 9457 has it ignored.
	var p struct{ Title, Detail, Code, Outcome, Reason string }
	for name, text := range map[string]*string{"title": &p.Title, "detail": &p.Detail, "code": &p.Code, "outcome": &p.Outcome, "reason": &p.Reason} {
		if json.Unmarshal(members[name], text) != nil {
			*text = ""
		}
	}
	var details []Detail
	if json.Unmarshal(members["details"], &details) != nil {
		details = nil
	}
	code := codeNamed(p.Code)
	if code == 0 {
		if p.Title == "" && p.Detail == "" {
			return nil
		}
		code = httpstatus.CodeOfProblem(status)
	}
	e := &weft.Error{Code: code, Message: p.Detail, Reason: p.Reason, Outcome: outcomeNamed(p.Outcome)}
	if e.Outcome == weft.OutcomeUnknown {
		switch e.Code {
		case weft.Unavailable, weft.DeadlineExceeded, weft.Canceled:
			// Something between this side and the method may have said so.
		case weft.Unimplemented:
			e.Outcome = weft.Refused
		default:
			e.Outcome = weft.Executed
		}
	}
	if e.Message == "" && !strings.EqualFold(p.Title, p.Code) {
		e.Message = p.Title
	}
	for _, d := range details {
		e.Details = append(e.Details, weft.Detail(d))
	}
	return e
}

// codeNamed is the code with a name; 0: none has it.
func codeNamed(name string) weft.Code {
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == name {
			return code
		}
	}
	return 0
}

// outcomeNamed is the outcome that a server of weft tells of.
func outcomeNamed(name string) weft.Outcome {
	for _, o := range []weft.Outcome{weft.Refused, weft.Executed} {
		if o.String() == name {
			return o
		}
	}
	return weft.OutcomeUnknown
}
