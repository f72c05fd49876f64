package etcd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// server is a member of a cluster of etcd, on this machine.
type server struct {
	*registrytest.Process
	endpoint string // of clients
	health   string // where it says whether it is well
}

// ports are those of a member that is not there yet.
type ports struct{ client, peer, health string }

func freePorts(t *testing.T) ports {
	t.Helper()
	port := func() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(registrytest.FreePort(t))) }
	return ports{port(), port(), port()}
}

// startServer starts an etcd of one member.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	p := freePorts(t)
	return startAt(t, p, args...)
}

func startAt(t *testing.T, p ports, args ...string) *server {
	t.Helper()
	s := p.server()
	s.Process = registrytest.NewProcess(t, p.program(t, "one", "one=http://"+p.peer, args...))
	return s
}

func (p ports) server() *server {
	return &server{endpoint: p.client, health: "http://" + p.health + "/health"}
}

func (p ports) program(t *testing.T, name, cluster string, args ...string) registrytest.Program {
	t.Helper()
	data, scheme := t.TempDir(), "http://"
	if strings.Contains(strings.Join(args, " "), "--cert-file") {
		scheme = "https://"
	}
	return registrytest.Program{
		Name: "etcd " + name,
		Path: registrytest.Find(t, "etcd"),
		Args: append([]string{
			"--name", name, "--data-dir", data, "--logger", "zap", "--log-level", "error",
			"--listen-client-urls", scheme + p.client, "--advertise-client-urls", scheme + p.client,
			"--listen-peer-urls", "http://" + p.peer, "--initial-advertise-peer-urls", "http://" + p.peer,
			"--initial-cluster", cluster, "--listen-metrics-urls", "http://" + p.health,
		}, args...),
		Env:   []string{"ETCD_UNSUPPORTED_ARCH=" + runtime.GOARCH}, // of Debian's etcd all but amd64
		Data:  data,
		Ready: p.server().healthy,
	}
}

// healthy returns nil when the member serves and knows a leader.
func (s *server) healthy(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.health, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s says %s: %s", s.health, response.Status, body)
	}
	return err
}

// startCluster starts a cluster of several members and waits until all are well.
func startCluster(t *testing.T, members int) []*server {
	t.Helper()
	all := make([]ports, members)
	var names []string
	for i := range all {
		all[i] = freePorts(t)
		names = append(names, fmt.Sprintf("m%d=http://%s", i, all[i].peer))
	}
	cluster := make([]*server, members)
	for i, p := range all {
		program := p.program(t, fmt.Sprintf("m%d", i), strings.Join(names, ","))
		program.Ready = nil // a member alone is never ready
		cluster[i] = p.server()
		cluster[i].Process = registrytest.NewProcess(t, program)
	}
	for _, s := range cluster {
		polltest.Until(t, time.Minute, "every member is well", func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			return s.healthy(ctx)
		})
	}
	return cluster
}

// driver makes a driver that the test closes at its end.
func (s *server) driver(t *testing.T) *driver {
	t.Helper()
	return openDriver(t, Config{Endpoints: []string{s.endpoint}})
}

func openDriver(t *testing.T, cfg Config) *driver {
	t.Helper()
	d, err := newDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// open makes a registry that uses every list at once, so that a test sees what it says.
func open(t *testing.T, cfg Config) *registry.Registry {
	t.Helper()
	cfg.Registry.NoCache, cfg.Registry.Protect, cfg.Registry.Logger = true, -1, slog.New(slog.DiscardHandler)
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// client makes a client of etcd itself.
func (s *server) client(t *testing.T) *clientv3.Client {
	t.Helper()
	return s.driver(t).client
}

func testContext(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
