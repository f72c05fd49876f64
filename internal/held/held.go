// Package held counts the bytes that a process holds for its peers, over all connections:
// requests, unread messages, replies that wait to be written. Beyond a bound new work is refused, and
// far beyond it the connection for which most is held ends.
package held

import (
	"sync"
	"sync/atomic"
)

// Memory is what all connections of a server may hold together.
type Memory struct {
	most int64
	held atomic.Int64 // what the accounts hold beyond free, each

	mu       sync.Mutex
	accounts map[*Account]struct{}
}

// Account is what one connection holds. A nil Account counts nothing and has room for all.
type Account struct {
	m    *Memory
	held atomic.Int64
	end  func()
}

const (
	// free is how many bytes of each connection are not counted for all: most connections
	// hold little, and have no counter in common.
	free = 64 << 10
	// closed is more than any account holds: one that was closed is below zero.
	closed = 1 << 62
)

// New returns a memory of most bytes.
func New(most int64) *Memory { return &Memory{most: most, accounts: make(map[*Account]struct{})} }

// Of returns a memory of most bytes; of half of what this process may use, if most is 0; none if
// it is below zero.
func Of(most int64) *Memory {
	switch {
	case most < 0:
		return nil
	case most == 0:
		most = Machine() / 2
	}
	return New(most)
}

// Open opens the account of a connection; end ends the connection when it holds most and
// too much is held. end is called on any goroutine, at most once, and must not wait. A nil memory gives
// a nil account.
func (m *Memory) Open(end func()) *Account {
	if m == nil {
		return nil
	}
	a := &Account{m: m, end: end}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts[a] = struct{}{}
	return a
}

// Held is what is counted over all connections.
func (m *Memory) Held() int64 { return m.held.Load() }

// Room reports whether n bytes of new work may be taken.
func (a *Account) Room(n int64) bool { return a == nil || a.m.held.Load()+n <= a.m.most }

// Take counts n bytes of new work, if there is room for them.
func (a *Account) Take(n int64) bool {
	if !a.Room(n) {
		return false
	}
	a.Add(n)
	return true
}

// Expect counts n bytes that work will come to hold, such as its reply, if a quarter of the memory is
// left then: what is only expected leaves room for what other connections bring.
func (a *Account) Expect(n int64) bool {
	if a != nil && a.m.held.Load()+n > a.m.most-a.m.most/4 {
		return false
	}
	a.Add(n)
	return true
}

// Add counts n bytes more, or fewer if n is below zero. When far too much is held, it ends the
// connection that holds most.
func (a *Account) Add(n int64) {
	if a == nil || n == 0 {
		return
	}
	now := a.held.Add(n)
	if now < 0 {
		return // it was closed
	}
	if d := beyond(now) - beyond(now-n); d != 0 && a.m.held.Add(d) > a.m.most+a.m.most/8 && d > 0 {
		a.m.endWorst()
	}
}

// beyond is how much of what an account holds is counted for all.
func beyond(held int64) int64 { return max(held-free, 0) }

// Close gives back all that the connection holds. What is counted later counts for nothing.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	a.closeLocked()
}

func (a *Account) closeLocked() {
	if _, open := a.m.accounts[a]; open {
		delete(a.m.accounts, a)
		a.m.held.Add(-beyond(a.held.Swap(-closed)))
	}
}

// endWorst ends the connection that holds most.
func (m *Memory) endWorst() {
	m.mu.Lock()
	var worst *Account
	for a := range m.accounts {
		if worst == nil || a.held.Load() > worst.held.Load() {
			worst = a
		}
	}
	if worst == nil || m.held.Load() <= m.most {
		m.mu.Unlock()
		return // another goroutine has ended one
	}
	worst.closeLocked()
	m.mu.Unlock()
	worst.end()
}
