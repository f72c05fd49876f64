package envelope

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxID is how many bytes an id may have.
const maxID = 256

// Request is one call.
type Request struct {
	One    bool            // it is one of JSON-RPC 1.0
	ID     json.RawMessage // as it came; nil: there is none
	Method string
	Params []byte // nil: there are none
	Wrong  string // why it is no valid request; "" if it is one
}

// Notification reports whether nothing is answered. In JSON-RPC 1.0 everything is, as by Go's
// net/rpc/jsonrpc.
func (r *Request) Notification() bool { return !r.One && r.ID == nil && r.Wrong == "" }

// ReadRequest reads a request from valid JSON. In a batch there are none of JSON-RPC 1.0.
func ReadRequest(value []byte, batch bool) Request {
	r := Request{One: true}
	if value[0] != '{' {
		return Request{Wrong: "a request is not an object"}
	}
	var seen, member uint8 // a bit for each member
	var method []byte
	members(value, func(key, v []byte) bool {
		switch string(key) {
		case "jsonrpc":
			member = 1
			if r.One = false; string(v) != `"2.0"` {
				r.Wrong = `the member jsonrpc is not "2.0"`
			}
		case "id":
			member, r.ID = 2, v
		case "method":
			member, method = 4, v
		case "params":
			member, r.Params = 8, v
		default:
			return true
		}
		if seen&member != 0 {
			r.Wrong = "the member " + string(key) + " is there twice"
		}
		seen |= member
		return true
	})
	if r.One && (batch || method == nil) {
		r.One, r.Wrong = false, `the member jsonrpc is not "2.0"`
	}
	if len(r.ID) > 0 && (strings.IndexByte("{[tf", r.ID[0]) >= 0 || len(r.ID) > maxID) {
		r.ID, r.Wrong = nil, "the id is neither a string nor a number nor null, or too long"
	}
	switch {
	case r.Wrong != "":
	case len(method) <= len(`""`) || method[0] != '"':
		r.Wrong = "the method is not a string"
	case r.Params != nil && r.Params[0] != '[' && r.Params[0] != '{' && !r.One:
		r.Wrong = "the params are neither an array nor an object"
	}
	if r.Wrong == "" {
		r.Method = textOf(method)
	}
	return r
}

// textOf is the text of a valid string.
func textOf(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}

// Own takes copies of what a request has of the value that it was read from. If that is kept, as what is not overwritten may be, it
// does so only where most of the value is something else, which would stay in memory for as long as the request.
func (r *Request) Own(value []byte, kept bool) {
	if kept && len(r.Params) >= len(value)/2 {
		return
	}
	n := len(r.ID)
	b := append(append(make([]byte, 0, n+len(r.Params)), r.ID...), r.Params...)
	if r.ID != nil {
		r.ID = b[:n:n]
	}
	if r.Params != nil {
		r.Params = b[n:]
	}
}

// Append appends the request, as a client sends it: without an ID it is a notification.
func (r *Request) Append(b []byte) []byte {
	name, err := json.Marshal(r.Method)
	if err != nil {
		return b // a string can be encoded
	}
	if r.One {
		b = append(b, `{"method":`...)
	} else {
		b = append(b, `{"jsonrpc":"2.0","method":`...)
	}
	b = append(append(append(b, name...), `,"params":`...), r.Params...)
	if r.ID != nil {
		b = append(append(b, `,"id":`...), r.ID...)
	}
	return append(b, '}')
}
