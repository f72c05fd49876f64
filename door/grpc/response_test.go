package grpc

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/http2"
)

// TestStatusOfHTTP: an answer that is none of gRPC has a code by its HTTP status, unless it ends with a status of gRPC.
func TestStatusOfHTTP(t *testing.T) {
	for status, code := range map[uint64]weft.Code{200: weft.Unknown, 302: weft.Unknown, 400: weft.Internal, 401: weft.Unauthenticated,
		403: weft.PermissionDenied, 404: weft.Unimplemented, 429: weft.Unavailable, 431: weft.Unknown, 500: weft.Unknown, 502: weft.Unavailable,
		503: weft.Unavailable, 504: weft.Unavailable} {
		r := response{http: status}
		if e := r.notGRPC(true); e == nil || e.Code != code || e.Outcome != weft.OutcomeUnknown {
			t.Errorf("HTTP status %d: %v, want %v and an unknown outcome", status, e, code)
		}
		r.told, r.code = true, uint64(weft.ResourceExhausted)
		if e := r.notGRPC(true); e != nil {
			t.Errorf("HTTP status %d and a status of gRPC: %v", status, e)
		}
		outcome := weft.OutcomeUnknown // something in front of the handler has answered
		if status == 200 {
			outcome = weft.Executed
		}
		if e := r.failure(true); e == nil || e.Code != weft.ResourceExhausted || e.Outcome != outcome {
			t.Errorf("HTTP status %d and a status of gRPC: %v, want that of gRPC and the outcome %v", status, e, outcome)
		}
		r.code = uint64(weft.Unimplemented)
		if e := r.failure(true); e == nil || e.Outcome != weft.Refused {
			t.Errorf("HTTP status %d and Unimplemented: %v, want it refused", status, e)
		}
		if e := r.notGRPC(false); e == nil {
			t.Errorf("HTTP status %d and a status of gRPC before a body are taken", status)
		}
	}
	if e := (&response{http: 200, grpc: true}).notGRPC(false); e != nil {
		t.Errorf("an answer of gRPC: %v", e)
	}
}

// TestResets: a stream that the server resets ends its call with the code that gRPC names, and only one that it refused has certainly not run.
func TestResets(t *testing.T) {
	codes := map[http2.ErrCode]weft.Code{http2.RefusedStream: weft.Unavailable, http2.Cancel: weft.Canceled,
		http2.EnhanceYourCalm: weft.ResourceExhausted, http2.InadequateSecurity: weft.PermissionDenied}
	for code := range http2.ErrCode(20) {
		want, ok := codes[code]
		if !ok {
			want = weft.Internal
		}
		outcome := weft.OutcomeUnknown
		if code == http2.RefusedStream {
			outcome = weft.Refused
		}
		e := endingError(&http2.Ending{Code: code, Reset: true, Refused: code == http2.RefusedStream})
		if e.Code != want || e.Outcome != outcome {
			t.Errorf("a reset with %v: %v, %v, want %v, %v", code, e, e.Outcome, want, outcome)
		}
	}
}
