package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
)

// The codes of the specification.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	ServerError    = -32000 // less the number of a code of weft
)

// Failure is the error of a response.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *Data  `json:"data,omitempty"`

	Raw json.RawMessage `json:"-"` // the object that a client has read; nil: the error was none
}

// Data is what weft knows of an error.
type Data struct {
	Code    string   `json:"code"`
	Message string   `json:"message,omitempty"` // if that of the error is one of the specification
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Details []Detail `json:"details,omitempty"`
}

// Names returns the code and the outcome that d names. ok is false if it does not name both, as a server of weft does.
func (d *Data) Names() (code weft.Code, outcome weft.Outcome, ok bool) {
	for code = weft.Canceled; code.String() != d.Code; code++ {
		if code == weft.Unauthenticated {
			return 0, 0, false
		}
	}
	for _, outcome = range []weft.Outcome{weft.OutcomeUnknown, weft.NotSent, weft.Refused, weft.Executed} {
		if outcome.String() == d.Outcome {
			return code, outcome, true
		}
	}
	return 0, 0, false
}

// Detail is a typed value of an error.
type Detail struct {
	Type  string `json:"type"`
	Value []byte `json:"value"`
}

// idOf is the id of a response.
func idOf(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

// BeginResult appends what stands before the result in the response to a request.
func BeginResult(b []byte, r *Request) []byte {
	if !r.One {
		b = append(b, `{"jsonrpc":"2.0","id":`...)
	} else {
		b = append(b, `{"id":`...)
	}
	return append(append(b, idOf(r.ID)...), `,"result":`...)
}

// EndResult appends what stands behind it.
func EndResult(b []byte, r *Request) []byte {
	if r.One {
		b = append(b, `,"error":null`...)
	}
	return append(b, '}')
}

// Error is the response with an error, which in JSON-RPC 1.0 is a text.
func Error(r *Request, f *Failure, text string) []byte {
	var body []byte
	var err error
	if r.One {
		body, err = json.Marshal(text)
	} else {
		body, err = json.Marshal(f)
	}
	if err != nil { // it cannot be: strings, numbers and bytes
		body = []byte(`{"code":-32603,"message":"Internal error"}`)
	}
	if r.One {
		return bytes.Join([][]byte{[]byte(`{"id":`), idOf(r.ID), []byte(`,"result":null,"error":`), body, []byte(`}`)}, nil)
	}
	return bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), idOf(r.ID), []byte(`,"error":`), body, []byte(`}`)}, nil)
}

// Response is what a client reads of a response.
type Response struct {
	ID     json.RawMessage
	Result []byte
	Error  *Failure // nil: the call went well
	Text   string   // the error if it is no object, as in JSON-RPC 1.0
	Asks   bool     // it is no response: the server asks or tells something itself
}

// ReadResponse reads a response.
func ReadResponse(value []byte) (Response, error) {
	var r Response
	if !Valid(value) || value[0] != '{' {
		return r, errors.New("a response is not a JSON object")
	}
	members(value, func(key, v []byte) bool {
		switch string(key) {
		case "id":
			r.ID = v
		case "result":
			r.Result = v
		case "method":
			r.Asks = true
		case "error":
			r.Error, r.Text = nil, ""
			switch v[0] {
			case 'n':
			case '"':
				r.Error, r.Text = &Failure{}, textOf(v)
			case '{':
				r.Error, _ = ReadFailure(v)
			default:
				r.Error, r.Text = &Failure{}, string(v)
			}
		}
		return true
	})
	r.Asks = r.Asks && r.Result == nil && r.Error == nil
	// Some servers leave the id out where they could not read that of the request.
	if r.ID == nil && !r.Asks && (r.Error == nil || r.Error.Code == 0) {
		return r, errors.New("a response has no id")
	}
	return r, nil
}

// maxText is how many bytes of an error object are its message, if it has none.
const maxText = 256

// ReadFailure reads an error object, a valid one of JSON, and its data. Servers disagree on its members: the code may be a number in
// quotes, or a word, which counts as 0; and data of theirs that looks like weft's is none.
func ReadFailure(object []byte) (f *Failure, data json.RawMessage) {
	var any struct{ Code, Message, Data json.RawMessage }
	_ = json.Unmarshal(object, &any) // it is valid, and its members are not decoded
	f = &Failure{Raw: object}
	if n, err := strconv.ParseFloat(string(bytes.Trim(any.Code, `"`)), 64); err == nil && math.Abs(n) <= math.MaxInt32 {
		f.Code = int(n)
	}
	if _ = json.Unmarshal(any.Message, &f.Message); f.Message == "" {
		f.Message = strings.ToValidUTF8(string(object[:min(len(object), maxText)]), "")
	}
	told := new(Data)
	if len(any.Data) > 0 && any.Data[0] == '{' && json.Unmarshal(any.Data, told) == nil {
		if _, _, ok := told.Names(); ok {
			f.Data = told
		}
	}
	return f, any.Data
}
