package main

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
)

// journal writes a line for every call that the server has answered.
type journal struct{ lines chan string }

func newJournal() *journal { return &journal{make(chan string, 10)} }

// plugin is the journal's interceptors as one value.
func (j *journal) plugin() weft.Plugin {
	return weft.Plugin{Name: "journal", Server: j.unary, ServerStream: j.stream}
}

// unary runs around unary calls. What it does before next happens before the handler,
// what it does after next happens when the handler has returned.
func (j *journal) unary(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	reply, err := next(ctx, info, req)
	j.lines <- fmt.Sprintf("journal: %s %s, %s", info.Method, weft.MetadataFrom(ctx).Get("trace-id"), result(err))
	return reply, err
}

// stream runs around streaming calls. The handler gets a RawStream that counts.
func (j *journal) stream(ctx context.Context, info *weft.CallInfo, s weft.RawStream, next weft.StreamFunc) error {
	counting := &countingStream{RawStream: s}
	err := next(ctx, info, counting)
	j.lines <- fmt.Sprintf("journal: %s sent %d messages, %s", info.Method, counting.sent, result(err))
	return err
}

// countingStream counts the messages that the handler sends.
type countingStream struct {
	weft.RawStream
	sent int
}

// Send sends a message and counts it.
func (s *countingStream) Send(msg any) error {
	s.sent++
	return s.RawStream.Send(msg)
}

func result(err error) string {
	if err != nil {
		return weft.CodeOf(err).String()
	}
	return "OK"
}
