package httpstatus_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/httpstatus"
)

// TestCode: an answer without an error in its body has the code that Connect defines for its status.
func TestCode(t *testing.T) {
	connect := map[int]weft.Code{400: weft.Internal, 401: weft.Unauthenticated, 403: weft.PermissionDenied, 404: weft.Unimplemented,
		429: weft.Unavailable, 502: weft.Unavailable, 503: weft.Unavailable, 504: weft.Unavailable}
	for status := 100; status < 600; status++ {
		want := connect[status]
		if want == 0 {
			want = weft.Unknown
		}
		if got := httpstatus.Code(status); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}

// TestBack: the status of a code stands for that code in a problem, or for another one with the same status.
func TestBack(t *testing.T) {
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		back := httpstatus.CodeOfProblem(httpstatus.Of(code))
		if httpstatus.Of(back) != httpstatus.Of(code) {
			t.Errorf("%v has the status %d, which stands for %v", code, httpstatus.Of(code), back)
		}
	}
}
