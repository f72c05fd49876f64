package runner

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// side is which end of a run a process is.
type side int

const (
	serverSide side = iota
	clientSide
)

// hosts are the two network namespaces of a plan, the nearest to two machines
// that one machine has. A nil value has none.
type hosts struct {
	names [2]string
}

// The addresses of both ends, in a block that is meant for such tests (RFC 2544).
const (
	serverHost = "198.18.53.1"
	clientHost = "198.18.53.2"
)

// newHosts makes the namespaces if any run asks for them. It needs root and the
// command ip.
func newHosts(runs []run) (*hosts, error) {
	if !slices.ContainsFunc(runs, func(r run) bool { return r.Network == Namespaces }) {
		return nil, nil
	}
	pid := strconv.Itoa(os.Getpid())
	h := &hosts{names: [2]string{"bench-s-" + pid, "bench-c-" + pid}}
	server, client := h.names[serverSide], h.names[clientSide]
	for _, args := range []string{
		"netns add " + server,
		"netns add " + client,
		"link add vs" + pid + " netns " + server + " type veth peer name vc" + pid + " netns " + client,
		"-n " + server + " addr add " + serverHost + "/30 dev vs" + pid,
		"-n " + client + " addr add " + clientHost + "/30 dev vc" + pid,
		"-n " + server + " link set vs" + pid + " up",
		"-n " + client + " link set vc" + pid + " up",
		"-n " + server + " link set lo up",
		"-n " + client + " link set lo up",
	} {
		if err := ip(args); err != nil {
			h.close()
			return nil, err
		}
	}
	return h, nil
}

func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s (needs root and iproute2)", args, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// prefix is what a command begins with to run on its side of the network.
func (h *hosts) prefix(network Network, s side) []string {
	if network != Namespaces {
		return nil
	}
	return []string{"ip", "netns", "exec", h.names[s]}
}

// listen is where a server listens.
func (h *hosts) listen(network Network) string {
	if network != Namespaces {
		return "127.0.0.1:0"
	}
	return serverHost + ":0"
}

// close removes the namespaces, and with them the link between.
func (h *hosts) close() {
	if h == nil {
		return
	}
	for _, name := range h.names {
		_ = ip("netns del " + name) // one that was never made
	}
}
