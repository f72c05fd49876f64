package doortest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// CarryingClient is a Client of a wire that carries metadata both ways, deadlines and cancellation: Run tests those too.
type CarryingClient interface {
	Client
	// CallWith is Call with metadata. It ends with ctx, and returns the metadata that came back.
	CallWith(ctx context.Context, method string, args, reply any, m weft.Metadata) (back weft.Metadata, err error)
}

// testCarried looks at what arrives with a call, and cancels one.
func testCarried(t *testing.T, k Kit) {
	w := start(t, k, nil)
	c, ok := w.dial().(CarryingClient)
	if !ok {
		return
	}
	must(t, weft.Handle(w.srv, "Test.Around", func(ctx context.Context, _ *Message) (*Message, error) {
		until, ok := ctx.Deadline()
		if !ok {
			return nil, errors.New("there is no deadline")
		}
		trace := weft.MetadataFrom(ctx).Get("trace")
		return &Message{Text: trace, N: int(time.Until(until) / time.Second)}, weft.SetReplyMetadata(ctx, "trace", trace+" seen")
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var seen Message
	back, err := c.CallWith(ctx, "Test.Around", &Message{}, &seen, weft.NewMetadata("trace", "4711"))
	must(t, err)
	if seen.Text != "4711" || back.Get("trace") != "4711 seen" {
		t.Errorf("the handler got the metadata %q, and %q came back", seen.Text, back.Get("trace"))
	}
	if left := time.Duration(seen.N) * time.Second; left < time.Hour-patience || left > time.Hour {
		t.Errorf("the handler of a call that has an hour has %v", left)
	}

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.CallWith(ctx, "Test.Wait", &Message{}, new(Message), weft.Metadata{})
		done <- err
	})
	within(t, w.entered, "the call runs")
	cancel()
	if err := within(t, w.ended, "the handler's context ends"); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if err := within(t, done, "the call ends"); weft.CodeOf(err) != weft.Canceled {
		t.Errorf("a canceled call ended with %v", err)
	}
	wg.Wait()
	echo(t, c, Message{"behind it", 1})
}
