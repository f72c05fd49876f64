package jsonrpc_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// eachCarrier runs a test over TCP and over WebSocket.
func eachCarrier(t *testing.T, test func(t *testing.T, door weft.Door, wire weft.Wire)) {
	t.Run("tcp", func(t *testing.T) { test(t, jsonrpc.Door(nil), jsonrpc.Wire()) })
	t.Run("websocket", func(t *testing.T) {
		test(t, http.Door(&http.Config{Handler: jsonrpc.Handler(nil)}), jsonrpc.WebSocketWire("/rpc"))
	})
}

// TestUnreadReplies: what handlers return to a client that does not read is bounded.
func TestUnreadReplies(t *testing.T) { eachCarrier(t, doortest.UnreadReplies) }

// TestNeverReads: the connection of a client that reads nothing ends.
func TestNeverReads(t *testing.T) { eachCarrier(t, doortest.NeverReads) }
