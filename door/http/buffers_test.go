package http_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/internal/buffer"
)

func TestLargeRepliesAreNotKept(t *testing.T) {
	var requests []*buffer.Buffer
	for range 8 {
		requests = append(requests, buffer.TakeLarge(32*buffer.Small))
	}
	for _, b := range requests {
		b.Release() // as a large request does; its memory may be kept
	}
	doortest.RunLargeReplies(t, []weft.Door{http.Door(nil)})
}
