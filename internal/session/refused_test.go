package session

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// Every call that is refused before it reaches its method is told to the owner, once, with
// the reason that its caller gets.
func TestRefusedIsTold(t *testing.T) {
	var mu sync.Mutex
	told := map[wire.Code]int{}
	release := make(chan struct{})
	hold := unary("Hold.It", func(*Context, []byte) ([]byte, *wire.Status) {
		<-release
		return nil, nil
	})
	r := newRig(t, setup{server: func(c *Config) {
		c.Limits.MaxMessage, c.Limits.MaxCallBytes = 1000, 1500
		c.Refused = func(_ *Session, st *wire.Status) {
			mu.Lock()
			defer mu.Unlock()
			told[st.Code]++
			if st.Outcome != wire.Refused {
				t.Errorf("told of %+v", st)
			}
		}
	}, client: func(c *Config) { c.Limits.CompressAbove = 1 << 20 }}, echo(), chat(), hold)
	ctx := context.Background()
	want := map[wire.Code]int{}
	refused := func(c *Call, code wire.Code) {
		t.Helper()
		st := do(ctx, r.client, c)
		if st == nil || st.Code != code || st.Outcome != wire.Refused {
			t.Errorf("%s ended with %+v, want code %d", c.Method, st, code)
		}
		want[code]++
	}
	refused(newCall("No.Such", nil, nil), wire.Unimplemented)
	refused(newCall("Echo.Chat", nil, nil), wire.Unimplemented) // a stream
	held := newCall("Hold.It", make([]byte, 900), nil)
	if st := r.client.Start(ctx, held); st != nil {
		t.Fatal(st)
	}
	for r.server.in.bytes.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	refused(newCall("Echo.Say", make([]byte, 900), nil), wire.ResourceExhausted)
	close(release)
	r.client.Wait(ctx, held)
	mustEcho(t, r.client, "fine")
	mu.Lock()
	defer mu.Unlock()
	if !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}
