// Package replies keeps replies, of calls by Reuse and of handlers.
package replies

import (
	"container/list"
	"context"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
)

type message struct {
	Name    string
	Names   []string
	Numbers []int
	N       int
	Part    struct{ N int }
	Sum     [4]byte
}

func (m *message) log() {}

func (m *message) GetName() string { return m.Name }

func (m *message) ProtoMessage() {}

type server struct {
	last    *message
	name    string
	names   []string
	number  *int
	sum     []byte
	message message
	log     func()
	all     map[string]*message
	replies *weft.Reuse[message]
}

var sent = make(chan *message, 1)

func use(string) {}

// collect keeps replies until after the next call.
func collect(ctx context.Context, s *server, orders []string) error {
	var all []*message
	var names []string
	var numbers []int
	var total int
	byName := map[string]*message{}
	counts := map[string]int{}
	results := make([]string, len(orders))
	recent := list.New()
	var both struct{ names []string }
	var last *message
	var replies weft.Reuse[message]
	for i, o := range orders {
		r, err := replies.Invoke(ctx, nil, "A.B", o)
		if err != nil {
			return err
		}
		all = append(all, r)                              // want `append\(all, r\) is stored in all, but the reply is valid until the next call only: copy what is kept`
		names = append(names, r.Names...)                 // want `append\(names, r.Names...\) is stored in names`
		names = append(names, "x")                        // nothing of the reply
		names = append(names, strings.TrimSpace(r.Name))  // want `is stored in names`
		both.names = append(both.names, r.Name)           // want `append\(both.names, r.Name\) is stored in both.names`
		byName[strings.Clone(r.Name)] = r                 // want `r is stored in byName\[strings.Clone\(r.Name\)\]`
		counts[r.Name]++                                  // want `r.Name is stored in counts`
		results[i] = r.Name                               // want `r.Name is stored in results\[i\]`
		recent.PushBack(r.Name)                           // want `r.Name is stored in recent`
		s.last = r                                        // want `r is stored in s.last`
		s.all["x"] = r                                    // want `r is stored in s.all\["x"\]`
		sent <- r                                         // want `r is sent on a channel`
		total += r.N                                      // a number is a copy
		numbers = append(numbers, r.Numbers...)           // and so are numbers
		names = append(names, strings.Clone(r.Names[0]))  // copied
		all = append(all, &message{Name: names[0], N: i}) // want `append\(all, &message{…}\) is stored in all`
		last = r                                          // the last one is valid after the loop
		r.Names[0] = r.Name
		var own []string
		own = append(own, r.Name)
		use(own[0])
	}
	use(last.Name)
	return nil
}

// found keeps one reply, after which there is no call.
func found(ctx context.Context, orders []string) (names []string) {
	var replies weft.Reuse[message]
	var list []string
	for _, o := range orders {
		r, err := replies.Invoke(ctx, nil, "A.B", o)
		if err != nil {
			continue
		}
		if r.N > 0 {
			list = append(list, r.Name)
			break
		}
		switch r.N {
		case -1:
			list = append(list, r.Name)
			return list
		case -2:
			list = append(list, r.Name) // want `is stored in list`
			break
		}
	}
	for _, o := range orders {
		var replies weft.Reuse[message] // one for each call
		r, err := replies.Invoke(ctx, nil, "A.B", o)
		if err != nil {
			return nil
		}
		list = append(list, r.Name)
	}
	several := make([]weft.Reuse[message], len(orders))
	for i, o := range orders {
		r, err := several[i].Invoke(ctx, nil, "A.B", o)
		if err != nil {
			return nil
		}
		list = append(list, r.Name)
	}
	var group sync.WaitGroup
	results := make([]string, len(orders))
	for i, o := range orders {
		group.Go(func() {
			var replies weft.Reuse[message]
			if r, err := replies.Invoke(ctx, nil, "A.B", o); err == nil {
				results[i] = r.Name
			}
		})
	}
	group.Wait()
	once, err := replies.Invoke(ctx, nil, "A.B", nil)
	if err != nil {
		return nil
	}
	for _, name := range once.Names {
		list = append(list, name)
	}
	return list
}

// each looks at the reply of each call.
func each(ctx context.Context, orders []string) {
	var names []string
	var replies weft.Reuse[message]
	for r, err := replies.Invoke(ctx, nil, "A.B", ""); err == nil; r, err = replies.Invoke(ctx, nil, "A.B", "") {
		names = append(names, r.Name) // want `is stored in names`
	}
}

// goroutines use replies.
func goroutines(ctx context.Context, orders []string) error {
	var replies weft.Reuse[message]
	var all sync.WaitGroup
	for _, o := range orders {
		r, err := replies.Invoke(ctx, nil, "A.B", o)
		if err != nil {
			return err
		}
		all.Go(func() {
			use(r.Name) // want `r is used by a goroutine`
		})
		var group sync.WaitGroup
		group.Go(func() { use(r.Name) })
		group.Wait()
	}
	all.Wait()
	var one, two, three sync.WaitGroup
	var other weft.Reuse[message]
	r, err := other.Invoke(ctx, nil, "A.B", nil)
	if err != nil {
		return err
	}
	one.Go(func() { use(r.Name) })
	one.Wait()
	two.Go(func() {
		use(r.Name) // want `r is used by a goroutine`
	})
	defer three.Wait()
	three.Go(func() {
		use(r.Name) // want `r is used by a goroutine`
	})
	_, err = other.Invoke(ctx, nil, "A.B", nil)
	two.Wait()
	return err
}

