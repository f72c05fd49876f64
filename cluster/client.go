package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/idle"
	"github.com/weftrpc/weft/cluster/internal/journal"
	"github.com/weftrpc/weft/cluster/retry"
)

// Client makes calls to the servers of any number of services. It is a weft.Caller and a weft.StreamCaller. Its methods may be called from
// any goroutine.
type Client struct {
	cfg        Config
	connection weft.ClientConfig // of every server
	around     around
	timeout    time.Duration // of calls that have none; not above zero: none
	budget     *retry.Budget
	panel      *health.Panel
	breakers   *breaker.Settings
	began      time.Time

	methods sync.Map // name → *method, those that are counted by themselves
	last    atomic.Pointer[method]

	retiring sync.Map // links of servers that have left → channels, closed when their calls have ended

	mu       sync.Mutex
	closed   atomic.Bool // set with the lock held
	services *idle.Table[*service]
	servers  map[string]*server // by address
	numbered []*method          // by their numbers

	totals totals // of all servers
	outlook
	life context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

var _ weft.StreamCaller = (*Client)(nil)

// New makes a client. It does not wait for the registry or for any server: calls do, within their deadlines. The client lives until Close.
func New(cfg *Config) (*Client, error) {
	c := &Client{servers: make(map[string]*server), outlook: outlook{kicked: make(chan struct{}, 1)}, began: time.Now()}
	if cfg != nil {
		c.cfg = *cfg
	}
	if err := c.cfg.resolve(); err != nil {
		return nil, err
	}
	c.services, c.told = idle.New[*service](c.cfg.ServiceIdleTimeout), journal.New(c.cfg.Logger)
	var err error
	if c.around, err = gather(c.cfg.Plugins, c.cfg.Logger); err != nil {
		return nil, err
	}
	c.connection = c.cfg.connection()
	if err := checkClient(c.connection); err != nil {
		return nil, err
	}
	c.timeout = c.connection.Timeout
	if c.timeout == 0 {
		c.timeout = weft.DefaultTimeout
	}
	if err := c.govern(); err != nil {
		return nil, err
	}
	c.life, c.stop = context.WithCancel(context.Background())
	c.wg.Add(1)
	// It ends when the client is closed.
	go c.monitor()
	return c, nil
}

// govern makes what bounds and watches all calls.
func (c *Client) govern() (err error) {
	if err := c.cfg.Retry.Check(); err != nil {
		return err
	}
	if c.budget, err = retry.NewBudget(c.cfg.Budget); err != nil {
		return err
	}
	if c.breakers, err = breaker.NewSettings(c.cfg.Breaker); err != nil {
		return err
	}
	c.panel, err = health.NewPanel(c.cfg.Health)
	return err
}

// now is the time on the client's own clock, which never goes back.
func (c *Client) now() time.Duration { return time.Since(c.began) }

// retire closes the client of a server when its calls and streams have ended, however long they last: they are not cut off because the
// server has left the list, or was idle but for a stream. They end with a connection that has died.
func (c *Client) retire(l *link) {
	ended := make(chan struct{})
	c.retiring.Store(l, ended)
	c.wg.Add(1)
	// It ends when the client's calls have ended, or when c is closed.
	go func() {
		defer c.wg.Done()
		_ = l.client.Shutdown(c.life) // of calls that were cut off their callers are told
		c.totals.bytes.Closed(l.client, c.now())
		c.retiring.Delete(l)
		close(ended)
	}()
}

// Close ends the client at once. Open calls fail with Canceled, and errors.Is finds weft.ErrClientClosed in their errors.
func (c *Client) Close() error {
	services, servers := c.shut()
	c.stop() // before, so that no watch begins behind
	for _, s := range services {
		s.close()
	}
	for _, s := range servers {
		if l := s.link.Swap(nil); l != nil {
			l.retired.Store(true)
			l.client.Close()
		}
	}
	c.wg.Wait()
	return nil
}

// Shutdown lets the open calls end and closes the client. New calls fail as after Close. When ctx ends first it closes at once and returns
// an error.
func (c *Client) Shutdown(ctx context.Context) error {
	_, servers := c.shut()
	errs := make([]error, len(servers))
	var cut atomic.Bool
	var wg sync.WaitGroup
	for i, s := range servers {
		if l := s.link.Load(); l != nil {
			wg.Go(func() { errs[i] = l.client.Shutdown(ctx) })
		}
	}
	for _, ended := range c.retiring.Range {
		wg.Go(func() {
			select {
			case <-ended.(chan struct{}):
			case <-ctx.Done():
				cut.Store(true)
			}
		})
	}
	wg.Wait()
	if cut.Load() {
		errs = append(errs, weft.Errorf(weft.CodeOf(ctx.Err()), "cluster: shutdown: calls to servers that have left were still open: %w", context.Cause(ctx)))
	}
	return errors.Join(append(errs, c.Close())...)
}

// shut lets no new call in, and returns what is to be closed.
func (c *Client) shut() (services []*service, servers []*server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed.Store(true)
	return slices.Collect(maps.Values(c.services.Open)), slices.Collect(maps.Values(c.servers))
}

func closedError(method string) error {
	return &weft.Error{Code: weft.Canceled, Outcome: weft.NotSent, Reason: weft.ReasonClosed, Method: method, Message: "the client is closed"}
}
