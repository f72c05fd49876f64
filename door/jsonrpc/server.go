package jsonrpc

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// server answers values, whatever carries them.
type server struct {
	*weft.DoorConn
	d    *door
	held atomic.Int64 // bytes of the replies of batches that are not complete
}

func unreadable(why string) []byte {
	return envelope.Error(&envelope.Request{}, &envelope.Failure{Code: envelope.ParseError, Message: "Parse error",
		Data: &envelope.Data{Code: weft.InvalidArgument.String(), Outcome: weft.Refused.String(), Message: why}}, "")
}

func invalid(r *envelope.Request, why string) []byte {
	return envelope.Error(&envelope.Request{ID: r.ID}, &envelope.Failure{Code: envelope.InvalidRequest, Message: "Invalid Request",
		Data: &envelope.Data{Code: weft.InvalidArgument.String(), Outcome: weft.Refused.String(), Message: why}}, "")
}

func tooLarge(limit int) []byte {
	return envelope.Error(&envelope.Request{}, failureOf(&weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonMessageTooLarge,
		Message: fmt.Sprintf("a request has more than %d bytes, which Limits.MaxMessage of the server allows", limit)}), "")
}

// incoming is what the calls of a value have in common.
type incoming struct {
	head    weft.Head
	refused *weft.Error // why none is to run; nil: they are
	to      sink
	pace    pace
	kept    bool // the value is not overwritten
}

// sizeOf is how many bytes a request has, without the brackets of params that are an array: a client
// puts them around a request that is no object.
func sizeOf(r *envelope.Request) int {
	if len(r.Params) > 0 && r.Params[0] == '[' {
		return len(r.Params) - len("[]")
	}
	return len(r.Params)
}

// begin begins a call. When it returns false the call was answered; otherwise it must run.
func (s *server) begin(x *call, in *incoming) bool {
	r, refused := &x.r, in.refused
	switch {
	case r.Wrong != "":
		x.to.answer(invalid(r, r.Wrong), x.pace)
		return false
	case refused == nil && sizeOf(r) > s.Limits().MaxMessage:
		refused = &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonMessageTooLarge,
			Message: fmt.Sprintf("the request has %d bytes, Limits.MaxMessage of the server allows %d", sizeOf(r), s.Limits().MaxMessage)}
	}
	if refused != nil {
		x.Fail(refused, weft.Metadata{})
		return false
	}
	head := in.head
	head.Method, head.Found = s.nameOf(r), x.method
	head.Codec, head.Oneway, head.Size = "json", r.Notification(), len(r.Params)
	return s.BeginIn(&x.DoorCall, &head, x)
}

// nameOf is the name of the method of a request.
func (s *server) nameOf(r *envelope.Request) string {
	if s.d.cfg.Service != "" && !strings.Contains(r.Method, ".") {
		return s.d.cfg.Service + "." + r.Method
	}
	return r.Method
}
