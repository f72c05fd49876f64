package harness

import (
	"context"
	"errors"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/msg"
)

// dialAll connects to every server: caller i uses server i modulo their number,
// unless the peer balances calls itself.
func dialAll(ctx context.Context, t *task, callers int) (Client, error) {
	if b, ok := t.peer.(Balancer); ok && len(t.addrs) > 1 && t.workload != contract.MathNew {
		return b.DialServers(ctx, t.addrs, DialConfig{Codec: t.codec, Callers: callers, Conns: t.conns})
	}
	all := make(clients, 0, len(t.addrs))
	for i, addr := range t.addrs {
		share := (callers - i + len(t.addrs) - 1) / len(t.addrs)
		if share < 1 {
			break // more servers than callers
		}
		cfg := DialConfig{Addr: addr, Codec: t.codec, Callers: share, Conns: t.conns}
		if t.workload == contract.MathNew {
			all = append(all, &fresh{peer: t.peer, cfg: cfg})
			continue
		}
		client, err := t.peer.Dial(ctx, cfg)
		if err != nil {
			all.Close()
			return nil, err
		}
		all = append(all, client)
	}
	return all, nil
}

// clients are one for each server.
type clients []Client

func (cs clients) Caller(i int) (Caller, error) { return cs[i%len(cs)].Caller(i / len(cs)) }

func (cs clients) Conns() (n int) {
	for _, c := range cs {
		n += c.Conns()
	}
	return n
}

func (cs clients) Close() error {
	var errs []error
	for _, c := range cs {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// fresh makes every call on a connection of its own.
type fresh struct {
	peer Peer
	cfg  DialConfig
}

func (f *fresh) Caller(int) (Caller, error) { return f, nil }
func (f *fresh) Conns() int                 { return f.cfg.Callers } // at any moment
func (f *fresh) Close() error               { return nil }

// Call dials, calls and closes.
func (f *fresh) Call(m msg.Method) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return CallOnce(ctx, f.peer, f.cfg, m)
}

// CallOnce makes one call on a connection of its own. ctx bounds the dialing.
func CallOnce(ctx context.Context, peer Peer, cfg DialConfig, m msg.Method) error {
	cfg.Callers, cfg.Conns = 1, 1
	client, err := peer.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	caller, err := client.Caller(0)
	if err == nil {
		err = caller.Call(m)
	}
	return errors.Join(err, client.Close())
}
