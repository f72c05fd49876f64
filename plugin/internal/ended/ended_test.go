package ended_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/ended"
)

// stream is one whose calls return what they are told to.
type stream struct {
	weft.RawStream
	send, recv error
}

func (s *stream) Send(any) error { return s.send }
func (s *stream) Recv(any) error { return s.recv }
func (s *stream) Close() error   { return nil }

// The end is told once, by the first that reports it.
func TestWatch(t *testing.T) {
	wrong := errors.New("wrong")
	lost := weft.Errorf(weft.Unavailable, "the peer has closed the connection: %w", io.EOF)
	for _, tt := range []struct {
		name string
		make func(s *stream, w weft.RawStream, cancel func())
		want error
	}{
		{"the end of the replies", func(s *stream, w weft.RawStream, _ func()) { s.recv = io.EOF; _ = w.Recv(nil) }, nil},
		{"an error of Recv", func(s *stream, w weft.RawStream, _ func()) { s.recv = wrong; _ = w.Recv(nil) }, wrong},
		{"a lost connection", func(s *stream, w weft.RawStream, _ func()) { s.recv = lost; _ = w.Recv(nil) }, lost},
		{"an error of Send", func(s *stream, w weft.RawStream, _ func()) { s.send = wrong; _ = w.Send(nil) }, wrong},
		{"Send after the end", func(s *stream, w weft.RawStream, _ func()) {
			s.send, s.recv = io.EOF, wrong
			_, _ = w.Send(nil), w.Recv(nil)
		}, wrong},
		{"Close", func(_ *stream, w weft.RawStream, _ func()) { _ = w.Close() }, weft.Canceled},
		{"its context", func(_ *stream, _ weft.RawStream, cancel func()) { cancel() }, context.Canceled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan error, 2)
		s := &stream{}
		w := ended.Watch(ctx, s, func(err error) { told <- err })
		if w.Send(nil) != nil || w.Recv(nil) != nil || len(told) > 0 {
			t.Errorf("%s: it is told before it came", tt.name)
		}
		tt.make(s, w, cancel)
		if err := <-told; !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		_ = w.Close()
		cancel()
		if len(told) > 0 {
			t.Errorf("%s: the end is told twice", tt.name)
		}
	}
}
