package http_test

import (
	"context"
	nethttp "net/http"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
)

// TestFrontContext: a call ends with the context that a handler in front has given its request, as a copy or in place.
func TestFrontContext(t *testing.T) {
	running := make(chan struct{})
	r := start(t, &http.Config{Front: func(_ *weft.DoorConn, next nethttp.Handler) nethttp.Handler {
		return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, q *nethttp.Request) {
			ctx, cancel := context.WithCancel(q.Context())
			defer cancel()
			go func() { // it ends with the request, or before
				select {
				case <-running:
					cancel()
				case <-ctx.Done():
				}
			}()
			own := q.WithContext(ctx)
			if q.Header.Get("Copy") == "" {
				*q = *own
				own = q
			}
			next.ServeHTTP(w, own)
		})
	}}, nil)
	must(t, weft.Handle(r.srv, "Slow.Call", func(ctx context.Context, u *User) (*User, error) {
		running <- struct{}{}
		return waitForEnd(ctx, u)
	}))
	for _, mode := range []string{"copy", ""} {
		if answer, body := r.do("POST", "/Slow/Call", "{}", "Weft-Timeout", "20000", "Copy", mode); answer.StatusCode != 499 {
			t.Errorf("%q: %s: %s", mode, answer.Status, body)
		}
	}
}
