package grpc

import (
	"strconv"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/percent"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
)

// response is what a header block of a server says.
type response struct {
	pairs    pairs
	http     uint64
	grpc     bool
	encoding string
	told     bool // there is a status
	code     uint64
	message  string
	details  string
	pushback string
	outcome  string
}

// Field implements http2.Handler.
func (c *clientConn) Field(f *hpack.Field) {
	r := &c.res
	if f == nil {
		*r = response{}
		return
	}
	switch f.Kind {
	case hpack.Status:
		r.http = f.Num
	case kindContentType:
		r.grpc = f.OK
	case kindEncoding:
		r.encoding = f.Value
	case kindStatus:
		r.told, r.code = true, f.Num
		if !f.OK {
			r.code = uint64(weft.Unknown)
		}
	case kindMessage:
		r.message = f.Value
	case kindDetails:
		r.details = f.Value
	case kindPushback:
		r.pushback = f.Value
	case kindOutcome:
		r.outcome = f.Value
	case hpack.Other:
		r.pairs.add(f)
	}
}

// notGRPC is the error of a response that is none of gRPC; nil for one that is. last says that nothing comes behind: if there is a
// status of gRPC then, it counts more than that of HTTP.
func (r *response) notGRPC(last bool) *weft.Error {
	if r.http == 200 && r.grpc || last && r.told {
		return nil
	}
	e := &weft.Error{Code: weft.Unknown, Message: "the server answered with the HTTP status " + strconv.FormatUint(r.http, 10) + " and not as one of gRPC"}
	switch r.http {
	case 400:
		e.Code = weft.Internal
	case 401:
		e.Code = weft.Unauthenticated
	case 403:
		e.Code = weft.PermissionDenied
	case 404:
		e.Code = weft.Unimplemented
	case 429, 502, 503, 504:
		e.Code = weft.Unavailable
	}
	return e
}

// failure is the error that trailers tell of; nil: the call went well. alone says that they are all the server sent.
func (r *response) failure(alone bool) *weft.Error {
	if !r.told {
		return &weft.Error{Code: weft.Internal, Message: "the server ended the call without a status"}
	}
	if r.code == 0 {
		return nil
	}
	e := &weft.Error{Code: weft.Code(r.code), Message: percent.Decode(r.message)}
	if r.code > uint64(weft.Unauthenticated) {
		e.Code = weft.Unknown
	}
	if r.details != "" {
		addDetails(e, r.details)
	}
	if r.pushback != "" {
		e = addPushback(e, r.pushback)
	}
	switch {
	case r.outcome == outcomeRefused:
		e.Outcome = weft.Refused
	case r.outcome == outcomeExecuted:
		e.Outcome = weft.Executed
	case e.Code == weft.Unimplemented && alone:
		e.Outcome = weft.Refused // so servers of gRPC answer where there is no such method
	case e.Code == weft.Unavailable, e.Code == weft.DeadlineExceeded, e.Code == weft.Canceled, alone && r.http != 200:
		// Something between this side and the handler may have said so.
	default:
		e.Outcome = weft.Executed
	}
	return e
}

// endingError is the error of a call whose stream was reset or lost.
func endingError(why *http2.Ending) *weft.Error {
	var e *weft.Error
	switch {
	case why.Refused && why.Err == nil:
		e = weft.Errorf(weft.Unavailable, "the server refused the stream")
	case why.Reset:
		e = weft.Errorf(codeOfReset(why.Code), "the server reset the stream (%v)", why.Code)
	case why.Err != nil:
		known := *connError(why.Err)
		e = &known
	default:
		e = weft.Errorf(weft.Unavailable, "the stream has ended")
	}
	e.Outcome = weft.OutcomeUnknown
	if why.Refused {
		e.Outcome = weft.Refused
	}
	return e
}

// codeOfReset is the code that gRPC gives to a reset.
func codeOfReset(code http2.ErrCode) weft.Code {
	switch code {
	case http2.RefusedStream:
		return weft.Unavailable
	case http2.Cancel:
		return weft.Canceled
	case http2.EnhanceYourCalm:
		return weft.ResourceExhausted
	case http2.InadequateSecurity:
		return weft.PermissionDenied
	}
	return weft.Internal
}
