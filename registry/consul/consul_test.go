package consul

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// server is a Consul of one node that keeps its data on disk.
type server struct {
	*registrytest.Process
	address string // of the HTTP API
	dns     string
}

func startConsul(t *testing.T, args ...string) server {
	t.Helper()
	return startSecured(t, "", args...)
}

// startSecured starts a Consul in which this token may do everything.
func startSecured(t *testing.T, token string, args ...string) server {
	t.Helper()
	port := func() string { return fmt.Sprint(registrytest.FreePort(t)) }
	data, http, dns := t.TempDir(), port(), port()
	s := server{address: "127.0.0.1:" + http, dns: "127.0.0.1:" + dns}
	s.Process = registrytest.NewProcess(t, registrytest.Program{
		Name: "consul",
		Path: registrytest.Find(t, "consul"),
		Args: append([]string{
			"agent", "-server", "-bootstrap-expect=1", "-node=test", "-data-dir=" + data, "-log-level=warn",
			"-bind=127.0.0.1", "-client=127.0.0.1", "-http-port=" + http, "-dns-port=" + dns,
			"-server-port=" + port(), "-serf-lan-port=" + port(), "-serf-wan-port=-1",
			// Elections as quick as Consul can. The tests are many clients at one address.
			"-hcl=performance { raft_multiplier = 1 }",
			"-hcl=limits { http_max_conns_per_client = 5000 }",
		}, args...),
		Data:  data,
		Ready: func(ctx context.Context) error { return serves(ctx, s.address, token) },
	})
	return s
}

// serves reports whether Consul has a leader that writes and, with a token, manages policies:
// a new leader takes the master token before it leaves the legacy mode of its ACL system.
func serves(ctx context.Context, address, token string) error {
	if err := answers(ctx, http.MethodPut, address, "/v1/kv/ready", token); err != nil || token == "" {
		return err
	}
	return answers(ctx, http.MethodGet, address, "/v1/acl/policies", token)
}

// answers reports whether a request with this token succeeds.
func answers(ctx context.Context, method, address, path, token string) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader("x"))
	if err != nil {
		return err
	}
	request.Header.Set("X-Consul-Token", token)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, reply.Status)
	}
	return nil
}

func (s server) driver(t *testing.T) *driver {
	t.Helper()
	return openDriver(t, Config{Address: s.address})
}

func openDriver(t *testing.T, cfg Config) *driver {
	t.Helper()
	d, err := newDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s := startConsul(t)
	registrytest.Run(t, registrytest.Config{
		New:    func(t *testing.T) registry.Driver { return s.driver(t) },
		Server: s,
		Probe:  s.Probe,
	})
}

func TestNew(t *testing.T) {
	t.Setenv("CONSUL_HTTP_ADDR", "")
	t.Setenv("CONSUL_NAMESPACE", "")
	for _, test := range []struct {
		name  string
		cfg   Config
		want  string // the name of the registry
		error string
	}{
		{name: "zero", want: "consul localhost:8500"},
		{name: "address", cfg: Config{Address: "consul.example:80"}, want: "consul consul.example:80"},
		{name: "URL", cfg: Config{Address: "https://consul.example"}, want: "consul consul.example"},
		{
			name: "all that tells lists apart", cfg: Config{Datacenter: "dc2", Namespace: "blue", Prefix: "x-"},
			want: "consul localhost:8500 dc2 blue x-",
		},
		{name: "prefix", cfg: Config{Prefix: "weft/"}, error: "Config.Prefix"},
		{name: "long prefix", cfg: Config{Prefix: strings.Repeat("x", 33)}, error: "Config.Prefix"},
		{name: "socket", cfg: Config{Address: "unix:///run/consul.sock"}, want: "consul /run/consul.sock"},
		{name: "scheme", cfg: Config{Address: "ftp://consul.example"}, error: "ftp"},
		{name: "TTL", cfg: Config{Registry: registry.Config{TTL: time.Millisecond}}, error: "TTL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(test.cfg)
			if err != nil {
				if test.error == "" || !strings.Contains(err.Error(), test.error) {
					t.Errorf("New: %v, want an error with %q", err, test.error)
				}
				return
			}
			if got := r.Name(); test.error != "" || got != test.want {
				t.Errorf("New made %q, want %q, error %q", got, test.want, test.error)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
