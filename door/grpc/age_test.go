package grpc

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestMaxAge: a connection is drained when it is old enough. Its client makes another one, no call is lost, and a stream that is open goes on.
func TestMaxAge(t *testing.T) {
	const connections = 3
	var server *weft.Server
	c := servedBy(t, Door(&Config{MaxAge: 50 * time.Millisecond}), func(srv *weft.Server) error {
		server = srv
		return errors.Join(
			weft.Handle(srv, "Test.Pause", func(_ context.Context, p *Pause) (*Pause, error) { return p, nil }),
			weft.HandleStream(srv, "Test.Talk", func(_ context.Context, s *weft.Stream[Pause, Pause]) error {
				for p, err := range s.All() {
					if err != nil {
						return err
					}
					if err := s.Send(p); err != nil {
						return err
					}
				}
				return nil
			}))
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := weft.OpenStream[Pause, Pause](ctx, c, "Test.Talk")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	talk := func(n int64) {
		t.Helper()
		if err := stream.Send(&Pause{Number: n}); err != nil {
			t.Fatal(err)
		}
		if p, err := stream.Recv(); err != nil || p.Number != n {
			t.Fatalf("%v, %v, want %d", p, err, n)
		}
	}
	talk(1)
	polltest.True(t, time.Minute, "the client has made other connections", func() bool {
		if _, err := weft.Invoke[Pause](ctx, c, "Test.Pause", &Pause{}); err != nil {
			t.Fatal(err)
		}
		return server.Stats().Accepted >= connections
	})
	talk(2)
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("the end of the stream is %v, want io.EOF", err)
	}
}
