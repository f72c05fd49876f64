package netrpc_test

import (
	"testing"

	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/netrpc"
)

// TestUnreadReplies: what handlers return to a client that does not read is bounded.
func TestUnreadReplies(t *testing.T) { doortest.UnreadReplies(t, netrpc.Door(), netrpc.Wire()) }

// TestNeverReads: the connection of a client that reads nothing ends.
func TestNeverReads(t *testing.T) { doortest.NeverReads(t, netrpc.Door(), netrpc.Wire()) }
