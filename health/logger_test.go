package health_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/health"
)

// A check that fails is told to the logger of the server, unless the configuration has one.
func TestLogger(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var servers, healths bytes.Buffer
			srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.NewTextHandler(&servers, nil))})
			cfg := &health.Config{Checks: []health.Check{{Name: "database", Func: func(context.Context) error { return errors.New("it is down") }}}}
			if own {
				cfg.Logger = slog.New(slog.NewTextHandler(&healths, nil))
			}
			_, err := health.New(srv, cfg)
			must(t, err)
			synctest.Wait()
			srv.Close()
			synctest.Wait()
			if strings.Contains(servers.String(), "check=database") == own || strings.Contains(healths.String(), "check=database") != own {
				t.Errorf("own logger %v: the server's has %q, that of health %q", own, servers.String(), healths.String())
			}
		})
	}
}