// deferred waits until after the last call.
func deferred(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	var replies weft.Reuse[message]
	if r, err := replies.Invoke(ctx, nil, "A.B", nil); err == nil {
		group.Go(func() { use(r.Name) })
	}
}

func register(r weft.Registrar, s *server) {
	_ = weft.HandleReuse(r, "R.Reply", func(ctx context.Context, req, res *message) error {
		s.last = res           // want `res is stored in s.last, but the reply is valid until its handler returns only: copy what is kept`
		s.all["x"] = res       // want `res is stored in s.all`
		s.number = &res.N      // want `&res.N is stored in s.number`
		s.number = &res.Part.N // want `&res.Part.N is stored in s.number`
		s.sum = res.Sum[:]     // want `res.Sum\[:\] is stored in s.sum`
		s.log = res.log        // want `res.log is stored in s.log`
		sent <- res            // want `res is sent on a channel`
		go func() {
			res.N = 1 // want `res is used by a goroutine`
		}()
		mine := res
		s.last = mine // want `mine is stored in s.last`
		part := &res.Part
		s.number = &part.N // want `&part.N is stored in s.number`

		res.Names = s.names // what the reply refers to is the program's own
		s.names = res.Names
		s.name = res.Name
		s.name = res.GetName()
		s.name = strings.TrimSpace(res.Name)
		s.message = *res
		s.number = new(res.N)
		names := res.Names
		s.names = append(names, "x")
		for _, name := range res.Names {
			s.name = name
		}
		fill(res)
		var group sync.WaitGroup
		group.Go(func() { fill(res) })
		group.Wait()
		return nil
	})
}

func fill(res *message) { res.N = 1 }

// jobs sends replies to goroutines.
func jobs(ctx context.Context, orders []string) error {
	jobs := make(chan *message, 1)
	var group sync.WaitGroup
	group.Go(func() {
		for job := range jobs { // want `jobs is used by a goroutine`
			use(job.Name)
		}
	})
	var replies weft.Reuse[message]
	for _, o := range orders {
		r, err := replies.Invoke(ctx, nil, "A.B", o)
		if err != nil {
			return err
		}
		jobs <- r // want `r is sent on a channel`
	}
	names := make(chan string)
	group.Go(func() {
		for name := range names {
			use(name)
		}
	})
	r, err := replies.Invoke(ctx, nil, "A.B", nil)
	if err == nil {
		names <- r.Name
	}
	close(jobs)
	close(names)
	group.Wait()
	return err
}

// handle answers with what another server has answered.
func (s *server) handle(ctx context.Context, req, res *message) error {
	var replies weft.Reuse[message]
	r, err := replies.Invoke(ctx, nil, "A.B", req)
	if err != nil {
		return err
	}
	if len(r.Names) > 0 {
		s.names = r.Names // want `r.Names is stored in s.names, but the reply is valid until the next call only`
		*req = *r         // want `\*r is stored in \*req`
	}
	if r.N > 0 {
		*res = *r
	}
	res.Name = r.Name
	res.Names = append(res.Names, r.Names...)
	copyTo(res, r)
	s.name = res.Name // what res has may be the program's own
	return nil
}

// handleTwice makes a call that ends the time of the reply before.
func (s *server) handleTwice(ctx context.Context, req, res *message) error {
	var replies weft.Reuse[message]
	r, err := replies.Invoke(ctx, nil, "A.B", req)
	if err != nil {
		return err
	}
	res.Name = r.Name // want `r.Name is stored in res.Name`
	r, err = replies.Invoke(ctx, nil, "A.C", req)
	if err == nil {
		res.Names = r.Names
	}
	return err
}

// handleAll answers with what other servers have answered.
func (s *server) handleAll(ctx context.Context, req, res *message) error {
	for _, name := range req.Names {
		var replies weft.Reuse[message]
		r, err := replies.Invoke(ctx, nil, "A.B", name)
		if err != nil {
			return err
		}
		res.Names = append(res.Names, r.Name)
	}
	var replies, given weft.Reuse[message]
	for _, name := range req.Names {
		r, err := replies.Invoke(ctx, nil, "A.B", name)
		if err != nil {
			return err
		}
		res.Names = append(res.Names, r.Name) // want `is stored in res.Names`
	}
	add := func() {
		if r, err := replies.Invoke(ctx, nil, "A.C", req); err == nil {
			res.Names = append(res.Names, r.Name) // want `is stored in res.Names`
		}
	}
	add()
	add()
	if r, err := given.Invoke(ctx, nil, "A.C", req); err == nil {
		res.Name = r.Name // want `r.Name is stored in res.Name`
	}
	call(ctx, &given)
	if r, err := s.replies.Invoke(ctx, nil, "A.C", req); err == nil {
		res.Name = r.Name // want `r.Name is stored in res.Name`
	}
	return nil
}

func copyTo(res, m *message) { res.Name = m.Name }

func call(ctx context.Context, replies *weft.Reuse[message]) {}
