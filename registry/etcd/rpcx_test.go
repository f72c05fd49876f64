package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestRpcxConformance holds the layout of rpcx to the promises of a driver. What becomes of them when etcd fails is in
// TestConformance.
func TestRpcxConformance(t *testing.T) {
	s := startServer(t)
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			t.Helper()
			d, err := newRpcxDriver(Config{Endpoints: []string{s.endpoint}, Prefix: "/rpcx_test"})
			if err != nil {
				t.Fatal(err)
			}
			return struct{ registry.Driver }{d}
		},
		Probe: s.Probe,
	})
}

// TestRpcxFleet reads what servers of rpcx have published, beside a server of weft, whose entry clients of rpcx
// can read.
func TestRpcxFleet(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	c := s.client(t)
	ctx := testContext(t, time.Minute)
	for key, value := range map[string]string{
		"rpcx_test": "rpcx_path", "rpcx_test/Arith": "Arith", "rpcx_test/Arithmetic/tcp@10.0.0.9:1": "", // of rpcx's plugin
		"rpcx_test/Arith/tcp@10.0.0.1:8972": "weight=5&group=blue", "rpcx_test/Arith/tcp@10.0.0.2:8972": "state=inactive",
		"rpcx_test/Arith/quic@10.0.0.3:8972": "",
	} {
		if _, err := c.Put(ctx, key, value); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewRpcx(Config{Endpoints: []string{s.endpoint}, Prefix: "/rpcx_test", Registry: registry.Config{NoCache: true, Protect: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	told := tell(t, r, "Arith")
	polltest.Until(t, time.Minute, "two are seen", func() error { return told.has(2) })
	own := weft.Instance{Service: "Arith", ID: "own", Address: "tcp://10.0.0.4:8972", Weight: 7, Zone: "z"}
	if _, err := r.Register(own); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, time.Minute, "three are seen", func() error { return told.has(3) })
	told.mu.Lock()
	last := told.all[len(told.all)-1]
	told.mu.Unlock()
	if len(last.Invalid) != 1 || !strings.Contains(last.Invalid[0].Err.Error(), "quic") {
		t.Errorf("not usable: %v", last.Invalid)
	}
	seen := map[string]weft.Instance{}
	for _, i := range last.Instances {
		seen[i.Address] = i
	}
	if i := seen["rpcx://10.0.0.1:8972"]; i.Weight != 5 || i.Group != "blue" || i.State != weft.On {
		t.Errorf("the first is %+v", i)
	}
	if i := seen["rpcx://10.0.0.2:8972"]; i.State != weft.Off {
		t.Errorf("the second is %+v", i)
	}
	if i := seen["tcp://10.0.0.4:8972"]; i.Zone != "z" || i.ID != "own" {
		t.Errorf("weft's own is %+v", i)
	}
	got, err := c.Get(ctx, "rpcx_test/Arith/tcp@10.0.0.4:8972")
	if err != nil || len(got.Kvs) != 1 || !strings.Contains(string(got.Kvs[0].Value), "weight=7") || got.Kvs[0].Lease == 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := NewRpcx(Config{}); err == nil || !strings.Contains(err.Error(), "BasePath") {
		t.Errorf("no BasePath: %v", err)
	}
}
