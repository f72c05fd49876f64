package http_test

import (
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// Taps and statistics have the sizes of requests whose length no header tells, and of streams.
func TestSizes(t *testing.T) {
	r := start(t, nil, nil)
	seen := make(chan weft.TappedCall, 10)
	defer r.srv.Tap(func(c *weft.TappedCall) { seen <- weft.TappedCall{RequestSize: c.RequestSize, ReplySize: c.ReplySize} })()
	for _, tt := range []struct {
		method, request, reply string
		sent                   int // bytes of the messages of the reply
	}{
		{"Users/Get", `{"name":"ada"}`, `{"name":"ada"}`, len(`{"name":"ada"}`)},
		{"Stream/Sum", `{"id":1}{"id":20}`, `{"id":21}`, len(`{"id":21}`)},
		{"Stream/Count", `{"id":2}`, `{"result":{"id":1}}` + "\n" + `{"result":{"id":2}}` + "\n", len(`{"id":1}{"id":2}`)},
		{"Stream/Echo", `{"id":1}`, `{"result":{"id":1}}` + "\n", len(`{"id":1}`)},
	} {
		// A reader whose length is not known is sent in chunks.
		body := strings.ReplaceAll(tt.request, "}{", "}\n{")
		req, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodPost, r.url+"/"+tt.method, io.MultiReader(strings.NewReader(body)))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		answer, err := r.c.Do(req)
		must(t, err)
		b, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if must(t, err); string(b) != tt.reply {
			t.Errorf("%s: %s %q", tt.method, answer.Status, b)
		}
		if c := <-seen; c.RequestSize != len(tt.request) || c.ReplySize != tt.sent {
			t.Errorf("%s: a tap shows %d and %d bytes, want %d and %d", tt.method, c.RequestSize, c.ReplySize, len(tt.request), tt.sent)
		}
		polltest.Until(t, time.Minute, "the statistics of "+tt.method, func() error {
			for _, m := range r.srv.Stats().Methods {
				if m.Method != strings.Replace(tt.method, "/", ".", 1) || m.Calls == 0 {
					continue
				}
				if m.RequestBytes != uint64(len(tt.request)) || m.ReplyBytes != uint64(tt.sent) {
					return fmt.Errorf("%d and %d bytes, want %d and %d", m.RequestBytes, m.ReplyBytes, len(tt.request), tt.sent)
				}
				return nil
			}
			return fmt.Errorf("there are none")
		})
	}
}

// Statistics count no reply of which nothing but the header was sent.
func TestSizesOfHeaders(t *testing.T) {
	r := start(t, nil, nil)
	answer, body := r.do("GET", "/users/7", "")
	tag := answer.Header.Get("ETag")
	if again, _ := r.do("GET", "/users/7", "", "If-None-Match", tag); tag == "" || again.StatusCode != nethttp.StatusNotModified {
		t.Fatalf("%q, %s", tag, again.Status)
	}
	r.do("HEAD", "/users/7", "")
	polltest.Until(t, time.Minute, "the statistics", func() error {
		for _, m := range r.srv.Stats().Methods {
			if m.Method == "Users.Get" && m.Calls == 3 {
				if m.ReplyBytes != uint64(len(body)) {
					return fmt.Errorf("%d bytes, want %d", m.ReplyBytes, len(body))
				}
				return nil
			}
		}
		return fmt.Errorf("there are none")
	})
}
