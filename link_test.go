package weft_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// A client whose credential the server refuses is told so by every call at once, goes on to
// connect with growing pauses, and works again when the server takes the credential.
func TestRefusedCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tried []time.Time
		accept := false
		var logged log
		w := start(t, &weft.ServerConfig{AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, time.Now())
			if !accept {
				return nil, errors.New("this token has expired")
			}
			return nil, nil
		}}, nil)
		c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Transports: transports(w.net), Logger: logged.logger(), Timeout: time.Minute})
		must(t, err)
		defer c.Close()
		for i := range 20 {
			began := time.Now()
			err := c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
			wantError(t, err, weft.Unauthenticated, weft.NotSent, "this token has expired")
			if d := time.Since(began); d > 0 {
				t.Errorf("call %d failed after %v", i, d)
			}
			_, err = weft.OpenStream[Args, Product](t.Context(), c, "Arith.Mul")
			if i > 0 {
				wantError(t, err, weft.Unauthenticated, weft.NotSent, "this token has expired")
			}
			time.Sleep(5 * time.Second)
		}
		mu.Lock()
		pauses := make([]time.Duration, 0, len(tried))
		for i := 1; i < len(tried); i++ {
			pauses = append(pauses, tried[i].Sub(tried[i-1]))
		}
		accept = true
		mu.Unlock()
		if len(pauses) < 8 || len(pauses) > 30 || slices.Max(pauses) < 10*time.Second || pauses[0] > time.Second {
			t.Errorf("the pauses between two attempts were %v", pauses)
		}
		time.Sleep(2 * weft.DefaultMaxBackoff)
		multiply(t, c)
		wantText(t, logged.String(), "code=Unauthenticated")
	})
}
