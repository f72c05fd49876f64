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
	wait time.Duration
	most int

	mu      sync.Mutex
	waiting map[token]*ticket
	order   list.List // of *ticket
}

func (t *tickets) init(wait time.Duration, most int) {
	t.wait, t.most, t.waiting = wait, most, make(map[token]*ticket)
}

// issue awaits a second connection and returns the token with which it begins.
func (t *tickets) issue(k *ticket) (token, error) {
	k.token = newToken()
	t.mu.Lock()
	defer t.mu.Unlock()
	k.expires = time.Now().Add(t.wait)
	t.expireLocked()
	if len(t.waiting) >= t.most {
		return token{}, weft.Errorf(weft.ResourceExhausted, "%d second connections are awaited already (Config.MaxWaiting of package transfer); try again later", t.most)
	}
	t.waiting[k.token] = k
	k.at = t.order.PushBack(k)
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

func (t *tickets) dropLocked(k *ticket) {
	delete(t.waiting, k.token)
	t.order.Remove(k.at)
}
