package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/internal/aside"
)

// Answer is what one server made of a call.
type Answer[R any] struct {
	Instance weft.Instance
	Reply    *R            // nil when Err is set
	Metadata weft.Metadata // that came back, with the error as well
	Err      error         // an *weft.Error
}

// mostAtOnce is how many servers a fan-out asks at the same time.
const mostAtOnce = 256

// Broadcast makes a unary call to every instance of the method's service that rules let the call go to, and waits for all. The error is nil
// only when every one answered well; it joins what went wrong, also of servers that could not be reached. Nothing is made again. For the
// limits of the method it is one call, and all attempts share its deadline.
func Broadcast[R any](ctx context.Context, c *Client, method string, args any, opts ...weft.CallOption) ([]Answer[R], error) {
	answers, err := Inform[R](ctx, c, method, args, opts...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range answers {
		if a.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.Instance.ID, a.Err))
		}
	}
	return answers, errors.Join(errs...)
}

// Inform makes a unary call to every instance, as Broadcast does, and leaves it to the caller what the failure of one means. The error says
// that there was no server to ask.
func Inform[R any](ctx context.Context, c *Client, method string, args any, opts ...weft.CallOption) ([]Answer[R], error) {
	x, instances, err := c.everywhere(ctx, method, args, opts)
	if err != nil {
		return nil, err
	}
	defer x.m.limits.Leave(x.p.most)
	answers, ends := make([]Answer[R], len(instances)), make([]aside.End, len(instances))
	room := make(chan struct{}, mostAtOnce)
	var wg sync.WaitGroup
	for n, i := range instances {
		answers[n].Instance = x.v.instances[i].Clone()
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			ends[n].Run(func() { ask(x, ctx, i, &answers[n]) })
		})
	}
	wg.Wait()
	for n := range ends {
		ends[n].Resume()
	}
	return answers, nil
}

// Fork makes a unary call to every instance, as Broadcast does, returns the first good answer, and cancels the other attempts. The method should be idempotent: most servers run it. When no server answers well the error joins all.
func Fork[R any](ctx context.Context, c *Client, method string, args any, opts ...weft.CallOption) (*Answer[R], error) {
	x, instances, err := c.everywhere(ctx, method, args, opts)
	if err != nil {
		return nil, err
	}
	defer x.m.limits.Leave(x.p.most)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, ends := make([]*Answer[R], len(instances)), make([]aside.End, len(instances))
	ended := make(chan int, len(instances))
	room := make(chan struct{}, mostAtOnce)
	for n, i := range instances {
		answers[n] = &Answer[R]{Instance: x.v.instances[i].Clone()}
		// It ends with its attempt, which ctx ends at the latest.
		go func() {
			room <- struct{}{}
			defer func() {
				<-room
				ended <- n
			}()
			ends[n].Run(func() { ask(x, ctx, i, answers[n]) })
		}()
	}
	var errs []error
	var first *Answer[R]
	var crash *aside.End
	for range instances {
		n := <-ended
		switch a := answers[n]; {
		case ends[n].Crashed():
			crash = &ends[n]
			cancel() // and wait for the others, which still read args
		case a.Err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", a.Instance.ID, a.Err))
		case first == nil:
			first = a
			cancel()
		}
	}
	if crash != nil {
		crash.Resume()
	}
	if first == nil {
		return nil, errors.Join(errs...)
	}
	if s, err := weft.SettingsOf(opts...); err == nil && s.ReplyMetadata != nil {
		*s.ReplyMetadata = first.Metadata
	}
	return first, nil
}

// ask makes the call to one instance.
func ask[R any](x *call, ctx context.Context, i int, a *Answer[R]) {
	one := *x
	one.pick.Now = one.c.now()
	reply := new(R)
	opts := one.deadline.Options(one.opts[:len(one.opts):len(one.opts)])
	opts = append(opts, weft.WithReplyMetadata(&a.Metadata))
	if a.Err = one.send(one.v.servers[i], ctx, reply, opts); a.Err == nil {
		a.Reply = reply
	}
	one.m.count(&one, a.Err)
}

// everywhere returns a call and the instances, by index, that it may go to. It has a place among the method's calls in flight, which must
// be given back.
func (c *Client) everywhere(ctx context.Context, name string, args any, opts []weft.CallOption) (x *call, index []int, err error) {
	m, err := c.method(name)
	if err != nil {
		return nil, nil, err
	}
	x = &call{c: c, m: m, ctx: ctx, kind: unary, args: args, opts: opts, side: rand.Uint64(), began: c.now()}
	if err := x.prepare(); err != nil {
		return nil, nil, err
	}
	if x.target.subset < 0 || len(x.v.sets[x.target.subset].index) == 0 {
		return nil, nil, x.noServer()
	}
	if err := m.limits.Enter(x.p.most, name, x.pick.Now); err != nil {
		return nil, nil, err
	}
	x.until() // before many goroutines ask for it
	return x, x.v.sets[x.target.subset].index, nil
}
