package redis

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// news receives the announcements of changes, on one connection for all that is watched.
// It reports no failures: what it misses is seen at the next poll.
type news struct {
	client redis.UniversalClient
	life   context.Context
	stop   context.CancelFunc
	wg     sync.WaitGroup
	wanted chan struct{} // holds one when listeners have changed

	mu        sync.Mutex
	runs      bool
	listeners map[string]map[chan struct{}]struct{} // by the name of the channel
}

func newNews(client redis.UniversalClient) *news {
	n := &news{client: client, wanted: make(chan struct{}, 1), listeners: make(map[string]map[chan struct{}]struct{})}
	n.life, n.stop = context.WithCancel(context.Background())
	return n
}

// close ends it. There are no listeners any more.
func (n *news) close() {
	n.stop()
	n.wg.Wait()
}

// listen returns a channel that holds one after an announcement, and when some may have
// been missed, until stop is called.
func (n *news) listen(channel string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[channel] == nil {
		n.listeners[channel] = make(map[chan struct{}]struct{})
	}
	n.listeners[channel][c] = struct{}{}
	if !n.runs && n.life.Err() == nil {
		n.runs = true
		// It ends with close.
		n.wg.Go(n.run)
	}
	poke(n.wanted)
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners[channel], c)
		if len(n.listeners[channel]) == 0 {
			delete(n.listeners, channel)
		}
		poke(n.wanted)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reconnect is how long it waits before it connects again.
const reconnect = time.Second

// run listens on one connection after another.
func (n *news) run() {
	for n.life.Err() == nil {
		n.connection()
		select {
		case <-n.life.Done():
		case <-time.After(reconnect):
		}
	}
}

// connection listens until a connection fails.
func (n *news) connection() {
	p := n.client.Subscribe(n.life)
	ctx, cancel := context.WithCancel(n.life)
	var wg sync.WaitGroup
	// It ends with ctx, and closes the connection, which ends receive.
	wg.Go(func() {
		defer p.Close()
		n.subscribe(ctx, p)
	})
	receive(ctx, p, n.tell)
	cancel()
	wg.Wait()
}

// subscribe keeps the subscriptions of a connection as they are wanted.
func (n *news) subscribe(ctx context.Context, p *redis.PubSub) {
	has := make(map[string]bool)
	for {
		more, less := n.difference(has)
		if len(more) > 0 && p.Subscribe(ctx, more...) != nil {
			return
		}
		if len(less) > 0 && p.Unsubscribe(ctx, less...) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-n.wanted:
		}
	}
}

// difference returns what is to be subscribed to and what no longer, and makes has what
// there is then.
func (n *news) difference(has map[string]bool) (more, less []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.listeners {
		if !has[c] {
			more = append(more, c)
			has[c] = true
		}
	}
	for c := range has {
		if n.listeners[c] == nil {
			less = append(less, c)
			delete(has, c)
		}
	}
	return more, less
}

// tell wakes the listeners of a channel.
func (n *news) tell(channel string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.listeners[channel] {
		poke(c)
	}
}

// quiet is how long a connection may be silent before it is asked whether it is alive,
// and then how long it may take to answer.
const quiet = 5 * time.Second

// receive tells of announcements, and of subscriptions, before which some were missed,
// until the connection fails.
func receive(ctx context.Context, p *redis.PubSub, tell func(channel string)) {
	asked := false
	for ctx.Err() == nil {
		message, err := p.ReceiveTimeout(ctx, quiet)
		var timeout net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && p.Ping(ctx) == nil:
			asked = true
			continue
		default:
			return
		}
		switch m := message.(type) {
		case *redis.Message:
			tell(m.Channel)
		case *redis.Subscription:
			tell(m.Channel)
		}
	}
}
