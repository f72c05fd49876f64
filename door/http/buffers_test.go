package http_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
)

func TestLargeRepliesAreNotKept(t *testing.T) {
	doortest.RunLargeReplies(t, []weft.Door{http.Door(nil)})
}
