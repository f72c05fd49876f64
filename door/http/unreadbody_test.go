package http_test

import (
	nethttp "net/http"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
)

// TestBodyStalled: a request that is answered before its body is read does not hold its connection for longer than BodyTimeout.
func TestBodyStalled(t *testing.T) {
	unauthorized := func(_ *weft.DoorConn, next nethttp.Handler) nethttp.Handler {
		return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.URL.Path == "/front" {
				w.WriteHeader(nethttp.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	r := start(t, &http.Config{BodyTimeout: 200 * time.Millisecond, Front: unauthorized, Hosts: []string{"api.example"}, Origins: []string{"*"}}, nil)
	r.ends(r.stall("POST", "localhost", "/front"))
	r.ends(r.stall("POST", "evil.example", "/Users/Put"))
	r.ends(r.stall("POST", "localhost", "/nothing/here"))
	r.shutDown()
}
