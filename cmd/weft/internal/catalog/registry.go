// Package catalog opens the registry that a command asks, and reads what is in it.
package catalog

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/consul"
	"github.com/weftrpc/weft/registry/etcd"
	"github.com/weftrpc/weft/registry/file"
	"github.com/weftrpc/weft/registry/nacos"
	"github.com/weftrpc/weft/registry/redis"
	"github.com/weftrpc/weft/registry/zookeeper"
)

// OpenRegistry opens the registry that the command asks, and returns its address too.
func OpenRegistry(p *shell.Shell) (Address, *registry.Registry, error) {
	s := &p.Settings
	if s.Registry == "" && s.Server != "" {
		return Address{}, nil, fmt.Errorf("this is asked of a registry, and --server names a server; give --registry; %w", shell.ErrUsage)
	}
	return Open(p, cmp.Or(s.Registry, "etcd://"+etcd.DefaultEndpoint))
}

// Open opens the registry at an address, with the files of TLS of the settings.
func Open(p *shell.Shell, text string) (Address, *registry.Registry, error) {
	s := &p.Settings
	a, err := ParseAddress(text)
	if err != nil {
		return Address{}, nil, err
	}
	if a.tls {
		if a.config, err = s.Files.Config(); err != nil {
			return Address{}, nil, err
		}
	}
	reg, err := a.open()
	return a, reg, err
}

// open opens the registry at an address.
func (a Address) open() (*registry.Registry, error) {
	switch a.Kind {
	case "etcd":
		return etcd.New(a.Etcd())
	case "zookeeper":
		return zookeeper.New(zookeeper.Config{
			Servers: a.hosts, Prefix: a.prefix(), User: a.user, Password: a.password, TLS: a.encryption(), Registry: plain(),
		})
	case "consul":
		if len(a.hosts) != 1 {
			return nil, fmt.Errorf("registry: there are %d hosts, and Consul has one agent; %w", len(a.hosts), shell.ErrUsage)
		}
		return consul.New(consul.Config{Address: a.hosts[0], Token: a.password, Prefix: a.path, TLS: a.encryption(), Registry: plain()})
	case "redis":
		number := 0
		if a.path != "" {
			var err error
			if number, err = strconv.Atoi(a.path); err != nil {
				return nil, fmt.Errorf("registry: the database %q of Redis is no number; %w", a.path, shell.ErrUsage)
			}
		}
		return redis.New(redis.Config{
			Addresses: a.hosts, User: a.user, Password: a.password, DB: number, TLS: a.encryption(), Registry: plain(),
		})
	case "nacos":
		return nacos.New(nacos.Config{
			Addresses: a.hosts, Username: a.user, Password: a.password, Group: a.path, TLS: a.encryption(), Registry: plain(),
		})
	case "file":
		return openFile("/" + a.path)
	}
	return nil, fmt.Errorf("registry: the kind %q cannot be opened; %w", a.Kind, shell.ErrUsage)
}

// openFile opens the registry of a file that exists, or of the folder beside it in
// which servers register. Without either the registry would be empty, which for a
// command is more likely a mistake in the path.
func openFile(path string) (*registry.Registry, error) {
	if _, err := os.Stat(path); err != nil {
		if _, beside := os.Stat(path + ".d"); beside != nil {
			return nil, shell.Unreadable("registry", fmt.Errorf("%w, and no server has registered in %s.d", err, path))
		}
	}
	cfg := plain()
	return file.New(path, &cfg)
}

// Etcd is how to reach an etcd.
func (a Address) Etcd() etcd.Config {
	return etcd.Config{
		Endpoints: a.hosts, Prefix: a.prefix(), Username: a.user, Password: a.password, TLS: a.encryption(), Registry: plain(),
	}
}

// encryption is the TLS of an address, nil for none.
func (a Address) encryption() *tls.Config {
	if !a.tls {
		return nil
	}
	if a.config == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return a.config
}

// plain makes a registry report what it has now: without the cache, and without
// protection against lists that shrink. The command reports failures itself.
func plain() registry.Config {
	return registry.Config{NoCache: true, Protect: -1, Logger: slog.New(slog.DiscardHandler)}
}
