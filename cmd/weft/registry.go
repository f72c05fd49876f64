package main

import (
	"cmp"
	"crypto/tls"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// source is the registry that a command asks.
type source struct {
	address string
	timeout time.Duration
}

// sourceFlags adds the flags that say where the registry is. The default is no value of
// the flag, which -h would print: there may be a password in it.
func sourceFlags(flags *flag.FlagSet) *source {
	s := new(source)
	flags.StringVar(&s.address, "registry", "",
		"the `address` of the registry: etcd://[user:password@]host:port[,host:port...][/prefix], or etcds:// for TLS\n"+
			"(default $WEFT_REGISTRY, or else etcd://"+etcd.DefaultEndpoint+")")
	flags.DurationVar(&s.timeout, "timeout", 5*time.Second, "the `time` that the registry may take to answer")
	return s
}

// config reads the address.
func (s *source) config() (etcd.Config, error) {
	cfg := etcd.Config{Registry: registry.Config{NoCache: true, Protect: -1}}
	address := cmp.Or(s.address, os.Getenv("WEFT_REGISTRY"), "etcd://"+etcd.DefaultEndpoint)
	scheme, rest, found := strings.Cut(address, "://")
	switch {
	case found && scheme == "etcd":
	case found && scheme == "etcds":
		cfg.TLS = &tls.Config{}
	default:
		return cfg, fmt.Errorf("registry %q: want an address such as etcd://%s; %w", address, etcd.DefaultEndpoint, errUsage)
	}
	hosts, prefix, found := strings.Cut(rest, "/")
	if found && prefix != "" {
		cfg.Prefix = "/" + prefix
	}
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		name, password, _ := strings.Cut(hosts[:at], ":")
		var err, errPassword error
		cfg.Username, err = url.PathUnescape(name)
		cfg.Password, errPassword = url.PathUnescape(password)
		if err != nil || errPassword != nil {
			return cfg, fmt.Errorf("registry: user and password before the @ are not escaped as in a URL; %w", errUsage)
		}
		hosts = hosts[at+1:]
	}
	cfg.Endpoints = strings.Split(hosts, ",")
	return cfg, nil
}

// open opens the registry.
func (s *source) open() (*registry.Registry, error) {
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	return etcd.New(cfg)
}
