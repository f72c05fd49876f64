package accesslog_test

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
)

// A call that is not written costs no memory, whether calls can be slow or not.
func TestNotWritten(t *testing.T) {
	var j journal
	for _, slow := range []time.Duration{0, time.Hour} {
		p := plugin(t, accesslog.Config{Logger: j.logger(), OneIn: -1, Slow: slow})[0]
		info, reply := &weft.CallInfo{Method: "Arith.Mul"}, any(new(int))
		next := func(context.Context, *weft.CallInfo, any) (any, error) { return reply, nil }
		for side, around := range map[string]weft.UnaryInterceptor{"server": p.Server, "client": p.Client} {
			if n := testing.AllocsPerRun(100, func() { _, _ = around(t.Context(), info, nil, next) }); n != 0 {
				t.Errorf("on a %s with Slow %v a call costs %v allocations", side, slow, n)
			}
		}
	}
	if j.b.Len() != 0 {
		t.Error(j.b.String())
	}
}
