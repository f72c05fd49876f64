package floorpeer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/msg"
)

// Dial opens the connections and spreads the callers over them evenly.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	n := cfg.Conns
	switch n {
	case 0:
		n = defaultConns
	case harness.PerCaller:
		n = cfg.Callers
	}
	n = min(n, cfg.Callers)
	c := &client{}
	var dialer net.Dialer
	for range n {
		socket, err := dialer.DialContext(ctx, "tcp", cfg.Addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, &conn{writer: writer{socket: socket}})
	}
	for i := range cfg.Callers {
		exchange, err := msg.NewExchange(cfg.Codec)
		if err != nil {
			c.Close()
			return nil, err
		}
		shared := c.conns[i%n]
		one := &caller{
			conn: shared, slot: uint32(len(shared.callers)),
			exchange: exchange, done: make(chan error, 1),
		}
		shared.callers = append(shared.callers, one)
		c.callers = append(c.callers, one)
	}
	for _, conn := range c.conns {
		c.readers.Go(conn.read) // ends when the connection does
	}
	return c, nil
}

type client struct {
	conns   []*conn
	callers []*caller
	readers sync.WaitGroup
}

func (c *client) Caller(i int) (harness.Caller, error) { return c.callers[i], nil }

func (c *client) Conns() int { return len(c.conns) }

func (c *client) Close() error {
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.socket.Close())
	}
	c.readers.Wait()
	return errors.Join(errs...)
}

// caller is a slot of its connection. Its reply is decoded by the reader.
type caller struct {
	conn     *conn
	slot     uint32
	exchange msg.Exchange
	waiting  atomic.Bool // the goroutine that takes this from true to false sends on done
	done     chan error
}

func (c *caller) Call(method msg.Method) error {
	slot := c.slot
	if method == msg.Sleep {
		slot |= waits
	}
	c.conn.open.Add(1)
	if err := c.conn.send(slot, c.exchange.AppendRequest, func() { c.waiting.Store(true) }); err != nil {
		return err
	}
	return <-c.done
}

// complete ends the caller's wait, if it waits.
func (c *caller) complete(err error) {
	if c.waiting.CompareAndSwap(true, false) {
		c.done <- err
	}
}

// conn is one connection with the callers that share it.
type conn struct {
	writer
	callers []*caller // fixed once the reader runs
}

// read delivers replies until the connection ends, and then fails all waiting callers.
func (c *conn) read() {
	in := make([]byte, bufferSize)
	filled := 0
	for {
		n, err := c.socket.Read(in[filled:])
		if err != nil {
			c.fail(err)
			return
		}
		filled += n
		replies := int64(0)
		used, err := eachFrame(in[:filled], func(slot uint32, body []byte) error {
			if int(slot) >= len(c.callers) {
				return fmt.Errorf("a reply for slot %d of %d", slot, len(c.callers))
			}
			replies++
			to := c.callers[slot]
			to.complete(to.exchange.Accept(msg.Say, body))
			return nil
		})
		if err != nil {
			c.fail(err)
			return
		}
		c.open.Add(-replies)
		filled = copy(in, in[used:filled])
	}
}

func (c *conn) fail(err error) {
	c.socket.Close()
	c.refuse(err)
	for _, caller := range c.callers {
		caller.complete(err)
	}
}
