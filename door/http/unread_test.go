package http_test

import (
	"io"
	nethttp "net/http"
	"testing"
)

// TestUnread answers a streaming call whose request is not at its end: what is left of the request must not be
// taken for the next one, so the answer ends the connection.
func TestUnread(t *testing.T) {
	r := start(t, nil, nil)
	body, more := io.Pipe()
	defer more.Close()
	q, err := nethttp.NewRequest("POST", r.url+"/Stream/Sum", body)
	must(t, err)
	q.Header.Set("Content-Type", "application/x-ndjson")
	q.Header.Set("Weft-Timeout", "50")
	res, err := r.c.Do(q)
	must(t, err)
	defer res.Body.Close()
	if res.StatusCode != nethttp.StatusGatewayTimeout || !res.Close {
		t.Errorf("status %s, the connection ends: %v; want 504 and an end", res.Status, res.Close)
	}
}
