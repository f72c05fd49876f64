package transfer

import (
	"container/list"
	"sync"
	"time"

	"github.com/weftrpc/weft"
)

// ticket is a second connection that is awaited.
type ticket struct {
	token   token
	method  string        // of which the second connection is a call
	meta    weft.Metadata // of the call that has asked for it
	args    any           // of that call
	peer    *weft.Peer    // that has made the call; nil: it came by no connection
	expires time.Time
	at      *list.Element // in tickets.order
}

// tickets are the second connections that are awaited. All wait equally long, so those that were issued first expire first.
type tickets struct {
	wait  time.Duration
	most  int
	share int // of most, for the calls of one connection

	mu      sync.Mutex
	waiting map[token]*ticket
	order   list.List          // of *ticket
	of      map[*weft.Peer]int // how many of them have this peer, which is not nil
}

// shares is how many connections can have their share of the tickets at a time.
const shares = 16

func (t *tickets) init(wait time.Duration, most int) {
	t.wait, t.most, t.share = wait, most, max(most/shares, 1)
	t.waiting, t.of = make(map[token]*ticket), make(map[*weft.Peer]int)
}

// issue awaits a second connection and returns the token with which it begins.
func (t *tickets) issue(k *ticket) (token, error) {
	k.token = newToken()
	t.mu.Lock()
	defer t.mu.Unlock()
	k.expires = time.Now().Add(t.wait)
	t.expireLocked()
	if t.of[k.peer] >= t.share {
		return token{}, weft.Errorf(weft.ResourceExhausted, "%d second connections are awaited already for calls of this connection (a sixteenth of Config.MaxWaiting of package transfer); try again later", t.share)
	}
	if len(t.waiting) >= t.most {
		t.forgetLocked()
	}
	if len(t.waiting) >= t.most {
		return token{}, weft.Errorf(weft.ResourceExhausted, "%d second connections are awaited already (Config.MaxWaiting of package transfer); try again later", t.most)
	}
	t.waiting[k.token] = k
	k.at = t.order.PushBack(k)
	if k.peer != nil {
		t.of[k.peer]++
	}
	return k.token, nil
}

// take returns what a token was issued for, once; nil: it is not awaited, or not any more.
func (t *tickets) take(n token) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expireLocked()
	k := t.waiting[n]
	if k != nil {
		t.dropLocked(k)
	}
	return k
}

// expireLocked drops those whose time has passed.
func (t *tickets) expireLocked() {
	now := time.Now()
	for e := t.order.Front(); e != nil; e = t.order.Front() {
		k := e.Value.(*ticket)
		if now.Before(k.expires) {
			return
		}
		t.dropLocked(k)
	}
}

// forgetLocked drops those whose call came by a connection that has ended. They are kept while there is room: a client of HTTP may end the
// connection of each call.
func (t *tickets) forgetLocked() {
	for e := t.order.Front(); e != nil; {
		k := e.Value.(*ticket)
		e = e.Next()
		if k.peer == nil {
			continue
		}
		select {
		case <-k.peer.Done():
			t.dropLocked(k)
		default:
		}
	}
}

func (t *tickets) dropLocked(k *ticket) {
	delete(t.waiting, k.token)
	t.order.Remove(k.at)
	if k.peer == nil {
		return
	}
	if t.of[k.peer]--; t.of[k.peer] == 0 {
		delete(t.of, k.peer)
	}
}
