package websock

import (
	"bufio"
	"encoding/base64"
	"errors"
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

// Check reports what is wrong with a request that asks for WebSocket.
func Check(r *http.Request) error {
	if r.ContentLength != 0 {
		// net/http would read it from the connection while Next does.
		return errors.New("a request for WebSocket has no body")
	}
	return nil
}

// Accept makes a connection of a request that asks for it; of the subprotocols that the client offers, the first one of
// protocols is chosen. The caller has checked the origin of the request. Accept answers a request that
// it returns an error for.
func Accept(w http.ResponseWriter, r *http.Request, protocols []string, cfg Config) (*Conn, error) {
	if err := Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, err
	}
	t := &taken{ResponseWriter: w, timeout: cfg.Write}
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
	under   *under
}

// Hijack implements http.Hijacker.
func (t *taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.under = &under{Conn: c, timeout: t.timeout}
	return t.under, rw, nil
}
