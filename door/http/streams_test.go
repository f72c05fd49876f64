package http_test

import (
	"bufio"
	"context"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestServerStream receives many messages.
func TestServerStream(t *testing.T) {
	r := start(t, nil, nil)
	for _, c := range []struct{ verb, path, body, accept, kind, want string }{
		{"POST", "/Stream/Count", `{"id":2}`, "", "application/x-ndjson", `{"result":{"id":1}}` + "\n" + `{"result":{"id":2}}` + "\n"},
		{"GET", "/count/2", ``, "application/x-ndjson", "application/x-ndjson", `{"result":{"id":1}}` + "\n" + `{"result":{"id":2}}` + "\n"},
		{"GET", "/Stream/Count?id=0", ``, "", "application/x-ndjson", ``},
		{"GET", "/count/2", ``, "text/event-stream", "text/event-stream",
			"id: 1\ndata: {\"id\":1}\n\nid: 2\ndata: {\"id\":2}\n\nevent: end\ndata: {}\n\n"},
		{"GET", "/count/1?admin=true", ``, "", "application/x-ndjson", `{"result":{"id":1}}` + "\n" +
			`{"error":{"type":"about:blank","title":"Aborted","status":409,"detail":"enough","code":"Aborted","outcome":"Executed"}}` + "\n"},
		{"GET", "/count/0?admin=true", ``, "", "application/problem+json",
			`{"type":"about:blank","title":"Aborted","status":409,"detail":"enough","code":"Aborted","outcome":"Executed"}`},
		{"GET", "/count/1?admin=true", ``, "text/event-stream", "text/event-stream", "id: 1\ndata: {\"id\":1}\n\nevent: error\ndata: " +
			`{"type":"about:blank","title":"Aborted","status":409,"detail":"enough","code":"Aborted","outcome":"Executed"}` + "\n\n"},
	} {
		headers := []string{}
		if c.accept != "" {
			headers = append(headers, "Accept", c.accept)
		}
		answer, body := r.do(c.verb, c.path, c.body, headers...)
		if got := answer.Header.Get("Content-Type"); body != c.want || got != c.kind {
			t.Errorf("%s %s: %s\n%s, want\n%s", c.verb, c.path, got, body, c.want)
		}
	}
	for _, c := range [][2]string{{"/count/x", "400"}, {"/count/1?x=y", "400"}} {
		if answer, body := r.do("GET", c[0], ""); !strings.HasPrefix(answer.Status, c[1]) {
			t.Errorf("%s: %s %s", c[0], answer.Status, body)
		}
	}
	if answer, _ := r.do("GET", "/count/1", "", "Accept", "application/msgpack"); answer.StatusCode != 406 {
		t.Errorf("%s", answer.Status)
	}
}

func TestClientStream(t *testing.T) {
	r := start(t, nil, nil)
	for body, want := range map[string]string{
		"{\"id\":1}\n{\"id\":2}\n\n{\"id\":3}": `{"id":6}`,
		"{\"id\":1}\n{":                        `"reason":"DECODE"`,
		"\n":                                   `{}`,
	} {
		answer, got := r.do("POST", "/Stream/Sum", body, "Content-Type", "application/x-ndjson")
		if !strings.Contains(strings.ToUpper(got), strings.ToUpper(want)) {
			t.Errorf("%q: %s %s, want %s", body, answer.Status, got, want)
		}
	}
	if answer, body := r.do("POST", "/Stream/Sum", "x", "Content-Type", "application/msgpack"); answer.StatusCode != 415 {
		t.Errorf("%s %s", answer.Status, body)
	}
	if answer, body := r.do("POST", "/Stream/Sum", `{"name":"`+strings.Repeat("x", 5<<20)+`"}`, "Content-Type", "application/x-ndjson"); answer.StatusCode < 400 {
		t.Errorf("a message beyond the limit: %s %s", answer.Status, body)
	}
}

// TestBothDirections sends each message when the one before has come back.
func TestBothDirections(t *testing.T) {
	r := start(t, nil, nil)
	body, feed := io.Pipe()
	req, err := nethttp.NewRequestWithContext(t.Context(), "POST", r.url+"/Stream/Echo", body)
	must(t, err)
	req.Header.Set("Content-Type", "application/x-ndjson")
	go io.WriteString(feed, "{\"id\":1}\n") // it ends when the server reads
	answer, err := r.c.Do(req)
	must(t, err)
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for i, want := range []string{`{"result":{"id":1}}`, `{"result":{"id":2}}`, `{"result":{"id":2}}`} {
		line, err := lines.ReadString('\n')
		if err != nil || strings.TrimSpace(line) != want {
			t.Fatalf("%d: %q, %v, want %q", i, line, err, want)
		}
		if i < 2 {
			_, err = io.WriteString(feed, "{\"id\":2}\n")
			must(t, err)
		}
	}
	must(t, feed.Close())
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestStreamClientGone ends the context of a stream whose client leaves.
func TestStreamClientGone(t *testing.T) {
	r := start(t, nil, nil)
	ended := make(chan error, 2)
	must(t, weft.HandleServerStream(r.srv, "Stream.Forever", func(ctx context.Context, _ *User, out *weft.Sender[User]) error {
		if err := out.Send(&User{ID: 1}); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}))
	must(t, weft.HandleStream(r.srv, "Stream.Deaf", func(ctx context.Context, s *weft.Stream[User, User]) error {
		if err := s.Send(&User{ID: 1}); err != nil {
			t.Error(err)
		}
		_, err := s.Recv()
		ended <- err
		return err
	}))
	for _, path := range []string{"/Stream/Forever", "/Stream/Deaf"} {
		ctx, cancel := context.WithCancel(t.Context())
		body, feed := io.Pipe()
		if path == "/Stream/Forever" {
			feed.Close()
		}
		req, err := nethttp.NewRequestWithContext(ctx, "POST", r.url+path, body)
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		answer, err := r.c.Do(req)
		must(t, err)
		if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
			t.Error(err)
		}
		cancel()
		answer.Body.Close()
		feed.Close()
		if err := <-ended; weft.CodeOf(err) != weft.Canceled {
			t.Errorf("%s ended with %v", path, err)
		}
	}
	polltest.True(t, 20*time.Second, "no call is left", func() bool { return r.srv.Stats().InFlight == 0 })
}
