package pending_test

import (
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/pending"
)

// from is a connection from an address. It notes its end.
type from struct {
	net.Conn
	addr  string
	ended bool
}

func (f *from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.addr), 1))
}

func (f *from) SetDeadline(time.Time) error { f.ended = true; return nil }
func (f *from) Close() error                { f.ended = true; return nil }

// A flood from one address, or from one network of IPv6, does not end the handshakes of others.
func TestOrigins(t *testing.T) { synctest.Test(t, testOrigins) }

func testOrigins(t *testing.T) {
	for _, tt := range []struct{ flood, others []string }{
		{[]string{"10.0.0.1"}, []string{"10.0.0.2", "10.0.0.3", "2001:db8::1"}},
		{[]string{"2001:db8::1", "2001:db8::2", "2001:db8::ffff:1"}, []string{"2001:db8:0:1::1", "10.0.0.2"}},
		{[]string{"10.0.0.1", "::ffff:10.0.0.1"}, []string{"10.0.0.2"}},
	} {
		table := pending.Table{Most: 100, Limit: 2 * time.Hour}
		var good []*from
		for _, addr := range tt.others {
			conn := &from{addr: addr}
			good = append(good, conn)
			if ok, _ := table.Enter(new(pending.Entry), conn); !ok {
				t.Fatal("refused")
			}
		}
		for i := range 2000 {
			time.Sleep(time.Millisecond) // the age of a handshake counts as well
			ok, dropped := table.Enter(new(pending.Entry), &from{addr: tt.flood[i%len(tt.flood)]})
			if !ok || dropped != (i+len(good) >= 100) {
				t.Fatalf("connection %d: taken in %v, in place of another %v", i, ok, dropped)
			}
		}
		for _, conn := range good {
			if conn.ended {
				t.Errorf("a flood from %q ended the handshake of %s", tt.flood, conn.addr)
			}
		}
		table.Close()
	}
}

// What the user's code decides about is not given up for a new connection.
func TestDeciding(t *testing.T) {
	table := pending.Table{Most: 2, Limit: 2 * time.Hour}
	entries := make([]pending.Entry, 2)
	for i := range entries {
		if ok, _ := table.Enter(&entries[i], &from{addr: "10.0.0.1"}); !ok {
			t.Fatal("refused")
		}
		entries[i].Set(pending.Deciding)
	}
	if ok, _ := table.Enter(new(pending.Entry), &from{addr: "10.0.0.2"}); ok {
		t.Error("a third connection was taken in")
	}
	if err := table.Leave(&entries[0]); err != nil {
		t.Error(err)
	}
	if ok, dropped := table.Enter(new(pending.Entry), &from{addr: "10.0.0.2"}); !ok || dropped {
		t.Errorf("in %v, in place of another %v", ok, dropped)
	}
	table.Close()
	if err := table.Leave(&entries[1]); err != pending.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
