package harness

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/internal/msg"
)

// server is a peer that only serves.
type server struct {
	script
	serve func(ctx context.Context, cfg ServeConfig) error
}

func (s *server) Serve(ctx context.Context, cfg ServeConfig) error { return s.serve(ctx, cfg) }

func waits(ctx context.Context, cfg ServeConfig) error {
	cfg.Ready("here:1")
	<-ctx.Done()
	return nil
}

func TestServeChild(t *testing.T) {
	serveTask := Task{Peer: "script", Codec: msg.Raw, Workload: Say}
	tests := []struct {
		name   string
		serve  func(ctx context.Context, cfg ServeConfig) error
		task   Task
		orders []string
		events []string // and then the end
		want   string   // of the error
	}{
		{name: "obeys", serve: waits, task: serveTask, orders: []string{orderUsage, orderUsage}, events: []string{eventReady, eventUsage, eventUsage}},
		{name: "unknown order", serve: waits, task: serveTask, orders: []string{"spin"}, events: []string{eventReady, eventFailed}, want: `"spin"`},
		{
			name: "cannot listen", task: serveTask, events: []string{eventFailed}, want: "no such port",
			serve: func(context.Context, ServeConfig) error { return errors.New("no such port") },
		},
		{
			name: "stops on its own", task: serveTask, events: []string{eventReady, eventFailed}, want: "tired",
			serve: func(_ context.Context, cfg ServeConfig) error { cfg.Ready("here:1"); return errors.New("tired") },
		},
		{name: "unknown peer", serve: waits, task: Task{Peer: "spindle"}, events: []string{eventFailed}, want: `"spindle"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			toChild, childIn := io.Pipe()
			childOut, fromChild := io.Pipe()
			ended := make(chan error, 1)
			go func() { // ends with the child
				ended <- Serve(t.Context(), Peers{&server{serve: test.serve}}, toChild, fromChild)
				toChild.Close()
				fromChild.Close()
			}()
			parent := newLines(childOut, childIn)
			if err := parent.send(test.task); err != nil {
				t.Fatal(err)
			}
			go func() { // ends with the child, at the latest
				for _, o := range test.orders {
					_ = parent.send(order{o}) // a child that failed reads no more
				}
				if test.want == "" {
					childIn.Close()
				}
			}()
			for _, want := range test.events {
				var e event
				if err := parent.receive(&e); err != nil || e.Event != want {
					t.Fatalf("the child said %+v, %v; want %q", e, err, want)
				}
				if want == eventReady && e.Addr != "here:1" || want == eventUsage && e.Usage.CPU == 0 {
					t.Errorf("the event %+v is empty", e)
				}
				if want == eventFailed && !strings.Contains(e.Error, test.want) {
					t.Errorf("the child failed with %q, want %q", e.Error, test.want)
				}
			}
			if err := parent.receive(new(event)); err != io.EOF {
				t.Errorf("the child said more, %v", err)
			}
			if err := <-ended; (err != nil) != (test.want != "") {
				t.Errorf("Serve returned %v", err)
			}
		})
	}
}
