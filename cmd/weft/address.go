package main

import (
	"fmt"
	"net/url"
	"strings"
)

// address is where a registry is, and who asks.
type address struct {
	kind           string // etcd, zookeeper and so on
	tls            bool
	user, password string
	hosts          []string
	path           string // without a slash before it
}

// parseAddress reads an address such as etcds://user:password@host:port,host:port/path.
func parseAddress(text string) (address, error) {
	kind, rest, found := strings.Cut(text, "://")
	if !found || kind == "" {
		// The text is not repeated: there may be a password in it.
		return address{}, fmt.Errorf("registry: want an address such as etcd://127.0.0.1:2379; %w", errUsage)
	}
	a := address{kind: kind}
	if plain, cut := strings.CutSuffix(kind, "s"); cut && kind != "nacos" && kind != "redis" {
		a.kind, a.tls = plain, true
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.path = path
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		user, password, _ := strings.Cut(hosts[:at], ":")
		var err, errPassword error
		a.user, err = url.PathUnescape(user)
		a.password, errPassword = url.PathUnescape(password)
		if err != nil || errPassword != nil {
			return address{}, fmt.Errorf("registry: user and password before the @ are not escaped as in a URL; %w", errUsage)
		}
		hosts = hosts[at+1:]
	}
	if a.hosts = strings.Split(hosts, ","); hosts == "" && a.kind != "file" {
		return address{}, fmt.Errorf("registry: the address names no host; %w", errUsage)
	}
	return a, nil
}

// prefix is the path with a slash before it, if there is one.
func (a address) prefix() string {
	if a.path == "" {
		return ""
	}
	return "/" + a.path
}
