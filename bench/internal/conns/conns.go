// Package conns holds the connections of a peer's client, which are opened and
// closed together.
package conns

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/weftrpc/weft/bench/harness"
)

// Number is how many connections cfg asks for: one for each caller, a given number, or as many as each serves so many callers, most of them
// at most. There are never more than callers.
func Number(cfg harness.DialConfig, each, most int) int {
	n := cfg.Conns
	switch n {
	case 0:
		n = min((cfg.Callers+each-1)/each, most)
	case harness.PerCaller:
		n = cfg.Callers
	}
	return min(n, cfg.Callers)
}

// Open are open connections, each as the peer uses it.
type Open[C io.Closer] []C

// Dial opens n TCP connections, and has each made what the peer uses. If one
// fails, it closes those before.
func Dial[C io.Closer](ctx context.Context, addr string, n int, use func(net.Conn) C) (Open[C], error) {
	all := make(Open[C], 0, n)
	var dialer net.Dialer
	for range n {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, use(conn))
	}
	return all, nil
}

// Conns is how many connections there are.
func (o Open[C]) Conns() int { return len(o) }

// Close closes all connections.
func (o Open[C]) Close() error {
	var errs []error
	for _, c := range o {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
