package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// stall sends the header of a request whose body does not follow.
func (r *rig) stall(verb, host, path string) net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	must(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, verb+" "+path+" HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 1\r\n\r\n")
	must(r.t, err)
	return conn
}

// ends waits until the server has ended a connection.
func (r *rig) ends(conn net.Conn) {
	r.t.Helper()
	must(r.t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		r.t.Error("the connection goes on")
	}
}

// shutDown expects that the server ends by itself.
func (r *rig) shutDown() {
	r.t.Helper()
	r.c.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if err := r.srv.Shutdown(ctx); err != nil {
		r.t.Errorf("Shutdown: %v", err)
	}
}

// TestRefusedStalled: a connection that was not admitted ends also when the body of its request does not come.
func TestRefusedStalled(t *testing.T) {
	r := start(t, nil, func(c *weft.ServerConfig) {
		c.MaxConns = 1
		c.Limits.HandshakeTimeout = 200 * time.Millisecond
	})
	// It takes the one place. A busy machine may send the request too late, which ends its connection.
	polltest.Until(t, patience, "a connection is admitted", func() error {
		answer, err := r.c.Post(r.url+"/Users/Put", "application/json", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 {
			return fmt.Errorf("%s, %v", answer.Status, err)
		}
		return nil
	})
	r.ends(r.stall("POST", "localhost", "/Users/Put"))
	r.shutDown()
}
