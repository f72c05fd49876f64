package up

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"go.etcd.io/etcd/server/v3/embed"
)

// member is the registry that up runs: an etcd, alone or one of several.
type member struct {
	listen     string // for clients
	peerListen string // for the other members; "": what the cluster says of this one
	data       string
	name       string
	cluster    string // "n1=http://10.0.0.1:2380,…"; "": it is alone
}

// config is that of the etcd.
func (m *member) config() (*embed.Config, error) {
	cfg := embed.NewConfig()
	dir, err := filepath.Abs(m.data)
	if err != nil {
		return nil, err
	}
	cfg.Dir, cfg.Name = dir, m.name
	// Instances change all the time, and their past is not needed.
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, "10m"

	peer, peerListen, err := m.peer()
	if err != nil {
		return nil, err
	}
	cfg.AdvertisePeerUrls, cfg.ListenPeerUrls = []url.URL{*peer}, []url.URL{*peerListen}
	cfg.InitialCluster = m.cluster
	if m.cluster == "" {
		cfg.InitialCluster = cfg.InitialClusterFromName(m.name)
	}
	listen, err := listenURL("listen", m.listen)
	if err != nil {
		return nil, err
	}
	cfg.ListenClientUrls = []url.URL{*listen}
	advertised := *listen
	if ip := net.ParseIP(listen.Hostname()); ip != nil && ip.IsUnspecified() {
		advertised.Host = net.JoinHostPort(reachable(m.cluster, peer), listen.Port())
	}
	cfg.AdvertiseClientUrls = []url.URL{advertised}
	return cfg, nil
}

// peer returns the address of this member for the others, and the one it listens at.
// A member that is alone gets a port of the loopback address that nothing connects to,
// since etcd requires one.
func (m *member) peer() (peer, listen *url.URL, err error) {
	if m.cluster == "" {
		if m.peerListen != "" {
			return nil, nil, fmt.Errorf("up: --peer-listen is for the members of a --cluster; %w", shell.ErrUsage)
		}
		alone := &url.URL{Scheme: "http", Host: "127.0.0.1:0"}
		return alone, alone, nil
	}
	var names []string
	for _, entry := range strings.Split(m.cluster, ",") {
		name, address, _ := strings.Cut(entry, "=")
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" {
			return nil, nil, fmt.Errorf("up: --cluster has %q, want members such as n1=http://10.0.0.1:2380; %w", entry, shell.ErrUsage)
		}
		if slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("up: --cluster has two members called %q; %w", name, shell.ErrUsage)
		}
		if names = append(names, name); name == m.name {
			peer = u
		}
	}
	if peer == nil {
		return nil, nil, fmt.Errorf("up: --name is %q, and the members of --cluster are %s; %w", m.name, strings.Join(names, ", "), shell.ErrUsage)
	}
	at := m.peerListen
	if at == "" {
		if at = peer.Host; net.ParseIP(peer.Hostname()) == nil { // etcd listens at addresses only
			at = ":" + peer.Port()
		}
	}
	listen, err = listenURL("peer-listen", at)
	return peer, listen, err
}

// listenURL makes the URL that etcd wants of an address to listen at.
func listenURL(name, address string) (*url.URL, error) {
	host, port, err := net.SplitHostPort(address)
	switch {
	case host == "":
		host = "0.0.0.0"
	case host == "localhost":
		host = "127.0.0.1"
	}
	if err != nil || net.ParseIP(host) == nil || port == "" {
		return nil, errors.Join(fmt.Errorf("up: --%s is %q, want an address such as 127.0.0.1:2379 or :2379; %w", name, address, shell.ErrUsage), err)
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}, nil
}

// reachable is a name or address of this machine that others can likely reach: the one
// that other members use, or else its first that is not the loopback.
func reachable(cluster string, peer *url.URL) string {
	if cluster != "" {
		return peer.Hostname()
	}
	if own, err := net.InterfaceAddrs(); err == nil {
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
				return n.IP.String()
			}
		}
	}
	return "127.0.0.1"
}
