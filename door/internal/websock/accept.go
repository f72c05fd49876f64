package websock

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// tokenPrefix begins the subprotocol by which a page in a browser, which cannot set headers, sends the
// header Authorization.
const tokenPrefix = "weft.authorization."

// Authorization is the header Authorization that a request has as a subprotocol; "": it has none.
func Authorization(r *http.Request) string {
	for t := range tokens(r.Header, "Sec-WebSocket-Protocol") {
		rest, ok := strings.CutPrefix(t, tokenPrefix)
		if !ok {
			continue
		}
		if b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(rest, "=")); err == nil {
			return string(b)
		}
	}
	return ""
}

// version is that of the protocol (RFC 6455, section 4.1).
const version = "13"

// Check reports what is wrong with a request that asks for WebSocket, whose answer has the header h.
func Check(h http.Header, r *http.Request) error {
	if !r.ProtoAtLeast(1, 1) {
		return fmt.Errorf("a request for WebSocket is one of HTTP/1.1, not %s", r.Proto)
	}
	if r.ContentLength != 0 {
		// net/http would read it from the connection while Next does.
		return errors.New("a request for WebSocket has no body")
	}
	if r.Header.Get("Sec-WebSocket-Version") != version {
		h.Set("Sec-WebSocket-Version", version)
		return errors.New("the Sec-WebSocket-Version of the request is not " + version)
	}
	keys := r.Header.Values("Sec-WebSocket-Key")
	if len(keys) != 1 {
		return fmt.Errorf("the request has %d headers Sec-WebSocket-Key, want one", len(keys))
	}
	if key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0])); err != nil || len(key) != 16 {
		return errors.New("the Sec-WebSocket-Key of the request is not 16 bytes in base64")
	}
	return nil
}

// Accept makes a connection of a request that asks for it; of the subprotocols that the client offers, the first one of
// protocols is chosen. The caller has checked the origin of the request. Accept answers a request that
// it returns an error for.
func Accept(w http.ResponseWriter, r *http.Request, protocols []string, cfg Config) (*Conn, error) {
	if err := Check(w.Header(), r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, err
	}
	t := &taken{ResponseWriter: w, timeout: cfg.Write, took: cfg.Took}
	ws, err := websocket.Accept(t, r, &websocket.AcceptOptions{Subprotocols: protocols, OriginPatterns: []string{"*"}})
	if err != nil {
		return nil, err
	}
	return newConn(ws, t.under, cfg), nil
}

// taken keeps the connection that is taken over from net/http.
type taken struct {
	http.ResponseWriter
	timeout time.Duration // of a write
	took    func()        // nil: nothing is told
	under   *under
}

// Hijack implements http.Hijacker.
func (t *taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.under = &under{Conn: c, timeout: t.timeout, took: t.took}
	return t.under, rw, nil
}
