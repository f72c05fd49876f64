package accept_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/weftrpc/weft/internal/accept"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// odd is a listener that cannot be the key of a map.
type odd struct {
	net.Listener
	_ []int
}

func TestKey(t *testing.T) {
	var all []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, l, odd{Listener: l})
	}
	keys := make(map[any]int)
	for i, l := range all {
		keys[accept.Key(l)] = i
	}
	for i, l := range all {
		if got, ok := keys[accept.Key(l)]; !ok || got != i {
			t.Errorf("listener %d is found as %d, %v", i, got, ok)
		}
	}
}

func TestTemporary(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}, true},
		{&net.OpError{Op: "accept", Err: os.ErrDeadlineExceeded}, true},
		{fmt.Errorf("wrapped: %w", &net.OpError{Op: "accept", Err: syscall.ECONNABORTED}), true},
		{&net.OpError{Op: "accept", Err: syscall.EINVAL}, false},
		{net.ErrClosed, false},
		{syscall.EISDIR, false},
		{errors.New("anything"), false},
	} {
		if got := accept.Temporary(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}
