package netrpc_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"net/rpc"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/netrpc"
)

// TestPartsOfRequests: parts of requests count against the memory of the server.
func TestPartsOfRequests(t *testing.T) {
	var begin bytes.Buffer
	must(t, gob.NewEncoder(&begin).Encode(rpc.Request{ServiceMethod: "Test.Text", Seq: 1}))
	begin.WriteString("\xfd\x3d\x09\x00") // the length of a body
	doortest.PartsOfRequests(t, netrpc.Door(), begin.String(), func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Text", func(_ context.Context, text *string) (*string, error) { return text, nil })
	})
}
