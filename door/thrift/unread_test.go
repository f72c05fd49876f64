package thrift_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/thrift"
)

// eachOrder runs a test with replies in the order of calls, with frames and without, and as calls end.
func eachOrder(t *testing.T, test func(t *testing.T, door weft.Door, wire weft.Wire)) {
	for name, cfg := range map[string]thrift.WireConfig{
		"framed":   {},
		"unframed": {Framing: thrift.Unframed, Protocol: thrift.Compact},
		"THeader":  {Framing: thrift.THeader},
	} {
		cfg.MaxConns = 1
		t.Run(name, func(t *testing.T) { test(t, thrift.Door(nil), thrift.Wire(&cfg)) })
	}
	t.Run("unordered", func(t *testing.T) {
		test(t, thrift.Door(&thrift.Config{Unordered: true}), thrift.Wire(&thrift.WireConfig{MaxConns: 1}))
	})
}

// TestUnreadReplies: what handlers return to a client that does not read is bounded.
func TestUnreadReplies(t *testing.T) { eachOrder(t, doortest.UnreadReplies) }

// TestNeverReads: the connection of a client that reads nothing ends.
func TestNeverReads(t *testing.T) { eachOrder(t, doortest.NeverReads) }
