package http_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/schema"
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

// files registers methods whose messages are bytes.
func files(srv *weft.Server) error {
	return errors.Join(
		weft.HandleClientStream(srv, "Files.Put", func(_ context.Context, in *weft.Receiver[[]byte]) (*User, error) {
			u := &User{}
			for b, err := range in.All() {
				if err != nil {
					return nil, err
				}
				if len(*b) == 0 || len(*b) > 32<<10 {
					return nil, weft.Errorf(weft.Internal, "a message of %d bytes", len(*b))
				}
				for _, c := range *b {
					u.ID += int64(c)
				}
			}
			return u, nil
		}),
		weft.HandleServerStream(srv, "Files.Get", func(_ context.Context, u *User, out *weft.Sender[[]byte]) error {
			for i := range u.ID {
				b := bytes.Repeat([]byte{byte(i)}, 1000)
				if err := out.Send(&b); err != nil {
					return err
				}
			}
			if u.Admin {
				return weft.Errorf(weft.Aborted, "enough")
			}
			return nil
		}, weft.Idempotent(), http.Get("/files/{id}")),
		weft.HandleClientStream(srv, "Files.Join", func(_ context.Context, in *weft.Receiver[[]byte]) (*[]byte, error) {
			all := []byte("joined ")
			for b, err := range in.All() {
				if err != nil {
					return nil, err
				}
				all = append(all, *b...)
			}
			return &all, nil
		}),
		weft.HandleStream(srv, "Files.Pipe", func(_ context.Context, s *weft.Stream[[]byte, []byte]) error {
			for b, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(b); err != nil {
					return err
				}
			}
			return nil
		}))
}

// TestBytes sends and receives bytes as they are, by methods whose messages are bytes.
func TestBytes(t *testing.T) {
	r := start(t, &http.Config{OpenAPI: &schema.Info{}}, nil)
	must(t, files(r.srv))
	const octets, lines = "application/octet-stream", "application/x-ndjson"
	three := strings.Repeat("\x00", 1000) + strings.Repeat("\x01", 1000) + strings.Repeat("\x02", 1000)
	for _, c := range []struct {
		verb, path, body, kind, accept string
		status                         int
		answer, want                   string
	}{
		{"POST", "/Files/Put", strings.Repeat("\x01", 1<<20), octets, "", 200, "application/json", `{"id":1048576}`},
		{"POST", "/Files/Put", strings.Repeat("\n", 10), octets, "*/*", 200, "application/json", `{"id":100}`},
		{"POST", "/Files/Put", "\"AQE=\"\n\"AQ==\"\n", lines, "", 200, "application/json", `{"id":3}`},
		{"POST", "/Files/Put", "x", octets, "text/html", 406, "application/problem+json", ""},
		{"POST", "/Stream/Sum", "x", octets, "", 415, "application/problem+json", ""},
		{"POST", "/Files/Put", "x", "application/msgpack", "", 415, "application/problem+json", ""},
		{"POST", "/Files/Join", "a\nb", octets, "", 200, octets, "joined a\nb"},
		{"POST", "/Files/Join", "a\nb", octets, "application/json", 200, "application/json", `"am9pbmVkIGEKYg=="`},
		{"POST", "/Files/Join", `"YQ=="`, lines, "", 200, "application/json", `"am9pbmVkIGE="`},
		{"POST", "/Files/Join", `"YQ=="`, lines, octets, 200, octets, "joined a"},
		{"POST", "/Files/Get", `{"id":3}`, "application/json", "", 200, octets, three},
		{"GET", "/files/3", "", "", "text/html, */*;q=0.8", 200, octets, three},
		{"GET", "/files/0", "", "", "", 200, octets, ""},
		{"GET", "/files/0?admin=true", "", "", "", 409, "application/problem+json", ""},
		{"GET", "/files/1", "", "", lines, 200, lines, ""},
		{"GET", "/files/1", "", "", "text/event-stream", 200, "text/event-stream", ""},
		{"POST", "/Files/Pipe", "a\nb", octets, "", 200, octets, "a\nb"},
		{"POST", "/Files/Pipe", "a", octets, lines, 200, lines, `{"result":"YQ=="}` + "\n"},
		{"GET", "/count/1", "", "", octets, 406, "application/problem+json", ""},
	} {
		headers := []string{"Content-Type", c.kind}
		if c.accept != "" {
			headers = append(headers, "Accept", c.accept)
		}
		answer, body := r.do(c.verb, c.path, c.body, headers...)
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != c.status || kind != c.answer || c.want != "" && body != c.want {
			t.Errorf("%s %s of %s, Accept %q: %s %s %.200q, want %d %s %.200q", c.verb, c.path, c.kind, c.accept, answer.Status, kind, body, c.status, c.answer, c.want)
		}
	}
	if answer, body := r.do("POST", "/Files/Put", "x", "Content-Type", octets, "Content-Encoding", "gzip"); answer.StatusCode != 415 {
		t.Errorf("bytes that are compressed: %s %s", answer.Status, body)
	}
	req, err := nethttp.NewRequestWithContext(t.Context(), "GET", r.url+"/files/3?admin=true", nil)
	must(t, err)
	answer, err := r.c.Do(req)
	must(t, err)
	defer answer.Body.Close()
	if part, err := io.ReadAll(answer.Body); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(three, string(part)) {
		t.Errorf("an answer that is cut off: %d bytes, %v", len(part), err)
	}
	_, body := r.do("GET", "/openapi.json", "")
	var d described
	must(t, json.Unmarshal([]byte(body), &d))
	for path, want := range map[string]bool{"/Files/Put": true, "/Files/Pipe": true, "/Files/Get": false, "/Stream/Sum": false} {
		if _, ok := d.Paths[path]["post"].RequestBody.Content[octets]; ok != want {
			t.Errorf("bytes are described for the request of %s: %v", path, ok)
		}
	}
}

// TestBytesBothWays sends bytes when those before have come back.
func TestBytesBothWays(t *testing.T) {
	r := start(t, nil, nil)
	must(t, files(r.srv))
	body, feed := io.Pipe()
	req, err := nethttp.NewRequestWithContext(t.Context(), "POST", r.url+"/Files/Pipe", body)
	must(t, err)
	req.Header.Set("Content-Type", "application/octet-stream")
	go io.WriteString(feed, "one") // it ends when the server reads
	answer, err := r.c.Do(req)
	must(t, err)
	defer answer.Body.Close()
	for i, want := range []string{"one", "two", "three"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(answer.Body, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		if i < 2 {
			_, err = io.WriteString(feed, []string{"two", "three"}[i])
			must(t, err)
		}
	}
	must(t, feed.Close())
	if rest, err := io.ReadAll(answer.Body); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	polltest.True(t, 20*time.Second, "no call is left", func() bool { return r.srv.Stats().InFlight == 0 })
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
