package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// address is where a registry is, and the credentials for it.
type address struct {
	kind           string // etcd, zookeeper and so on
	tls            bool
	user, password string
	hosts          []string
	path           string // without a slash before it
}

// parseAddress reads an address such as etcds://user:password@host:port,host:port/path.
func parseAddress(text string) (address, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" {
		// The text is not repeated: there may be a password in it.
		return address{}, fmt.Errorf("registry: want an address such as etcd://127.0.0.1:2379; %w", errUsage)
	}
	a := address{kind: scheme}
	if plain, cut := strings.CutSuffix(scheme, "s"); cut && slices.Contains(kinds(), plain) {
		a.kind, a.tls = plain, true
	}
	switch {
	case !slices.Contains(kinds(), a.kind):
		return address{}, fmt.Errorf("registry: there is no kind %q, only %s; %w", scheme, strings.Join(kinds(), ", "), errUsage)
	case a.kind == "file" && a.tls:
		return address{}, fmt.Errorf("registry: a file has no TLS, want file:///path; %w", errUsage)
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

// kinds are the registries that can be asked. An s behind one of them asks for TLS.
func kinds() []string { return []string{"etcd", "zookeeper", "consul", "redis", "nacos", "file"} }

// prefix is the path with a slash before it, if there is one.
func (a address) prefix() string {
	if a.path == "" {
		return ""
	}
	return "/" + a.path
}
