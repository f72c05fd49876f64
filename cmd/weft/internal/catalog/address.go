package catalog

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// Address is where a registry is, and the credentials for it.
type Address struct {
	Kind           string // etcd, zookeeper and so on
	tls            bool
	user, password string
	hosts          []string
	path           string      // without a slash before it
	config         *tls.Config // of a registry with TLS; nil: that of the system
}

// ParseAddress reads an address such as etcds://user:password@host:port,host:port/path.
func ParseAddress(text string) (Address, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" {
		// The text is not repeated: there may be a password in it.
		return Address{}, fmt.Errorf("registry: want an address such as etcd://127.0.0.1:2379; %w", shell.ErrUsage)
	}
	a := Address{Kind: scheme}
	if plain, cut := strings.CutSuffix(scheme, "s"); cut && slices.Contains(kinds(), plain) {
		a.Kind, a.tls = plain, true
	}
	switch {
	case !slices.Contains(kinds(), a.Kind):
		return Address{}, fmt.Errorf("registry: there is no kind %q, only %s; %w", scheme, strings.Join(kinds(), ", "), shell.ErrUsage)
	case a.Kind == "file" && a.tls:
		return Address{}, fmt.Errorf("registry: a file has no TLS, want file:///path; %w", shell.ErrUsage)
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.path = path
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		user, password, _ := strings.Cut(hosts[:at], ":")
		var err, errPassword error
		a.user, err = url.PathUnescape(user)
		a.password, errPassword = url.PathUnescape(password)
		if err != nil || errPassword != nil {
			return Address{}, fmt.Errorf("registry: user and password before the @ are not escaped as in a URL; %w", shell.ErrUsage)
		}
		hosts = hosts[at+1:]
	}
	if a.hosts = strings.Split(hosts, ","); hosts == "" && a.Kind != "file" {
		return Address{}, fmt.Errorf("registry: the address names no host; %w", shell.ErrUsage)
	}
	return a, nil
}

// kinds are the registries that can be asked. An s behind one of them asks for TLS.
func kinds() []string { return []string{"etcd", "zookeeper", "consul", "redis", "nacos", "file"} }

// prefix is the path with a slash before it, if there is one.
func (a Address) prefix() string {
	if a.path == "" {
		return ""
	}
	return "/" + a.path
}

// WithoutPassword is the address of a registry as people may see it.
func WithoutPassword(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	hosts, path, slash := strings.Cut(rest, "/")
	at := strings.LastIndex(hosts, "@")
	if !found || at < 0 {
		return text
	}
	if user, _, password := strings.Cut(hosts[:at], ":"); password {
		hosts = user + ":***" + hosts[at:]
	}
	if slash {
		hosts += "/" + path
	}
	return scheme + "://" + hosts
}

// Members are the addresses of the servers of a registry that has several, each as if it were alone.
func (a Address) Members() []Address {
	var all []Address
	for _, host := range a.hosts {
		one := a
		one.hosts = []string{host}
		all = append(all, one)
	}
	return all
}

// String is the address without the credentials.
func (a Address) String() string {
	kind := a.Kind
	if a.tls {
		kind += "s"
	}
	return kind + "://" + strings.Join(a.hosts, ",") + a.prefix()
}
