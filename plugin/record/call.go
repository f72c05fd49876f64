package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
)

// The sides of a call.
const (
	Answered = "answered" // it was recorded where it was answered
	Made     = "made"     // where it was made
)

// Call is one recorded call.
type Call struct {
	Time      time.Time     // when it began
	Took      time.Duration // to its end
	Side      string        // Answered or Made
	Wire      string        // the wire of its connection, such as "weft" or "grpc"; "" when there was none
	Method    string        // "Service.Method"
	Oneway    bool          // there is no reply
	Attempt   int           // how many times it was tried before
	Principal string        // the name of the caller; "" when it has none
	Metadata  [][2]string   // those of the request that Config.Metadata names, in order
	Request   Message       // what was asked
	Reply     Message       // what was answered; without a codec after an error
	Code      weft.Code     // of the error; 0: the call went well
	Reason    string        // of the error
	Message   string        // of the error
}

// Message is a request or a reply.
type Message struct {
	Codec string // json, protobuf, raw; "" for none
	Body  []byte // as the codec encodes it
}

// stored is a Call as it is in a file; see FORMAT.md.
type stored struct {
	Time      time.Time   `json:"time"`
	Took      int64       `json:"took_ns"`
	Side      string      `json:"side"`
	Wire      string      `json:"wire,omitempty"`
	Method    string      `json:"method"`
	Oneway    bool        `json:"oneway,omitempty"`
	Attempt   int         `json:"attempt,omitempty"`
	Principal string      `json:"principal,omitempty"`
	Metadata  [][2][]byte `json:"metadata,omitempty"`
	Code      string      `json:"code"`
	Reason    string      `json:"reason,omitempty"`
	Message   string      `json:"message,omitempty"`
	Request   *body       `json:"request,omitempty"`
	Reply     *body       `json:"reply,omitempty"`
}

// body is a message: JSON as it is, and the bytes of other codecs.
type body struct {
	Codec string          `json:"codec"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
}

func bodyOf(m Message) *body {
	switch m.Codec {
	case "":
		return nil
	case "json":
		return &body{Codec: m.Codec, JSON: m.Body}
	}
	return &body{Codec: m.Codec, Bytes: m.Body}
}

func (b *body) message() Message {
	switch {
	case b == nil:
		return Message{}
	case b.Codec == "json":
		return Message{b.Codec, b.JSON}
	}
	return Message{b.Codec, b.Bytes}
}

// encode is the payload of the call's frame.
func (c *Call) encode() ([]byte, error) {
	s := stored{Time: c.Time.UTC(), Took: int64(c.Took), Side: c.Side, Wire: c.Wire, Method: c.Method, Oneway: c.Oneway, Attempt: c.Attempt,
		Principal: c.Principal, Code: c.Code.String(), Reason: c.Reason, Message: c.Message, Request: bodyOf(c.Request), Reply: bodyOf(c.Reply)}
	for _, p := range c.Metadata {
		s.Metadata = append(s.Metadata, [2][]byte{[]byte(p[0]), []byte(p[1])})
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// frame appends the frame of the call to dst.
func (c *Call) frame(dst []byte) ([]byte, error) {
	payload, err := c.encode()
	if err != nil {
		return dst, err
	}
	if len(payload) > maxFrame {
		return dst, fmt.Errorf("the call has %d bytes, more than %d", len(payload), maxFrame)
	}
	return appendFrame(dst, payload), nil
}

// decode reads the payload of a frame.
func decode(payload []byte) (*Call, error) {
	var s stored
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, err
	}
	code, ok := codeOf(s.Code)
	if !ok {
		return nil, fmt.Errorf("the code %q does not exist", s.Code)
	}
	c := &Call{Time: s.Time, Took: time.Duration(s.Took), Side: s.Side, Wire: s.Wire, Method: s.Method, Oneway: s.Oneway, Attempt: s.Attempt,
		Principal: s.Principal, Code: code, Reason: s.Reason, Message: s.Message, Request: s.Request.message(), Reply: s.Reply.message()}
	for _, p := range s.Metadata {
		c.Metadata = append(c.Metadata, [2]string{string(p[0]), string(p[1])})
	}
	return c, nil
}

// codeOf is the code of a name.
func codeOf(name string) (weft.Code, bool) {
	for code := weft.Code(0); code <= weft.Unauthenticated; code++ {
		if code.String() == name {
			return code, true
		}
	}
	return 0, false
}
