package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinels find the master that Sentinels watch over, anew for every connection. The
// library can do so too, but writes to standard error what it finds.
type sentinels struct {
	addresses []string
	master    string
	first     atomic.Int32 // the index of the one that answered last
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
}

// masterLifetime is how long a connection to a master is used. A master that was
// replaced ends its connections itself, unless it does not know.
const masterLifetime = 30 * time.Second

// dialMaster connects to the master.
func (s *sentinels) dialMaster(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := s.find(ctx)
	if err != nil {
		return notConnected{s.master, err}, nil
	}
	return s.dial(ctx, network, address)
}

// find asks one Sentinel after the other for the address of the master. Together they
// have less time than a connection.
func (s *sentinels) find(ctx context.Context) (string, error) {
	n := len(s.addresses)
	timeout := dialTimeout / time.Duration(n+1)
	first := int(s.first.Load())
	var errs []error
	for i := range n {
		at := (first + i) % n
		address, err := s.ask(ctx, s.addresses[at], timeout)
		if err == nil {
			s.first.Store(int32(at))
			return address, nil
		}
		errs = append(errs, fmt.Errorf("the Sentinel %s: %w", s.addresses[at], err))
	}
	return "", fmt.Errorf("no Sentinel names the master %q: %w", s.master, errors.Join(errs...))
}

// ask asks one Sentinel.
func (s *sentinels) ask(ctx context.Context, address string, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := redis.NewSentinelClient(&redis.Options{
		Addr: address, Dialer: s.dial, Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true,
		MaxRetries: -1, PoolSize: 1, DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout,
	})
	defer c.Close()
	at, err := c.GetMasterAddrByName(ctx, s.master).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "", errors.New("it watches over no master of this name")
	case err != nil:
		return "", err
	case len(at) != 2:
		return "", fmt.Errorf("the answer %q is not an address", at)
	}
	return net.JoinHostPort(at[0], at[1]), nil
}
