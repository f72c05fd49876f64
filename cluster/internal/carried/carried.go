// Package carried adds up the bytes of calls that the clients of several servers count, also of clients that were
// closed. It costs the calls nothing.
package carried

import (
	"sync"
	"time"
)

// Bytes are those of the bodies of requests and replies.
type Bytes struct{ Requests, Replies uint64 }

func (b *Bytes) add(o Bytes) {
	b.Requests += o.Requests
	b.Replies += o.Replies
}

// Client counts the bytes of the calls of each method, as weft.Client does.
type Client interface {
	MethodBytes(method string) (requests, replies uint64)
}

// keepClosed is for how long a client is still read after it was closed: calls that it has cut off count their
// bytes soon after.
const keepClosed = 10 * time.Second

// Sum is the sum of all clients. The zero value is ready. Its methods may be called from any goroutine.
type Sum struct {
	mu      sync.Mutex
	clients map[Client]*Server
	closed  []closed         // of these, in the order in which they were closed
	past    map[string]Bytes // by method, of clients that are no longer read
}

// closed is a client that was closed at a time.
type closed struct {
	c  Client
	at time.Duration
}

// Server is what the clients of one server have carried. The zero value is ready.
type Server struct {
	past Bytes // of clients that are no longer read; guarded by the lock of the sum
}

// Opened adds a client of a server.
func (s *Sum) Opened(c Client, of *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil {
		s.clients, s.past = make(map[Client]*Server), make(map[string]Bytes)
	}
	s.clients[c] = of
}

// Closed notes that a client was closed.
func (s *Sum) Closed(c Client, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = append(s.closed, closed{c, now})
}

// Due reports whether Settle has something to do.
func (s *Sum) Due(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dueLocked(now) > 0
}

// dueLocked is how many clients were closed long enough ago.
func (s *Sum) dueLocked(now time.Duration) (n int) {
	for n < len(s.closed) && now-s.closed[n].at >= keepClosed {
		n++
	}
	return n
}

// Settle keeps the bytes of clients that were closed some time ago, and lets the clients go. methods are all that were
// called.
func (s *Sum) Settle(methods []string, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.dueLocked(now)
	for _, one := range s.closed[:n] {
		for _, m := range methods {
			if b := bytesOf(one.c, m); b != (Bytes{}) {
				sum := s.past[m]
				sum.add(b)
				s.past[m] = sum
				s.clients[one.c].past.add(b)
			}
		}
		delete(s.clients, one.c)
	}
	clear(s.closed[:n])
	s.closed = s.closed[n:]
}

// Read returns the bytes of each of the methods, and those of each server with a client.
func (s *Sum) Read(methods []string) (byMethod []Bytes, byServer map[*Server]Bytes) {
	byMethod, byServer = make([]Bytes, len(methods)), make(map[*Server]Bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range methods {
		byMethod[i] = s.past[m]
	}
	for c, of := range s.clients {
		sum, known := byServer[of]
		if !known {
			sum = of.past
		}
		for i, m := range methods {
			b := bytesOf(c, m)
			byMethod[i].add(b)
			sum.add(b)
		}
		byServer[of] = sum
	}
	return byMethod, byServer
}

func bytesOf(c Client, method string) Bytes {
	requests, replies := c.MethodBytes(method)
	return Bytes{requests, replies}
}
