package etcd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/polltest"
)

// watchers is how many watches etcd has.
func (s *server) watchers(ctx context.Context) (n int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.health, "/health")+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(body), "\netcd_debugging_mvcc_watcher_total ")
	if !found {
		return 0, fmt.Errorf("etcd does not say how many watches it has: %d bytes of metrics", len(body))
	}
	_, err = fmt.Sscan(rest, &n)
	return n, err
}

// wantWatchers waits until etcd has so many watches.
func (s *server) wantWatchers(t *testing.T, what string, least, most int) {
	t.Helper()
	polltest.Until(t, time.Minute, what, func() error {
		n, err := s.watchers(t.Context())
		if err == nil && (n < least || n > most) {
			err = fmt.Errorf("etcd has %d watches, want %d to %d", n, least, most)
		}
		return err
	})
}

// TestUnknownServices: a client of many servers that is asked for any number of names has etcd watch few of them, and none later.
func TestUnknownServices(t *testing.T) {
	s := startServer(t)
	before, err := s.watchers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(&cluster.Config{
		Registry: open(t, Config{Endpoints: []string{s.endpoint}}), FailMode: cluster.Failfast, ServiceIdleTimeout: 2 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	const most = 256 // services without instances, each with a list and a document
	for i := range most + 50 {
		err := c.Call(t.Context(), fmt.Sprintf("No%d.Do", i), &struct{}{}, nil, weft.WithTimeout(time.Minute))
		if weft.CodeOf(err) != weft.Unavailable {
			t.Fatalf("a call of a name that is not there ended with %v", err)
		}
	}
	s.wantWatchers(t, "few names are watched", 0, before+2*most)
	s.wantWatchers(t, "no name is watched", 0, before)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
