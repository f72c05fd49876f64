package websock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Dial makes a connection of one to a server of HTTP, which it closes if it fails. host and path are
// those of the request, header its further header fields.
func Dial(ctx context.Context, conn net.Conn, host, path string, header http.Header, protocols []string, cfg Config) (*Conn, error) {
	u := &under{Conn: conn, timeout: cfg.Write}
	given := func(context.Context, string, string) (net.Conn, error) { return u, nil }
	t := &http.Transport{DialContext: given, DisableCompression: true, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(true)
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ws, answer, err := websocket.Dial(ctx, "ws://"+host+path, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header, Subprotocols: protocols})
	if err == nil {
		return newConn(ws, u, cfg), nil
	}
	_ = conn.Close()
	t.CloseIdleConnections()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, &Refused{Status: answer.StatusCode}
	}
	path, _, _ = strings.Cut(path, "?") // the query may hold secrets
	return nil, fmt.Errorf("the server does not speak WebSocket at %s: %w", path, root(err))
}

// root is the error at the root of one of the library, whose texts name its own functions.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Refused is the error of a server that answers by HTTP in place of WebSocket.
type Refused struct{ Status int }

func (e *Refused) Error() string {
	return fmt.Sprintf("the server answers the request for WebSocket with the HTTP status %d %s", e.Status, http.StatusText(e.Status))
}
