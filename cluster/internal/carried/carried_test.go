package carried

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// fake is a client that has counted some bytes.
type fake struct{ bytes map[string]Bytes }

func (f *fake) MethodBytes(method string) (requests, replies uint64) {
	return f.bytes[method].Requests, f.bytes[method].Replies
}

// The sums stay the same when clients are closed and let go, and take what was counted after the end.
func TestSum(t *testing.T) {
	var s Sum
	var one, other Server
	methods := []string{"A", "B", "C"}
	var clients []*fake
	for i, of := range []*Server{&one, &one, &other} {
		c := &fake{map[string]Bytes{"A": {1, 10}, "B": {uint64(i), 0}}}
		s.Opened(c, of)
		clients = append(clients, c)
	}
	check := func(when string, want Bytes, left int) {
		t.Helper()
		byMethod, byServer := s.Read(methods)
		if byMethod[0] != want || byMethod[1] != (Bytes{3, 0}) || byMethod[2] != (Bytes{}) {
			t.Errorf("%s: %v, want %v of A", when, byMethod, want)
		}
		if sum := byServer[&other]; sum != (Bytes{3, 10}) {
			t.Errorf("%s: %v of the server with an open client", when, sum)
		}
		if sum, open := byServer[&one]; open && sum != (Bytes{want.Requests, want.Replies - 10}) {
			t.Errorf("%s: %v of the other server", when, sum)
		}
		if len(s.clients) != left {
			t.Errorf("%s: %d clients are read, want %d", when, len(s.clients), left)
		}
	}
	check("open", Bytes{3, 30}, 3)
	s.Closed(clients[1], time.Second)
	s.Closed(clients[0], 2*time.Second)
	clients[1].bytes["A"] = Bytes{2, 20} // a call that was cut off
	if s.Due(keepClosed) {
		t.Error("a client that was just closed is due")
	}
	s.Settle(methods, keepClosed)
	check("just closed", Bytes{4, 40}, 3)
	if !s.Due(keepClosed + time.Second) {
		t.Error("a client that was closed long ago is not due")
	}
	s.Settle(methods, keepClosed+time.Second)
	check("one is let go", Bytes{4, 40}, 2)
	s.Settle(methods, time.Hour)
	check("both are let go", Bytes{4, 40}, 1)
	if len(s.closed) != 0 || s.Due(2*time.Hour) {
		t.Errorf("%d closed clients are left", len(s.closed))
	}
	fresh := &fake{map[string]Bytes{"A": {100, 0}}}
	s.Opened(fresh, &one)
	if _, byServer := s.Read(methods); byServer[&one] != (Bytes{104, 30}) {
		t.Errorf("with a new client the server has %v", byServer[&one])
	}
}
