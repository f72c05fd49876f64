package http_test

import (
	"bufio"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/schema"
)

// as asks with a Host; headers are names and values in turn.
func (r *rig) as(host, verb, path string, headers ...string) (status int, body string) {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	must(r.t, err)
	defer conn.Close()
	text := verb + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n"
	if verb == "POST" {
		text += "Content-Length: 0\r\n"
	}
	for i := 0; i < len(headers); i += 2 {
		text += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	_, err = io.WriteString(conn, text+"\r\n")
	must(r.t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReader(conn), &nethttp.Request{Method: verb})
	must(r.t, err)
	b, err := io.ReadAll(answer.Body)
	must(r.t, err)
	return answer.StatusCode, string(b)
}

// TestRebinding: without Hosts, a page that may have had its name pointed at this server cannot call.
func TestRebinding(t *testing.T) {
	r := start(t, &http.Config{OpenAPI: &schema.Info{Title: "T", Version: "1"}, Origins: []string{"http://app.example"}}, nil)
	const browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
	for _, c := range []struct {
		host, verb, path string
		status           int
		headers          []string
	}{
		// A page of http://evil.example:8972, whose name leads here.
		{"evil.example:8972", "POST", "/Users/Put", 403, []string{"Origin", "http://evil.example:8972"}},
		{"evil.example:8972", "POST", "/Users/Put", 403, []string{"Origin", "http://evil.example:8972", "Sec-Fetch-Site", "same-origin"}},
		{"EVIL.example.:8972", "POST", "/Users/Put", 403, []string{"Origin", "http://EVIL.example.:8972"}},
		{"evil.example:8972", "GET", "/Users/Get", 403, []string{"User-Agent", browser}},
		{"evil.example:8972", "GET", "/users/7", 403, []string{"User-Agent", browser}},
		{"evil.example:8972", "GET", "/openapi.json", 403, []string{"User-Agent", browser}},
		{"evil.example:8972", "GET", "/Stream/Echo", 403, []string{"Origin", "http://evil.example:8972", "Connection", "Upgrade", "Upgrade", "websocket",
			"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}},
		// Names that cannot be given away.
		{"127.0.0.1:8972", "POST", "/Users/Put", 200, []string{"Origin", "http://127.0.0.1:8972"}},
		{"[::1]:8972", "POST", "/Users/Put", 200, []string{"Origin", "http://[::1]:8972"}},
		{"localhost:8972", "POST", "/Users/Put", 200, []string{"Origin", "http://localhost:8972"}},
		{"shop.localhost", "POST", "/Users/Put", 200, []string{"Origin", "http://shop.localhost"}},
		{"orders", "POST", "/Users/Put", 200, []string{"Origin", "http://orders"}},
		{"orders.shop.internal", "GET", "/users/7", 200, []string{"User-Agent", browser}},
		// A browser that has asked a proxy with TLS.
		{"api.example.org", "POST", "/Users/Put", 200, []string{"Origin", "https://api.example.org", "Sec-Fetch-Site", "same-origin"}},
		{"api.example.org", "GET", "/users/7", 200, []string{"User-Agent", browser, "Sec-Fetch-Site", "same-origin"}},
		// A page that the configuration names.
		{"api.example.org", "POST", "/Users/Put", 200, []string{"Origin", "http://app.example"}},
		// Programs.
		{"api.example.org", "POST", "/Users/Put", 200, nil},
		{"api.example.org", "GET", "/users/7", 200, []string{"User-Agent", "curl/8.5.0"}},
		{"api.example.org", "GET", "/healthz", 200, []string{"User-Agent", browser}},
	} {
		status, body := r.as(c.host, c.verb, c.path, c.headers...)
		if status != c.status || status == 403 && !strings.Contains(body, "Config.Hosts") {
			t.Errorf("%s %s%s %q: %d %s, want %d", c.verb, c.host, c.path, c.headers, status, body, c.status)
		}
	}
}

// TestHosts: with Hosts, no other name is served, whatever the client is.
func TestHosts(t *testing.T) {
	r := start(t, &http.Config{Hosts: []string{"Api.example.org", "*.shop.example"}, Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		io.WriteString(w, "page")
	})}, nil)
	for host, want := range map[string]int{"api.example.org": 200, "API.example.org.:8972": 200, "a.b.shop.example": 200, "shop.example": 403, "evil.example": 403,
		"api.example.org.evil.example": 403, "127.0.0.1": 200, "[::1]:80": 200, "localhost:1": 200, "orders": 403, "": 200} {
		for _, path := range []string{"/users/7", "/"} {
			if status, body := r.as(host, "GET", path); status != want {
				t.Errorf("%s%s: %d %s, want %d", host, path, status, body, want)
			}
		}
		if status, body := r.as(host, "POST", "/Users/Put", "Origin", "http://"+host); status != want && host != "" {
			t.Errorf("a page of %s: %d %s, want %d", host, status, body, want)
		}
	}
	all := start(t, &http.Config{Hosts: []string{"*"}}, nil)
	if status, body := all.as("any.example", "POST", "/Users/Put", "Origin", "http://any.example"); status != 200 {
		t.Errorf("with every host allowed: %d %s", status, body)
	}
}
