//go:build unix

package chaos

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// role is the variable that makes this program a server: it has its settings.
const role = "WEFT_CHAOS_SERVER"

func TestMain(m *testing.M) {
	if settings := os.Getenv(role); settings != "" {
		if err := serve(settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leak.Main(m)
}

// settings are what a server process is told.
type settings struct {
	Name    string
	Listen  string
	Etcd    string
	Journal string // the file to which it writes the numbers of the calls that ran
}

// Number is the number of a call.
type Number struct{ N uint64 }

// Answer names the server that answered.
type Answer struct{ Server string }

// Order tells a server how to behave from now on.
type Order struct {
	Delay time.Duration // of every call
	Fail  bool          // every call, with Unavailable
}

// Work is the service of the tests.
type Work struct {
	name    string
	journal *os.File
	order   atomic.Pointer[Order]
	runs    atomic.Uint64
}

// Do is not idempotent.
func (w *Work) Do(ctx context.Context, n *Number) (*Answer, error) {
	// One write of eight bytes to a file opened for appending is whole or absent,
	// whatever happens to this process next.
	if _, err := w.journal.Write(binary.LittleEndian.AppendUint64(nil, n.N)); err != nil {
		return nil, err
	}
	return w.Get(ctx, n)
}

// Get is idempotent.
func (w *Work) Get(ctx context.Context, _ *Number) (*Answer, error) {
	w.runs.Add(1)
	o := w.order.Load()
	if o.Delay > 0 {
		select {
		case <-time.After(o.Delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if o.Fail {
		return nil, weft.Errorf(weft.Unavailable, "this server was told to fail")
	}
	return &Answer{w.name}, nil
}

// Obey takes an order, and returns how many calls have run.
func (w *Work) Obey(_ context.Context, o *Order) (*Number, error) {
	w.order.Store(o)
	return &Number{w.runs.Load()}, nil
}

// serve is a server process. It shuts down in peace on SIGTERM.
func serve(text string) error {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	reg, err := etcd.New(etcd.Config{Endpoints: []string{s.Etcd}, Registry: registry.Config{TTL: ttl}})
	if err != nil {
		return err
	}
	defer reg.Close()
	journal, err := os.OpenFile(s.Journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer journal.Close()
	w := &Work{name: s.Name, journal: journal}
	w.order.Store(&Order{})
	// The ID places the server on the ring of a consistent hash, whatever its port.
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg, Instance: weft.Instance{ID: s.Name}})
	if err := srv.RegisterName("Work", w); err != nil {
		return err
	}
	return srv.ListenAndServe(ctx, s.Listen)
}
