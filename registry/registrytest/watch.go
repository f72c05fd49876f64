package registrytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
)

// watchPatience is how long a watch may take to show what it should.
const watchPatience = time.Minute

// Watch is a watch of a driver that runs until the end of a test. It is for the tests of
// drivers beside Run.
type Watch struct {
	// Lists gets every list that the driver emits.
	Lists chan registry.List
	// Ended gets the error with which the driver's Watch returns.
	Ended chan error
}

// NewWatch watches a service until the end of the test.
func NewWatch(t *testing.T, d registry.Driver, service string) *Watch {
	t.Helper()
	w := &Watch{make(chan registry.List, 1000), make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	// It ends with its context, for which the cleanup waits.
	go func() {
		defer close(done)
		w.Ended <- d.Watch(ctx, service, func(list registry.List) { w.Lists <- list })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

// Until waits for a list that is as wanted, and returns all lists up to that one. what
// names it in messages.
func (w *Watch) Until(t *testing.T, what string, wanted func(registry.List) bool) []registry.List {
	t.Helper()
	var seen []registry.List
	deadline := time.After(watchPatience)
	for {
		select {
		case list := <-w.Lists:
			seen = append(seen, list)
			if wanted(list) {
				return seen
			}
		case err := <-w.Ended:
			t.Fatalf("Watch ended before it showed %s: %v", what, err)
		case <-deadline:
			t.Fatalf("Watch did not show %s within %v; it showed %+v", what, watchPatience, seen)
		}
	}
}

// Count waits for a list of n instances, and returns it.
func (w *Watch) Count(t *testing.T, n int) registry.List {
	t.Helper()
	all := w.Until(t, fmt.Sprintf("%d instances", n), func(list registry.List) bool { return len(list.Instances) == n })
	return all[len(all)-1]
}
