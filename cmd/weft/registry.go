package main

import (
	"cmp"
	"crypto/tls"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/consul"
	"github.com/weftrpc/weft/registry/etcd"
	"github.com/weftrpc/weft/registry/file"
	"github.com/weftrpc/weft/registry/nacos"
	"github.com/weftrpc/weft/registry/redis"
	"github.com/weftrpc/weft/registry/zookeeper"
)

const registryHelp = `the ` + "`address`" + ` of the registry (default $WEFT_REGISTRY, or else etcd://127.0.0.1:2379):
etcd://[user:password@]host:port[,host:port...][/prefix]
zookeeper://[user:password@]host[:port][,host[:port]...][/prefix]
consul://[:token@]host:port[/prefix]
redis://[[user]:password@]host[:port][,host[:port]...][/database]
nacos://[user:password@]host:port[,host:port...][/group]
file:///path
with an s behind the kind, such as etcds://, for TLS`

// source is the registry that a command asks.
type source struct {
	text    string
	timeout time.Duration
}

// sourceFlags adds the flags that say where the registry is. The default is no value of
// the flag, which -h would print: there may be a password in it.
func sourceFlags(flags *flag.FlagSet) *source {
	s := new(source)
	flags.StringVar(&s.text, "registry", "", registryHelp)
	flags.DurationVar(&s.timeout, "timeout", 5*time.Second, "the `time` that the registry may take to answer")
	return s
}

// open opens the registry, and returns its address too.
func (s *source) open() (address, *registry.Registry, error) {
	if s.timeout <= 0 {
		return address{}, nil, fmt.Errorf("-timeout is %v, want more than 0; %w", s.timeout, errUsage)
	}
	a, err := parseAddress(cmp.Or(s.text, os.Getenv("WEFT_REGISTRY"), "etcd://"+etcd.DefaultEndpoint))
	if err != nil {
		return address{}, nil, err
	}
	reg, err := a.open()
	return a, reg, err
}

// open opens the registry at an address.
func (a address) open() (*registry.Registry, error) {
	switch a.kind {
	case "etcd":
		return etcd.New(a.etcd())
	case "zookeeper":
		return zookeeper.New(zookeeper.Config{
			Servers: a.hosts, Prefix: a.prefix(), User: a.user, Password: a.password, TLS: a.encryption(), Registry: plain(),
		})
	case "consul":
		if len(a.hosts) != 1 {
			return nil, fmt.Errorf("registry: there are %d hosts, and Consul has one agent; %w", len(a.hosts), errUsage)
		}
		return consul.New(consul.Config{Address: a.hosts[0], Token: a.password, Prefix: a.path, TLS: a.encryption(), Registry: plain()})
	case "redis":
		number := 0
		if a.path != "" {
			var err error
			if number, err = strconv.Atoi(a.path); err != nil {
				return nil, fmt.Errorf("registry: the database %q of Redis is no number; %w", a.path, errUsage)
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
	return nil, fmt.Errorf("registry: the kind %q cannot be opened; %w", a.kind, errUsage)
}

// openFile opens the registry of a file that exists, or of the folder beside it in
// which servers register. Without either the registry would be empty, which for a
// command is more likely a mistake in the path.
func openFile(path string) (*registry.Registry, error) {
	if _, err := os.Stat(path); err != nil {
		if _, beside := os.Stat(path + ".d"); beside != nil {
			return nil, fmt.Errorf("registry: %w, and no server has registered in %s.d", err, path)
		}
	}
	cfg := plain()
	return file.New(path, &cfg)
}

// etcd is how to reach an etcd.
func (a address) etcd() etcd.Config {
	return etcd.Config{
		Endpoints: a.hosts, Prefix: a.prefix(), Username: a.user, Password: a.password, TLS: a.encryption(), Registry: plain(),
	}
}

// encryption is the TLS of an address, nil for none.
func (a address) encryption() *tls.Config {
	if !a.tls {
		return nil
	}
	return &tls.Config{}
}

// plain makes a registry report what it has now: without the cache, and without
// protection against lists that shrink. The command reports failures itself.
func plain() registry.Config {
	return registry.Config{NoCache: true, Protect: -1, Logger: slog.New(slog.DiscardHandler)}
}
