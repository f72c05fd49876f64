package figures

import (
	"slices"
	"strconv"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
)

// Watched are the servers and clients that a plugin shows. All methods may be called from any
// goroutine. The zero value is ready.
type Watched struct {
	mu       sync.Mutex
	servers  []Named[*weft.Server]
	clients  []Named[*weft.Client]
	clusters []Named[*cluster.Client]
}

// Named is a server or a client with the name that tells it from others.
type Named[T any] struct {
	Name string
	Of   T
}

// free is a name that is not taken: name itself, or with a number behind it. Two servers, or two clients, of one name would
// have the same time series, which Prometheus refuses together with all others.
func free(name string, taken func(string) bool) string {
	out := name
	for n := 2; taken(out); n++ {
		if out = strconv.Itoa(n); name != "" {
			out = name + "-" + out
		}
	}
	return out
}

func (w *Watched) serverLocked(name string) bool { return named(w.servers, name) }

func (w *Watched) clientLocked(name string) bool {
	return named(w.clients, name) || named(w.clusters, name)
}

func named[T any](all []Named[T], name string) bool {
	return slices.ContainsFunc(all, func(one Named[T]) bool { return one.Name == name })
}

// Server adds a server. name is the label weft_name of its figures; "": none. One that is taken gets a number.
func (w *Watched) Server(name string, of *weft.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers = append(w.servers, Named[*weft.Server]{free(name, w.serverLocked), of})
}

// Client adds a client of one server.
func (w *Watched) Client(name string, of *weft.Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients = append(w.clients, Named[*weft.Client]{free(name, w.clientLocked), of})
}

// Cluster adds a client of many servers.
func (w *Watched) Cluster(name string, of *cluster.Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters = append(w.clusters, Named[*cluster.Client]{free(name, w.clientLocked), of})
}

// Servers are the servers, in the order in which they were added.
func (w *Watched) Servers() []Named[*weft.Server] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.servers)
}

// Clients are the clients of one server each.
func (w *Watched) Clients() []Named[*weft.Client] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.clients)
}

// Clusters are the clients of many servers.
func (w *Watched) Clusters() []Named[*cluster.Client] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.clusters)
}
