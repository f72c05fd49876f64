package transfer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

// TestStreamClose closes streams before their handlers return: the client learns by a reset that a handler has failed.
func TestStreamClose(t *testing.T) {
	cert, pool := certificate(t)
	for _, secure := range []bool{false, true} {
		for _, result := range []error{nil, errors.New("the disk is gone")} {
			var cfg weft.ServerConfig
			var clientCfg weft.ClientConfig
			if secure {
				cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
				clientCfg.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
			}
			errs := make(chan error, 10)
			_, addr := serveBy(t, cfg, io.Discard, nil, nil, func(_ context.Context, s *transfer.Stream) error {
				reading := make(chan error, 1)
				go func() { // it ends with the stream
					_, err := io.ReadAll(s)
					reading <- err
				}()
				_, err := io.WriteString(s, "a part")
				errs <- err
				errs <- s.Close()
				errs <- <-reading
				_, err = s.Read(make([]byte, 1))
				errs <- err
				_, err = s.Write([]byte("more"))
				errs <- err
				errs <- s.SetDeadline(time.Time{})
				errs <- s.CloseWrite()
				errs <- s.Close()
				return result
			})
			c := &transfer.Client{Caller: dial(t, "tcp://"+addr, clientCfg), TLS: clientCfg.TLS}
			conn, err := c.OpenStream(t.Context(), nil)
			must(t, err)
			must(t, conn.SetDeadline(time.Now().Add(patience)))
			data, err := io.ReadAll(conn)
			if result == nil && (err != nil || string(data) != "a part") || result != nil && (err == nil || isTimeout(err)) {
				t.Errorf("TLS %v, the handler returned %v: the stream gave %q, %v", secure, result, data, err)
			}
			conn.Close()
			must(t, next(t, errs))
			must(t, next(t, errs))
			for i := range 6 {
				if err := next(t, errs); !errors.Is(err, net.ErrClosed) {
					t.Errorf("%d: %v behind Close, want net.ErrClosed", i, err)
				}
			}
		}
	}
}
