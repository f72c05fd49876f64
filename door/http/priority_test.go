package http_test

import (
	"context"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

// TestPriority calls with each priority, and with one that there is not.
func TestPriority(t *testing.T) {
	r := start(t, nil, func(c *weft.ServerConfig) {
		c.Overload.MayBeCritical = func(*weft.Peer) bool { return true }
	})
	seen := make(chan weft.Priority, 1)
	must(t, weft.Handle(r.srv, "Test.Priority", func(ctx context.Context, _ *User) (*User, error) {
		seen <- weft.PriorityFrom(ctx)
		return &User{}, nil
	}))
	for name, want := range map[string]weft.Priority{
		"": weft.PriorityDefault, "critical": weft.PriorityCritical, "sheddable": weft.PrioritySheddable,
	} {
		if status := r.callWith(t, "/Test/Priority", "Weft-Priority", name); status != nethttp.StatusOK {
			t.Fatalf("priority %q: status %d", name, status)
		}
		if got := <-seen; got != want {
			t.Errorf("a call with priority %q ran with %v", name, got)
		}
	}
	if status := r.callWith(t, "/Test/Priority", "Weft-Priority", "urgent"); status != nethttp.StatusBadRequest {
		t.Errorf("an unknown priority: status %d", status)
	}
}

// callWith posts an empty message with one header, and returns the status.
func (r *rig) callWith(t *testing.T, path, header, value string) int {
	t.Helper()
	request, err := nethttp.NewRequestWithContext(t.Context(), "POST", r.url+path, strings.NewReader("{}"))
	must(t, err)
	request.Header.Set("Content-Type", "application/json")
	if value != "" {
		request.Header.Set(header, value)
	}
	answer, err := r.c.Do(request)
	must(t, err)
	must(t, answer.Body.Close())
	return answer.StatusCode
}
