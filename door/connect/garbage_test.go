package connect_test

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/http"
)

// TestMetadataGarbage has a handler put what no field may have into the metadata of replies and errors, and a client send what is no base64: no
// answer has a field that the handler has not named, by any protocol and both versions of HTTP.
func TestMetadataGarbage(t *testing.T) {
	const line = "x\r\nX-Injected: 1\r\n\r\nbody"
	addr := startHostile(t, weft.ServerConfig{Doors: connect.Doors(&connect.Config{HTTP: &http.Config{}})}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Echo", func(ctx context.Context, n *Name) (*Name, error) {
			for _, pair := range [][2]string{{"plain", "value"}, {"value", line}, {line, "key"}, {"zero", "\x00"}, {"del", "\x7f"}, {"space", " x "}, {"key key", "1"},
				{"data-bin", line}, {"Upper", "1"}, {"connection", "close"}, {"content-length", "1"}, {":status", "500"}} {
				_ = weft.SetReplyMetadata(ctx, pair[0], pair[1]) // it may refuse some
			}
			if n.Text == "fail" {
				return nil, weft.Errorf(weft.Aborted, line).WithReason(line)
			}
			return n, nil
		})
	})
	for name, headers := range map[string][]string{
		"http":        {"Content-Type", "application/json"},
		"Connect":     {"Content-Type", "application/json", "Connect-Protocol-Version", "1"},
		"gRPC-Web":    {"Content-Type", "application/grpc-web+json"},
		"bad base64":  {"Content-Type", "application/json", "Weft-Bin-Wrong", "***"},
		"bad base64 ": {"Content-Type", "application/json", "Connect-Protocol-Version", "1", "Wrong-Bin", "***"},
	} {
		for _, major := range []int{1, 2} {
			for _, text := range []string{"well", "fail"} {
				transport := &nethttp.Transport{Protocols: new(nethttp.Protocols)}
				transport.Protocols.SetHTTP1(major == 1)
				transport.Protocols.SetUnencryptedHTTP2(major == 2)
				body := `{"text":"` + text + `"}`
				if strings.Contains(headers[1], "grpc") {
					body = "\x00\x00\x00\x00" + string(rune(len(body))) + body
				}
				r, err := nethttp.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/Demo/Echo", strings.NewReader(body))
				must(t, err)
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				res, err := transport.RoundTrip(r)
				if err != nil {
					t.Errorf("%s, HTTP/%d, %s: %v", name, major, text, err)
					transport.CloseIdleConnections()
					continue
				}
				b, err := io.ReadAll(res.Body)
				must(t, errors.Join(err, res.Body.Close()))
				transport.CloseIdleConnections()
				for _, h := range []nethttp.Header{res.Header, res.Trailer} {
					for _, field := range []string{"X-Injected", "Trailer-X-Injected", "Weft-Meta-X-Injected"} {
						if h[field] != nil {
							t.Errorf("%s, HTTP/%d, %s: the answer has the field %s", name, major, text, field)
						}
					}
				}
				if res.ProtoMajor != major {
					t.Errorf("%s: HTTP/%d was answered by HTTP/%d", name, major, res.ProtoMajor)
				}
				if strings.HasPrefix(name, "bad") {
					if wrong := strings.ToLower(string(b)); res.StatusCode != nethttp.StatusBadRequest || !strings.Contains(wrong, "base64") || !strings.Contains(wrong, "wrong") {
						t.Errorf("%q, HTTP/%d: status %s, %s", name, major, res.Status, b)
					}
				} else if strings.Contains(string(b), "\nX-Injected") || strings.Contains(string(b), "\nx-injected") {
					t.Errorf("%s, HTTP/%d, %s: the end of the answer is %q", name, major, text, b)
				}
			}
		}
	}
}
