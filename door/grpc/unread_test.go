package grpc

import (
	"testing"

	"github.com/weftrpc/weft/door/doortest"
)

// TestUnreadReplies: what handlers return to a client that does not read is bounded.
func TestUnreadReplies(t *testing.T) { doortest.UnreadReplies(t, Door(nil), Wire(nil)) }
