package conns

import (
	"context"
	"net"
	"testing"

	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// counted is a connection that counts how many are open.
type counted struct {
	net.Conn
	open *int
}

func (c counted) Close() error {
	*c.open--
	return c.Conn.Close()
}

func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	open := 0
	all, err := Dial(t.Context(), listener.Addr().String(), 3, func(c net.Conn) counted {
		open++
		return counted{c, &open}
	})
	if err != nil || all.Conns() != 3 || open != 3 {
		t.Fatalf("%d connections, %d open, %v", all.Conns(), open, err)
	}
	if err := all.Close(); err != nil || open != 0 {
		t.Errorf("%d are open after Close, %v", open, err)
	}
	// A connection that cannot be opened closes those before.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Dial(ctx, listener.Addr().String(), 3, func(c net.Conn) counted {
		open++
		cancel()
		return counted{c, &open}
	})
	if err == nil || open != 0 {
		t.Errorf("%d are open after a failure, %v", open, err)
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct{ asked, callers, want int }{
		{0, 1, 1}, {0, 100, 1}, {0, 101, 2}, {0, 5000, 8}, {3, 100, 3}, {3, 2, 2}, {harness.PerCaller, 100, 100},
	} {
		if n := Number(harness.DialConfig{Conns: test.asked, Callers: test.callers}, 100, 8); n != test.want {
			t.Errorf("%d connections asked for %d callers: %d, want %d", test.asked, test.callers, n, test.want)
		}
	}
}
