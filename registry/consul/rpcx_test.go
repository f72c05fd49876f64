package consul

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestRpcx holds the layout of rpcx to the promises of a driver, and reads what servers of rpcx have published beside a
// server of weft.
func TestRpcx(t *testing.T) {
	t.Parallel()
	s := startConsul(t)
	cfg := Config{Address: s.address, Prefix: "/rpcx_test"}
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			f, err := newFleet(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Probe:   s.Probe,
		Expires: 3 * leastSession,
	})

	f, err := newFleet(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for key, value := range map[string]string{
		"rpcx_test": "rpcx_path", "rpcx_test/Arith": "Arith", "rpcx_test/Arith/": "",
		"rpcx_test/Arith/tcp@10.0.0.1:8972": "weight=5", "rpcx_test/Arith/tcp@10.0.0.2:8972": "state=inactive", "rpcx_test/Arith/kcp@10.0.0.3:8972": "",
	} {
		if _, err := f.d.client.KV().Put(&api.KVPair{Key: key, Value: []byte(value)}, nil); err != nil {
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
			if len(s.Instances) != 3 || len(s.Invalid) != 1 || !strings.Contains(text, "rpcx://10.0.0.1:8972 5") || !strings.Contains(text, "tcp://10.0.0.4:8972 7") {
				return fmt.Errorf("there are %v, and not usable %v", text, s.Invalid)
			}
			return nil
		default:
			return errors.New("no list")
		}
	})
	p, _, err := f.d.client.KV().Get("rpcx_test/Arith/tcp@10.0.0.4:8972", nil)
	if err != nil || p == nil || p.Session == "" || !strings.Contains(string(p.Value), "weight=7") {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := NewRpcx(Config{}); err == nil || !strings.Contains(err.Error(), "BasePath") {
		t.Errorf("no BasePath: %v", err)
	}
}
