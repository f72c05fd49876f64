package shell

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// progressEvery is how often a line of progress is written again.
const progressEvery = 200 * time.Millisecond

// Progress writes a line on the standard error, and writes it anew until stop is called, which removes it. If
// the standard error is no terminal, it writes nothing. text is called by another goroutine.
func (p *Shell) Progress(text func() string) (stop func()) {
	if !p.Steers() {
		return func() {}
	}
	ended := make(chan struct{})
	var line sync.WaitGroup
	// It ends with stop.
	line.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(p.Status(), "\r%s\x1b[K", p.StatusLine(text()))
			case <-ended:
				fmt.Fprint(p.Status(), "\r\x1b[K")
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		line.Wait()
	})
}

// waitNoticed is how long a command waits for something before it says so.
const waitNoticed = 1500 * time.Millisecond

// shellKey is the key of the Shell of a context.
type shellKey struct{}

// With returns ctx for the functions that a command calls, so that Waiting can write.
func With(ctx context.Context, p *Shell) context.Context {
	return context.WithValue(ctx, shellKey{}, p)
}

// Waiting says on the standard error what the command waits for, if done is not called within waitNoticed.
func Waiting(ctx context.Context, what string) (done func()) {
	p, ok := ctx.Value(shellKey{}).(*Shell)
	if !ok {
		return func() {}
	}
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(waitNoticed, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			fmt.Fprintf(p.Log, "weft: waiting for %s, up to %v (--timeout)\n", what, p.Settings.Timeout)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}
