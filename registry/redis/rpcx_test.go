package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestRpcx holds the layout of rpcx to the promises of a driver, and reads what servers of rpcx have published beside a
// server of weft.
func TestRpcx(t *testing.T) {
	t.Parallel()
	server, address := redisServer(t)
	cfg := Config{Addresses: []string{address}, Prefix: "/rpcx_test"}
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			d, err := newRpcxDriver(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return fleet{d}
		},
		Probe: server.Probe,
	})

	c := redis.NewClient(&redis.Options{Addr: address, Protocol: 2})
	defer c.Close()
	for key, value := range map[string]string{
		"rpcx_test": `{"Key":"rpcx_test","Value":"cnBjeF9wYXRo","LastIndex":1}`, "rpcx_test/Arith": `{"Key":"rpcx_test/Arith"}`,
		"rpcx_test/Arith/tcp@10.0.0.1:8972":  `{"Key":"rpcx_test/Arith/tcp@10.0.0.1:8972","Value":"d2VpZ2h0PTU=","LastIndex":7}`,
		"rpcx_test/Arith/tcp@10.0.0.2:8972":  "state=inactive",
		"rpcx_test/Arith/quic@10.0.0.3:8972": "", "rpcx_test/Arith/tcp@10.0.0.5:8972": "{",
	} {
		if err := c.Set(t.Context(), key, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Registry = registry.Config{NoCache: true, Protect: -1}
	r, err := NewRpcx(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Register(weft.Instance{Service: "Arith", ID: "own", Address: "tcp://10.0.0.4:8972", Weight: 7}); err != nil {
		t.Fatal(err)
	}
	lists := make(chan *registry.Snapshot, 64)
	defer r.Watch("Arith", func(s *registry.Snapshot) {
		select {
		case lists <- s:
		default:
		}
	})()
	polltest.Until(t, time.Minute, "all are seen", func() error {
		select {
		case s := <-lists:
			text := fmt.Sprint(s.Instances)
			if len(s.Instances) != 3 || len(s.Invalid) != 2 || !strings.Contains(text, "rpcx://10.0.0.1:8972 5") || !strings.Contains(text, "tcp://10.0.0.4:8972 7") {
				return fmt.Errorf("there are %v, and not usable %v", text, s.Invalid)
			}
			return nil
		default:
			return errors.New("no list")
		}
	})
	got, err := c.Get(t.Context(), "rpcx_test/Arith/tcp@10.0.0.4:8972").Result()
	if err != nil || !strings.HasPrefix(got, `{"Key":"rpcx_test/Arith/tcp@10.0.0.4:8972","Value":"`) {
		t.Errorf("%q, %v", got, err)
	}
	for want, cfg := range map[string]Config{"BasePath": {Addresses: []string{address}}, "one of Addresses": {Addresses: []string{address, address}, Prefix: "x"}} {
		if _, err := NewRpcx(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
