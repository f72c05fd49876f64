package weft_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// The calls that a peer has open are listed with their ages until they are answered.
func TestOpenCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, func(s *weft.Server) error {
			wait := func(ctx context.Context, d *int) (*int, error) {
				time.Sleep(time.Duration(*d) * time.Second)
				return d, nil
			}
			return errors.Join(weft.Handle(s, "Wait.For", wait), weft.Handle(s, "Wait.Briefly", wait, weft.MethodTimeout(6*time.Second)))
		})
		c := w.dial(nil)
		two, five := 2, 5
		w1 := c.Go(t.Context(), "Wait.For", &five, nil, nil)
		time.Sleep(time.Second)
		w2 := c.Go(t.Context(), "Wait.For", &two, nil, nil)
		time.Sleep(time.Second)
		calls := w.srv.Peers()[0].OpenCalls()
		for _, c := range calls {
			if left := time.Until(c.Deadline); left != weft.DefaultTimeout-c.Age {
				t.Errorf("%v is left of a call that is %v old", left, c.Age)
			}
		}
		if len(calls) != 2 || calls[0].Method != "Wait.For" || calls[0].Age != 2*time.Second || calls[1].Age != time.Second || calls[0].Stream {
			t.Errorf("%+v", calls)
		}
		<-w1.Done
		<-w2.Done
		w3 := c.Go(t.Context(), "Wait.Briefly", &two, nil, nil)
		time.Sleep(time.Second)
		if calls := w.srv.Peers()[0].OpenCalls(); len(calls) != 1 || time.Until(calls[0].Deadline) != 5*time.Second {
			t.Errorf("%+v", calls)
		}
		<-w3.Done
		synctest.Wait()
		if calls := w.srv.Peers()[0].OpenCalls(); len(calls) != 0 {
			t.Errorf("%+v", calls)
		}
		if calls := c.Peer().OpenCalls(); len(calls) != 0 {
			t.Errorf("%+v", calls)
		}
	})
}

// An interceptor of a client is told the number of the attempt.
func TestAttemptOfCallInfo(t *testing.T) {
	w := start(t, nil, nil)
	var got []int
	c := w.dial(&weft.ClientConfig{
		Interceptors: []weft.UnaryInterceptor{func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			got = append(got, info.Attempt)
			return next(ctx, info, req)
		}},
	})
	multiply(t, c)
	multiply(t, c, weft.WithAttempt(2))
	if len(got) != 2 || got[0] != 0 || got[1] != 2 {
		t.Errorf("the attempts have the numbers %v, want 0 and 2", got)
	}
}
