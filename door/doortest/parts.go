package doortest

import (
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// PartsOfRequests holds a door to counting what has come of requests against ServerConfig.MaxMemory before they are whole: begin is
// what a request of 4,000,000 bytes begins with, whose rest never comes.
func PartsOfRequests(t *testing.T, door weft.Door, begin string, register func(*weft.Server) error) {
	const most, parts, part = 16 << 20, 16, 3 << 20
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{door}, Logger: slog.New(slog.DiscardHandler), MaxMemory: most, Timeout: -1,
		Limits: weft.Limits{HandshakeTimeout: time.Hour}})
	must(t, register(srv))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() { _ = srv.Serve(l) })
	defer all.Wait()
	defer srv.Close()
	ended := make(chan struct{}, parts)
	for range parts {
		conn, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		defer conn.Close()
		all.Go(func() {
			if _, err := conn.Write(append([]byte(begin), make([]byte, part)...)); err == nil {
				_, _ = conn.Read(make([]byte, 1)) // it waits for the end
			}
			ended <- struct{}{}
		})
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Errorf("%d MiB of parts of requests are kept, ServerConfig.MaxMemory is %d MiB", parts*part>>20, most>>20)
	}
}
