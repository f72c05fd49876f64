package zookeeper

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestRpcx holds the layout of rpcx to the promises of a driver, and reads what servers of rpcx have published beside a
// server of weft. What becomes of it when ZooKeeper fails is in TestConformance.
func TestRpcx(t *testing.T) {
	t.Parallel()
	server, address := zooKeeper(t, registrytest.FreePort(t), "")
	cfg := Config{Servers: []string{address}, SessionTimeout: patient, Prefix: "rpcx_test"}
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			d, err := newRpcxDriver(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return struct{ registry.Driver }{d}
		},
		Probe:   server.Probe,
		Expires: patient + 2*time.Second,
	})

	d, err := newRpcxDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.writer()
	if err != nil {
		t.Fatal(err)
	}
	for path, value := range map[string]string{
		"/rpcx_test/Arith/tcp@10.0.0.1:8972": "weight=5&group=blue", "/rpcx_test/Arith/tcp@[::1]:8972": "state=inactive", "/rpcx_test/Arith/kcp@10.0.0.3:8972": "",
	} {
		if err := s.create(t.Context(), path, []byte(value), persistent); err != nil {
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
			if text := fmt.Sprint(s.Instances); len(s.Instances) != 3 || len(s.Invalid) != 1 || !strings.Contains(text, "rpcx://[::1]:8972") || !strings.Contains(text, "tcp://10.0.0.4:8972") {
				return fmt.Errorf("there are %v, and not usable %v", text, s.Invalid)
			}
			return nil
		default:
			return errors.New("no list")
		}
	})
	n, err := s.get(t.Context(), "/rpcx_test/Arith/tcp@10.0.0.4:8972", false)
	if err != nil || !strings.Contains(string(n.value), "weight=7") {
		t.Errorf("%q, %v", n.value, err)
	}
	if _, err := NewRpcx(Config{Servers: cfg.Servers}); err == nil || !strings.Contains(err.Error(), "BasePath") {
		t.Errorf("no BasePath: %v", err)
	}
}
