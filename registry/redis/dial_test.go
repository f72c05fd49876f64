package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// quietAddress names the Redis that the process of TestQuiet asks.
const quietAddress = "WEFT_TEST_REDIS_ADDRESS"

// TestQuiet runs processes whose Redis is not there, or is found by a Sentinel: nothing
// but their logger is told.
func TestQuiet(t *testing.T) {
	t.Parallel()
	if address := os.Getenv(quietAddress); address != "" {
		asksOnce(t, strings.Split(address, ","))
		return
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(registrytest.FreePort(t)))
	_, master := redisServer(t)
	watched := startSentinel(t, "weft", master)
	for name, addresses := range map[string]string{"one server": address, "TLS": "tls:" + address, "a cluster": address + "," + address,
		"a Sentinel that is away": "sentinel:" + address, "a Sentinel": "there:sentinel:" + watched} {
		t.Run(name, func(t *testing.T) {
			var out, said strings.Builder
			cmd := exec.Command(os.Args[0], "-test.run=^TestQuiet$")
			cmd.Env = append(os.Environ(), quietAddress+"="+addresses)
			cmd.Stdout, cmd.Stderr = &out, &said
			if err := cmd.Run(); err != nil || said.Len() > 0 {
				t.Errorf("the process returned %v and wrote to standard error:\n%s\nand to standard output:\n%s", err, &said, &out)
			}
		})
	}
}

// asksOnce uses a Redis until a client has noticed whether it is there.
func asksOnce(t *testing.T, addresses []string) {
	cfg := Config{Registry: registry.Config{NoCache: true, Logger: slog.New(slog.DiscardHandler)}}
	there := false
	for _, a := range addresses {
		a, there = strings.CutPrefix(a, "there:")
		a, watched := strings.CutPrefix(a, "sentinel:")
		if watched {
			cfg.Master = "weft"
		}
		rest, secure := strings.CutPrefix(a, "tls:")
		if secure {
			cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		cfg.Addresses = append(cfg.Addresses, rest)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var told atomic.Pointer[registry.Snapshot]
	defer r.Watch("Arith", func(s *registry.Snapshot) { told.Store(s) })()
	// A Sentinel may be too late for a busy machine, once or twice.
	expected := func(err error) error {
		if there == (err == nil) && (there || strings.Contains(err.Error(), "refused")) {
			return nil
		}
		return fmt.Errorf("it is %v, want that the connection was refused, or nothing: %t", err, there)
	}
	polltest.Until(t, time.Minute, "the client is told whether Redis is there", func() error {
		s := told.Load()
		if s == nil {
			return errors.New("it is told nothing")
		}
		return expected(s.Err)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// As often as the library has connections, and more.
	for range 2 * connections {
		polltest.Until(t, time.Minute, "Load tells whether Redis is there", func() error {
			_, err := r.Load(ctx, "rules/Arith")
			return expected(err)
		})
	}
}
