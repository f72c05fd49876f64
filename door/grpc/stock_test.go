package grpc

import (
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/percent"
)

// post makes a call with an empty message by the client of net/http, which takes header blocks of about so many bytes, and returns the
// fields that end it.
func post(t *testing.T, url string, most int64, fields ...string) nethttp.Header {
	t.Helper()
	var protocols nethttp.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &nethttp.Transport{Protocols: &protocols, MaxResponseHeaderBytes: most}
	defer transport.CloseIdleConnections()
	req, err := nethttp.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(strings.Repeat("\x00", prefixSize)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(contentType, base)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
	if res.Header.Get(statusName) != "" {
		return res.Header
	}
	return res.Trailer
}

// TestTimeouts makes calls with timeouts of which nothing is left, or that are none, and with enough.
func TestTimeouts(t *testing.T) {
	address := serveHTTP(t, nil, Door(nil))
	for timeout, status := range map[string]string{"0n": "4", "0S": "4", "1n": "4", "1H": "0", "99999999H": "0", "x": "3", "": "3", "-1S": "3"} {
		if got := post(t, "http://"+address+"/Test/Pause", 0, timeoutName, timeout).Get(statusName); got != status {
			t.Errorf("the timeout %q: the status is %q, want %s", timeout, got, status)
		}
	}
}

// longText is the message of longError.
const longText = 500

// longError is an error whose message and details have more bytes than many clients take.
func longError() error {
	return weft.Errorf(weft.FailedPrecondition, "%s", strings.Repeat("明", longText)).WithReason("LONG").WithDetail("some.Type", make([]byte, 3000))
}

// TestLongErrors answers clients that take header blocks of different sizes with an error that has more: they get as much of it as has
// room.
func TestLongErrors(t *testing.T) {
	address := serveHTTP(t, nil, Door(nil))
	for _, x := range []struct {
		most         int64
		chars, least int // of the message
		details      bool
	}{{1 << 10, 100, 10, false}, {4 << 10, maxMessage / 9, 200, false}, {8 << 10, 300, 20, true}, {1 << 20, maxMessage / 9, maxMessage / 9, true}} {
		got := post(t, "http://"+address+"/Test/Fail", x.most)
		if status := got.Get(statusName); status != "9" {
			t.Errorf("%d bytes: the status is %q", x.most, status)
		}
		if d := got.Get(detailsName); (d != "") != x.details {
			t.Errorf("%d bytes: the details are %q", x.most, d)
		}
		text := percent.Decode(got.Get(messageName))
		if n := utf8.RuneCountInString(text); n < x.least || n > x.chars || text != strings.Repeat("明", n) {
			t.Errorf("%d bytes: the message has %d characters, want %d to %d: %q", x.most, n, x.least, x.chars, text)
		}
	}
}
