package connect_test

import (
	"testing"

	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/doortest"
)

func TestLargeRepliesAreNotKept(t *testing.T) { doortest.RunLargeReplies(t, connect.Doors(nil)) }
