// Package nacos keeps weft's servers in Alibaba's Nacos, version 3.
//
//	reg, err := nacos.New(nacos.Config{Addresses: []string{"10.0.0.1:8848", "10.0.0.2:8848"}})
//	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
//	client, err := cluster.New(&cluster.Config{Registry: reg})
//
// # What is in Nacos
//
// An instance is an ephemeral instance of Nacos, in the group "weft" unless
// [Config].Group says otherwise, so its console and its other clients see it: the service
// "Arith" with the host, port and weight, and the instance as a whole, in JSON, in the
// metadata. An operator who takes an instance offline in the console takes it away from
// weft's clients. A document is a configuration of Nacos in the same group: text as it
// is, and what is no text in base64. In names, a byte that is no letter, digit, hyphen,
// underscore or dot is a colon and two hexadecimal digits.
//
// # What to expect
//
// The package speaks the HTTP API of Nacos 3 and needs nothing but the standard library.
// What Nacos pushes to its own clients goes over gRPC, and is not used: each client asks
// for each list and each document every two seconds, and gives a server that does not
// answer three. Nacos' own lists are up to half a second behind.
//
// Some things differ from other registries:
//
//   - Nacos knows an instance by its host and port. Of two instances of one service at the
//     same address, the later one takes the place of the other, whatever their IDs, and an
//     address without host and port, such as that of a Unix socket, cannot be registered.
//   - Nacos 3 may take the heartbeats of an instance and not list it. A new registration is
//     therefore sent twice, and the first refresh after two seconds looks at the list and
//     registers again what it lacks.
//   - Nacos keeps instances in memory. When it was down, servers register again.
//   - Nacos looks for instances that have fallen silent every five seconds, so they go up
//     to five seconds after their time to live.
//   - Nacos takes 1024 bytes of metadata, which is about 700 of an instance's JSON: enough
//     for its names and some tags. If there is no room for them, its load and then its
//     idempotent methods are left out. More is an error of the registration.
//   - Lists have no revision. The version of a document is made of its MD5: one that is
//     changed and changed back has its old version again.
//
// The package is a module of its own, as those of all registries with a server are. It is
// tested with Nacos 3.1.
package nacos

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft/registry"
)

// The defaults of a Config.
const (
	DefaultAddress = "127.0.0.1:8848"
	DefaultGroup   = "weft"
)

// Config says where Nacos is, and where in it weft's servers are.
type Config struct {
	// Addresses are those of the servers of one cluster, of which one is asked, and the
	// next when it fails or gives an answer that is none of Nacos: "host:port", or a URL, whose path is then the context path
	// that is otherwise "/nacos". Empty: DefaultAddress.
	Addresses []string
	// Username and Password log in to a Nacos that asks for it. Clients need the right to
	// read the group, servers to write it. Documents go through Nacos' API for
	// administrators, for which the same right on the group is enough.
	Username, Password string
	// Namespace is the ID of one. "": the public one.
	Namespace string
	// Group holds services and documents: up to 64 letters, digits, and any of -_.
	// "": DefaultGroup.
	Group string
	// TLS makes connections use TLS. nil: those do whose address is an https URL.
	TLS *tls.Config
	// Registry is what is common to all registries.
	Registry registry.Config
}

// New returns the registry that Nacos is, whose methods may be called at the same time.
// It does not ask Nacos anything: it may be started later. An error means that the
// configuration cannot be used.
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

// driver is registry.Driver and registry.Documents for one Nacos.
type driver struct {
	name      string // for people, and of the cache
	client    *client
	namespace string
	group     string
	pollEvery time.Duration // usualPoll

	mu     sync.Mutex
	places map[instanceKey]placed // where this process has put its instances
}

var (
	_ registry.Driver    = (*driver)(nil)
	_ registry.Documents = (*driver)(nil)
)

const maxGroup = 64 // bytes

func newDriver(cfg Config) (*driver, error) {
	d := &driver{namespace: cfg.Namespace, group: cfg.Group, pollEvery: usualPoll, places: make(map[instanceKey]placed)}
	if d.group == "" {
		d.group = DefaultGroup
	}
	if len(d.group) > maxGroup || nacosName(d.group) != d.group {
		return nil, fmt.Errorf("nacos: Config.Group is %q, want up to 64 letters, digits, dots, hyphens and underscores", cfg.Group)
	}
	var err error
	if d.client, err = newClient(cfg); err != nil {
		return nil, fmt.Errorf("nacos: %w", err)
	}
	name := []string{"nacos"}
	for _, base := range d.client.bases {
		name = append(name, base.Host)
	}
	for _, part := range []string{cfg.Namespace, cfg.Group} {
		if part != "" {
			name = append(name, part)
		}
	}
	d.name = strings.Join(name, " ")
	return d, nil
}

// Close implements registry.Driver.
func (d *driver) Close() error {
	d.client.http.CloseIdleConnections()
	return nil
}
