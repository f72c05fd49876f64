package load

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/fields"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	weftjson "github.com/weftrpc/weft/codec/json"
)

// maker makes the call that is measured.
type maker struct {
	t       *target.Target
	method  string
	request json.RawMessage
	options []weft.CallOption
}

// newMaker checks the request, and that the method can be measured.
func newMaker(ctx context.Context, p *shell.Shell, t *target.Target, o *options, method, request string) (*maker, error) {
	if !json.Valid([]byte(request)) {
		return nil, fmt.Errorf("bench: the request is no JSON; %w", shell.ErrUsage)
	}
	if scheme := t.Scheme(); target.Untyped(scheme) {
		return nil, fmt.Errorf("bench: the wire %s carries no JSON; %w", scheme, shell.ErrUsage)
	}
	if !o.unknown && strings.Contains(request, `"`) {
		// A method that is not described is called all the same.
		if f, _, err := fields.Learn(ctx, p, t, method); err == nil {
			if _, err := f.CheckAt(ctx, p, t, json.RawMessage(request)); err != nil {
				return nil, err
			}
		}
	}
	return &maker{t, method, json.RawMessage(request), []weft.CallOption{weft.WithCodec(weftjson.New()), weft.WithTimeout(p.Settings.Timeout)}}, nil
}

// call makes the call once.
func (m *maker) call(ctx context.Context) error {
	var reply json.RawMessage
	return m.t.Call(ctx, m.method, m.request, &reply, m.options...)
}

// closedLoop has callers make one call after the other until the time is over or stop ends. Calls that ctx has cut off do not
// count.
func closedLoop(stop, ctx context.Context, o *options, m *maker, r *result) {
	stop, cancel := context.WithTimeout(stop, o.warmUp+o.duration)
	defer cancel()
	r.begin(o.warmUp)
	var callers sync.WaitGroup
	for range o.callers {
		callers.Go(func() {
			for stop.Err() == nil {
				from := time.Now()
				if err := m.call(ctx); err == nil || ctx.Err() == nil {
					r.add(from, from, time.Now(), err)
				}
			}
		})
	}
	callers.Wait()
	r.end()
}

// openLoop begins calls at a rate until the time is over or stop ends. A call counts from when it was
// due: one that had to wait for the generator, or behind o.pending others, has waited.
func openLoop(stop, ctx context.Context, o *options, m *maker, r *result) {
	stop, cancel := context.WithTimeout(stop, o.warmUp+o.duration)
	defer cancel()
	room := make(chan struct{}, o.pending)
	var calls sync.WaitGroup
	began := r.begin(o.warmUp)
	for n := 0; ; n++ {
		due := began.Add(time.Duration(float64(n) / o.rate * float64(time.Second)))
		if !sleepUntil(stop, due) {
			break
		}
		select {
		case room <- struct{}{}:
		case <-stop.Done():
		}
		if stop.Err() != nil {
			break
		}
		calls.Go(func() {
			from := time.Now()
			if err := m.call(ctx); err == nil || ctx.Err() == nil {
				r.add(due, from, time.Now(), err)
			}
			<-room
		})
	}
	calls.Wait()
	r.end()
}

// sleepUntil reports whether the time has come before ctx has ended.
func sleepUntil(ctx context.Context, due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
