package cluster_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
)

// A client counts the bytes that its servers count, those of every attempt and of streams, also of connections
// that were closed and of servers that have left.
func TestStatsOfBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer, cfg.IdleTimeout = balance.RoundRobin(), time.Minute })
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			var server weft.MethodStats
			for _, n := range f.servers {
				for _, m := range n.srv.Stats().Methods {
					server.RequestBytes += m.RequestBytes
					server.ReplyBytes += m.ReplyBytes
				}
			}
			var client weft.MethodStats
			for _, m := range c.Stats().Methods {
				client.RequestBytes += m.RequestBytes
				client.ReplyBytes += m.ReplyBytes
			}
			if client.RequestBytes != server.RequestBytes || client.ReplyBytes != server.ReplyBytes || client.ReplyBytes == 0 {
				t.Errorf("%s the client counts %d and %d bytes, the servers %d and %d", when, client.RequestBytes, client.ReplyBytes, server.RequestBytes, server.ReplyBytes)
			}
		}
		ofServers := func() (requests, replies uint64) {
			for _, s := range c.Stats().Servers {
				if s.RequestBytes == 0 || s.ReplyBytes == 0 {
					t.Errorf("%s has no bytes: %+v", s.Address, s)
				}
				requests += s.RequestBytes
				replies += s.ReplyBytes
			}
			return requests, replies
		}
		shares(t, c, 30)
		must(t, c.Notify(t.Context(), "Who.Who", &Args{}))
		check("after calls")
		m := statsOf(t, c, "Who.Who")
		if requests, replies := ofServers(); requests != m.RequestBytes || replies != m.ReplyBytes {
			t.Errorf("the servers have %d and %d bytes, the method %d and %d", requests, replies, m.RequestBytes, m.ReplyBytes)
		}

		s, err := c.OpenStream(t.Context(), "Who.Chat", &Args{})
		must(t, err)
		for range 10 {
			must(t, s.Send(&Args{N: 1}))
			must(t, s.Recv(&Reply{}))
		}
		must(t, s.CloseSend())
		if err := s.Recv(&Reply{}); err != io.EOF {
			t.Errorf("the stream has ended with %v", err)
		}
		if chat := statsOf(t, c, "Who.Chat"); chat.RequestBytes == 0 || chat.ReplyBytes == 0 {
			t.Errorf("a stream: %+v", chat)
		}
		check("after a stream")

		for _, n := range f.servers {
			n.fail.Store(weft.Errorf(weft.Unavailable, "no"))
		}
		if _, err = weft.Invoke[Reply](cluster.WithIdempotent(t.Context()), c, "Who.Who", &Args{}); err == nil {
			t.Error("the call went well")
		}
		for _, n := range f.servers {
			n.fail.Store(nil)
		}
		if again := statsOf(t, c, "Who.Who"); again.Retries == 0 || again.RequestBytes < m.RequestBytes+2 {
			t.Errorf("after retries: %+v, before %+v", again, m)
		}
		check("after retries")

		requests, replies := ofServers()
		for range 8 { // the connections are closed after a minute, and what they counted is kept apart some seconds later
			time.Sleep(15 * time.Second)
			check("while the connections rest")
		}
		if now, came := ofServers(); now != requests || came != replies {
			t.Errorf("the servers had %d and %d bytes, and have %d and %d after their connections were closed", requests, replies, now, came)
		}
		shares(t, c, 10)
		check("with new connections")
		must(t, f.servers["a"].srv.Shutdown(t.Context()))
		for range 4 {
			check("when a server has left")
			time.Sleep(10 * time.Second)
		}
		if n := len(c.Stats().Servers); n != 1 {
			t.Errorf("%d servers are left", n)
		}
		shares(t, c, 10)
		check("after calls to the server that is left")
	})
}
