// Package consul keeps weft's servers in HashiCorp Consul, version 1.8 or newer.
//
//	reg, err := consul.New(consul.Config{Address: "localhost:8500"})
//	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
//	client, err := cluster.New(&cluster.Config{Registry: reg})
//
// # What is in Consul
//
// An instance is an ordinary service of Consul, so its own interface, its DNS and its
// other clients see it: "Arith" is the service "weft-Arith", with the address, port and
// weight of the instance, the tags "weft", "group-…", "version-…" and "zone-…", and the
// instance as a whole, in JSON, in its meta: up to 32 KiB in parts of 512 bytes, "weft-01"
// and so on. The servers of Arith are thus what weft-Arith.service.consul stands for.
//
// A server registers with the agent at [Config].Address, the one on its own machine as
// a rule, with a check that becomes critical when the server has not refreshed it for
// the time to live. Clients are shown the instances whose checks pass; an operator who
// sets a service or its node to maintenance takes it away from them. An instance that
// has been critical for a minute leaves the catalog.
//
// Documents are kept in Consul's key-value store, below "weft-documents/", byte for byte.
//
// # What to expect
//
// Lists and documents are waited for with Consul's blocking queries, and their revisions
// are Consul's index. A watch ends at once when the connection breaks, and when the
// agent has said nothing for seven seconds. A client holds one connection to its agent
// for every service and every document that it watches; Consul allows 200 from one
// address (limits.http_max_conns_per_client). With TLS they share one.
//
// A token without the right to read gets an error. Consul before version 1.11 has none
// for lists, and shows an empty one instead.
//
// The package is a module of its own, since Consul's client library requires others. It
// is tested with Consul 1.8, and uses nothing that later versions have changed.
package consul

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft/registry"
)

// DefaultPrefix is the Prefix of a zero Config.
const DefaultPrefix = "weft-"

// Config says where Consul is, and how its services are named. Where a field is empty,
// the environment variables of Consul's own tools count.
type Config struct {
	// Address is that of the agent: "host:port", or a URL with http://, https:// or
	// unix://. "": $CONSUL_HTTP_ADDR, or localhost:8500.
	Address string
	// Token is what Consul's access control knows the process by. Servers need
	// service:write for what they register, clients service:read and node:read, and
	// both key:read or key:write for documents. "": $CONSUL_HTTP_TOKEN.
	Token string
	// Datacenter is the one whose instances and documents are seen. "": that of the
	// agent, with which servers register in any case.
	Datacenter string
	// Namespace is one of Consul Enterprise. "": $CONSUL_NAMESPACE, or "default".
	Namespace string
	// TLS makes the connection use TLS. nil: it does when the address is an https URL,
	// with what $CONSUL_CACERT and the like name.
	TLS *tls.Config
	// Prefix begins the names of Consul's services, and the keys of documents. It has
	// up to 32 letters, digits and hyphens. "": DefaultPrefix.
	Prefix string
	// Registry is what is common to all registries.
	Registry registry.Config
}

// New returns the registry that Consul is, whose methods may be called at the same time.
// It does not ask Consul anything: the agent may be started later. An error means that
// the configuration cannot be used.
func New(cfg Config) (*registry.Registry, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	r, err := registry.New(d.name, d, &cfg.Registry)
	if err != nil {
		d.Close()
		return nil, err
	}
	return r, nil
}

// driver is registry.Driver and registry.Documents for one agent.
type driver struct {
	name       string // for people, and of the cache
	client     *api.Client
	http       *http.Client // of client
	prefix     string
	datacenter string
}

var (
	_ registry.Driver    = (*driver)(nil)
	_ registry.Documents = (*driver)(nil)
)

const (
	maxPrefix   = 32 // bytes
	dialTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
	pingAfter   = 3 * time.Second // silence, and again for the answer
	idlePerHost = 16              // connections that are kept for the next operation
)

func newDriver(cfg Config) (*driver, error) {
	prefix := cmp.Or(cfg.Prefix, DefaultPrefix)
	if len(prefix) > maxPrefix || escape(prefix, '~', "-") != prefix {
		return nil, fmt.Errorf("consul: Config.Prefix is %q, want up to 32 letters, digits and hyphens", cfg.Prefix)
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: idlePerHost,
		IdleConnTimeout:     idleTimeout,
		ForceAttemptHTTP2:   true,
		// All goes over one connection of HTTP/2, whose loss nothing else would notice.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
	}
	conf := &api.Config{Address: cfg.Address, Token: cfg.Token, Namespace: cfg.Namespace, Transport: transport}
	if cfg.TLS != nil {
		conf.Scheme, transport.TLSClientConfig = "https", cfg.TLS.Clone()
	}
	client, err := api.NewClient(conf) // completes conf
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	// For a socket the library has made a transport of its own.
	if t, ok := conf.HttpClient.Transport.(*http.Transport); ok {
		conf.HttpClient.Transport = limited{t, maxReply}
	}
	// An agent does not redirect. A server that does must not get the token.
	conf.HttpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	name := []string{"consul", conf.Address}
	for _, part := range []string{cfg.Datacenter, conf.Namespace, cfg.Prefix} {
		if part != "" {
			name = append(name, part)
		}
	}
	return &driver{strings.Join(name, " "), client, conf.HttpClient, prefix, cfg.Datacenter}, nil
}

// Close implements registry.Driver.
func (d *driver) Close() error {
	d.http.CloseIdleConnections()
	return nil
}

// explain adds to a refusal what right the token lacks.
func explain(err error, right string) error {
	if status, ok := errors.AsType[api.StatusError](err); ok && status.Code == http.StatusForbidden {
		return fmt.Errorf("%w; Config.Token must be one that Consul knows, with the right %s", err, right)
	}
	return err
}
