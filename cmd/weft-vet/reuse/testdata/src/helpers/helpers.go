// Package helpers has handlers that call functions of the package, which store a part of the request or do not.
package helpers

import (
	"context"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
)

type message struct {
	Name  string
	Names []string
	Next  *message
	N     int
}

type server struct {
	mu    sync.Mutex
	seen  sync.Map
	last  string
	names []string
	byKey map[string]*message
	queue chan string
	calls *counter[string]
}

var (
	kept  string
	all   []*message
	other server
)

func register(r weft.Registrar, s *server) {
	_ = weft.HandleReuse(r, "H.Keep", func(ctx context.Context, req, res *message) error {
		keep(req.Name)                          // want `req.Name is kept by keep, but the request is valid until its handler returns only: copy what is kept`
		keepAll(1, req)                         // want `req is kept by keepAll`
		keepAll(1, nil, req)                    // want `req is kept by keepAll`
		indirect(req)                           // want `req is kept by indirect`
		again(req, 3)                           // want `req is kept by again`
		s.remember(req.Name)                    // want `req.Name is stored in s by s.remember`
		s.remember(strings.TrimSpace(req.Name)) // want `is stored in s by s.remember`
		s.store("x", req)                       // want `req is stored in s by s.store`
		s.store(req.Name, nil)                  // want `req.Name is stored in s by s.store`
		s.enqueue(req.Name)                     // want `req.Name is stored in s by s.enqueue`
		s.mark(req.Name)                        // want `req.Name is stored in s by s.mark`
		s.calls.add(req.Name)                   // want `req.Name is stored in s.calls by s.calls.add`
		put(s.byKey, req)                       // want `req is stored in s.byKey by put`
		req.addTo(s)                            // want `req is stored in s by req.addTo`
		add(&other.names, req.Name)             // want `req.Name is stored in &other.names by add`
		local := func(name string) {
			s.last = name // want `name is stored in s.last`
		}
		local(req.Name)
		func(n int, name string) {
			name = strings.Clone(name)
			s.last = name
		}(req.N, req.Name)
		copied := func(name string) { s.last = name }
		copied("x")
		return nil
	})
	_ = weft.HandleReuse(r, "H.Copy", func(ctx context.Context, req, res *message) error {
		keep(strings.Clone(req.Name))
		s.rememberCopy(req.Name)
		s.count(req)
		s.find(req.Name)
		s.wait(req)
		fill(res, req)
		assign("x", req)
		value(server{}, req)
		var mine server
		mine.remember(req.Name)
		put(mine.byKey, req)
		names := map[string]*message{}
		put(names, req)
		s.names = mine.names // want `mine.names is stored in s.names`
		var list []string
		add(&list, req.Name)
		queue := make(chan string, 1)
		send(queue, req.Name)
		fill(req, req.Next)
		track(res)
		return nil
	})
}

func keep(name string) { kept = name }

func keepAll(_ int, list ...*message) { all = list }

func indirect(m *message) { deeper(strings.TrimSpace(m.Name)) }

func deeper(name string) { keep(name) }

func again(m *message, n int) {
	if n > 0 {
		again(m, n-1)
	}
	kept = m.Name
}

func track(m *message) { kept = m.Name }

func (s *server) remember(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

func (s *server) rememberCopy(name string) {
	name = strings.Clone(name)
	s.names = append(s.names, name)
}

func (s *server) store(name string, m *message) { s.byKey[name] = m }

func (s *server) enqueue(name string) { s.queue <- name }

func (s *server) mark(name string) { s.seen.Store(name, true) }

func (s *server) count(m *message) { s.last = strings.Repeat("x", m.N) }

func (s *server) find(name string) bool {
	_, ok := s.byKey[name]
	return ok
}

func (s *server) wait(m *message) {
	done := make(chan string)
	go func() { done <- m.Name }()
	<-done
}

func (m *message) addTo(s *server) { s.byKey["x"] = m }

func put(byKey map[string]*message, m *message) { byKey["x"] = m }

func add(list *[]string, name string) { *list = append(*list, name) }

func send(queue chan string, name string) { queue <- name }

func fill(dst, src *message) { dst.Name, dst.Names = src.Name, src.Names }

func assign(name string, m *message) { name = m.Name; _ = name }

func value(s server, m *message) { s.last = m.Name }

type counter[K comparable] struct{ n map[K]int }

func (c *counter[K]) add(key K) { c.n[key]++ }

// collect has replies of several calls.
func collect(ctx context.Context, orders []string) {
	var replies weft.Reuse[message]
	var list []string
	for _, o := range orders {
		r, err := replies.Invoke(ctx, nil, "H.Keep", o)
		if err != nil {
			return
		}
		add(&list, r.Name) // want `r.Name is stored in &list by add, but the reply is valid until the next call only`
		keep(r.Name)       // want `r.Name is kept by keep`
	}
}
