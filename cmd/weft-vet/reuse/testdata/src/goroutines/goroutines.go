// Package goroutines starts goroutines that use a request, and waits for some of them.
package goroutines

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftrpc/weft"
)

type message struct {
	Name  string
	Names []string
}

type server struct {
	group sync.WaitGroup
	last  string
	names chan string
}

// client has a method Go that takes no function.
type client struct{}

func (client) Go(method string, args any) {}

func use(string) {}

func (m *message) work() {}

func register(r weft.Registrar, s *server) {
	_ = weft.HandleReuse(r, "G.Left", func(ctx context.Context, req, res *message) error {
		var group sync.WaitGroup
		group.Go(func() {
			use(req.Name) // want `req is used by a goroutine, but the request is valid until its handler returns only: copy what is kept`
		})
		group.Go(req.work) // want `req.work is given to a goroutine`
		later := func() { use(req.Name) }
		group.Go(later) // want `later is given to a goroutine`
		name := strings.Clone(req.Name)
		group.Go(func() { use(name) })
		s.group.Go(func() {
			use(req.Name) // want `req is used by a goroutine`
		})
		errs, ctx := errgroup.WithContext(ctx)
		errs.Go(func() error {
			use(req.Name) // want `req is used by a goroutine`
			return nil
		})
		errs.TryGo(func() error {
			use(req.Name) // want `req is used by a goroutine`
			return nil
		})
		time.AfterFunc(time.Second, func() {
			use(req.Name) // want `req is used by a goroutine`
		})
		stop := context.AfterFunc(ctx, func() {
			use(req.Name) // want `req is used by a goroutine`
		})
		defer stop()
		time.AfterFunc(time.Second, func() { use(name) })
		client{}.Go("A.B", req.Name) // a call is taken not to keep it
		return nil
	})
	_ = weft.HandleReuse(r, "G.Waited", func(ctx context.Context, req, res *message) error {
		var group sync.WaitGroup
		for _, name := range req.Names {
			group.Go(func() {
				use(name)
				s.last = name // want `name is stored in s.last`
			})
		}
		group.Wait()
		group.Go(func() {
			use(req.Name) // want `req is used by a goroutine`
		})
		errs, _ := errgroup.WithContext(ctx)
		errs.SetLimit(2)
		errs.Go(func() error {
			use(req.Name)
			return nil
		})
		if err := errs.Wait(); err != nil {
			return err
		}
		s.group.Go(func() { use(req.Name) })
		s.group.Wait()
		return nil
	})
	_ = weft.HandleReuse(r, "G.Deferred", func(ctx context.Context, req, res *message) error {
		var one, two, three, four sync.WaitGroup
		defer one.Wait()
		defer func() {
			two.Wait()
		}()
		one.Go(func() { use(req.Name) })
		two.Go(func() { use(req.Name) })
		done := make(chan bool)
		go func() {
			three.Wait()
			close(done)
		}()
		three.Go(func() {
			use(req.Name) // want `req is used by a goroutine`
		})
		select {
		case <-done:
		case <-ctx.Done():
		}
		each := func(f func(string)) { f("x") }
		each(func(name string) {
			four.Go(func() { use(name + req.Name) })
		})
		four.Wait()
		return nil
	})
	_ = weft.HandleReuse(r, "G.Statement", func(ctx context.Context, req, res *message) error {
		var group sync.WaitGroup
		group.Add(1)
		go func() {
			defer group.Done()
			use(req.Name) // want `req is used by a goroutine`
		}()
		group.Wait()
		return nil
	})
}

func channels(r weft.Registrar, s *server) {
	_ = weft.HandleReuse(r, "C.Waited", func(ctx context.Context, req, res *message) error {
		jobs := make(chan string)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for name := range jobs {
					use(name)
					s.last = name // want `name is stored in s.last`
				}
			})
		}
		for _, name := range req.Names {
			select {
			case jobs <- name:
			case <-ctx.Done():
			}
		}
		close(jobs)
		group.Wait()

		pointers := make(chan *message, 1)
		var errs errgroup.Group
		defer errs.Wait()
		errs.Go(func() error { return s.work(pointers) })
		pointers <- req
		pointers <- res
		names := make(chan string, 1)
		go func() {
			<-ctx.Done()
			close(names)
		}()
		names <- req.Name
		name, ok := <-names
		s.last = name // want `name is stored in s.last`
		if ok {
			s.last = <-names // want `<-names is stored in s.last`
		}
		return nil
	})
	_ = weft.HandleReuse(r, "C.Left", func(ctx context.Context, req, res *message) error {
		jobs := make(chan string)
		var group sync.WaitGroup
		group.Go(func() {
			for name := range jobs { // want `jobs is used by a goroutine`
				use(name)
			}
		})
		jobs <- req.Name
		replies := make(chan *message)
		go func() {
			<-replies // want `replies is used by a goroutine`
		}()
		replies <- res
		started := make(chan *message)
		s.start(started)
		started <- req // want `req is sent on a channel`
		var all chan string
		all = make(chan string)
		all = s.names
		all <- req.Name // want `req.Name is sent on a channel`
		kept := make(chan string, 1)
		kept <- req.Name
		s.names = kept // want `kept is stored in s.names`
		return nil
	})
}

func (s *server) work(jobs chan *message) error { return nil }

func (s *server) start(jobs chan *message) {
	go func() {
		for job := range jobs {
			use(job.Name)
		}
	}()
}

// callers make calls in goroutines, each with replies of its own.
func callers(ctx context.Context, s *server) {
	go func() {
		var replies weft.Reuse[message]
		reply, err := replies.Invoke(ctx, nil, "G.Left", nil)
		if err == nil {
			use(reply.Name)
			s.last = reply.Name // want `reply.Name is stored in s.last, but the reply is valid until the next call only`
		}
	}()
	s.group.Go(func() {
		var replies weft.Reuse[message]
		reply, err := replies.Invoke(ctx, nil, "G.Left", nil)
		if err == nil {
			use(reply.Name)
			s.names <- reply.Name // want `reply.Name is sent on a channel`
		}
	})
}
