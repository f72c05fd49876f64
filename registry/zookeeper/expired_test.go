package zookeeper

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
)

// expiring begins a session, ends the connection at the first request, and says then that
// the session has expired. In the sessions after that it has no nodes: to read is errNoNode,
// and everything else goes well.
func expiring(t *testing.T) (address string) {
	t.Helper()
	var connections atomic.Int32
	return silent(t, func(conn net.Conn) {
		n := connections.Add(1)
		// It ends with the connection, which silent closes.
		go func() {
			defer conn.Close()
			if _, err := readRequest(conn); err != nil {
				return
			}
			if n == 2 {
				conn.Write(frame(putBool(putText(putLong(putInt(putInt(make([]byte, 4), 0), 0), 0), make([]byte, 16)), false)))
				return
			}
			welcome(conn)
			for {
				message, err := readRequest(conn)
				if err != nil {
					return
				}
				d := decoder{rest: message}
				xid, what := d.int(), op(d.int())
				if what == opClose || n == 1 && xid > 0 {
					return
				}
				code, body := fault(0), make([]byte, 100)
				if what == opExists || what == opGet {
					code, body = errNoNode, nil
				}
				head := putInt(putLong(putInt(make([]byte, 4), xid), 1), int32(code))
				if _, err := conn.Write(frame(append(head, body...))); err != nil {
					return
				}
			}
		}()
	})
}

// TestExpiredMeanwhile: an operation that waits for a connection when it turns out that the
// session has expired is done in the next session.
func TestExpiredMeanwhile(t *testing.T) {
	i := instance("Arith", "a")
	for _, test := range []struct {
		name string
		do   func(t *testing.T, d *driver) error
		want error
	}{
		{"Put", func(t *testing.T, d *driver) error { return d.Put(operation(t), i, time.Minute) }, nil},
		{"Refresh", func(t *testing.T, d *driver) error { return d.Refresh(operation(t), i, time.Minute) }, registry.ErrLost},
		{"Delete", func(t *testing.T, d *driver) error { return d.Delete(operation(t), i) }, nil},
		{"Load", func(t *testing.T, d *driver) error { _, err := d.Load(operation(t), "rules"); return err }, nil},
		{"Store", func(t *testing.T, d *driver) error { return d.Store(operation(t), "rules", []byte("x"), 0) }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := connect(t, Config{Servers: []string{expiring(t)}, SessionTimeout: time.Minute})
			if err := test.do(t, d); !errors.Is(err, test.want) {
				t.Errorf("it returned %v, want %v", err, test.want)
			}
		})
	}
}
