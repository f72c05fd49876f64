package jsonrpc

import (
	"encoding/json"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// paces notes when answers are written.
type paces []pace

func (all *paces) answer(_ []byte, p pace) { *all = append(*all, p) }

// TestReasonOfHandler: the answer of a handler that fails with the reason of dropped replies waits for room like any other.
func TestReasonOfHandler(t *testing.T) {
	var got paces
	for _, p := range []pace{alone, together, dropped} {
		x := &call{to: &got, pace: p, r: envelope.Request{ID: json.RawMessage("1"), Method: "Test.Call"}}
		x.Fail(weft.Errorf(weft.ResourceExhausted, "a server behind this one").WithReason(weft.ReasonSlowReader), weft.Metadata{})
	}
	if len(got) != 3 || got[0] != alone || got[1] != together || got[2] != dropped {
		t.Errorf("the answers are written as %v", got)
	}
}
