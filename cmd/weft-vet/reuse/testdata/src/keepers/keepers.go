// Package keepers calls functions of the standard library that store their arguments.
package keepers

import (
	"container/heap"
	"container/list"
	"context"
	"expvar"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft"
)

type message struct {
	Name   string
	Names  []string
	Data   []byte
	Number int
	Tags   map[string]string
	Counts map[int]int
}

type server struct {
	sync.Map
	seen    sync.Map
	last    atomic.Value
	latest  atomic.Pointer[message]
	number  atomic.Pointer[int]
	recent  *list.List
	buffers *sync.Pool
	header  http.Header
	names   []string
	data    []byte
	tags    map[string]string
	counts  map[int]int
	all     any
}

var (
	calls  = expvar.NewMap("calls")
	sorted names
)

type names []string

func (n names) Len() int           { return len(n) }
func (n names) Less(i, j int) bool { return n[i] < n[j] }
func (n names) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *names) Push(x any)        { *n = append(*n, x.(string)) }
func (n *names) Pop() any          { return nil }

func register(r weft.Registrar, s *server) {
	_ = weft.HandleReuse(r, "K.Kept", func(ctx context.Context, req, res *message) error {
		s.seen.Store(req.Name, true)                             // want `req.Name is stored in s.seen, but the request is valid until its handler returns only: copy what is kept`
		s.seen.Store("x", req)                                   // want `req is stored in s.seen`
		_, _ = s.seen.LoadOrStore(req.Name, 1)                   // want `req.Name is stored in s.seen`
		_, _ = s.seen.Swap("x", req.Data)                        // want `req.Data is stored in s.seen`
		_ = s.seen.CompareAndSwap("x", "y", req.Name)            // want `req.Name is stored in s.seen`
		s.Store(req.Name, 1)                                     // want `req.Name is stored in s`
		s.last.Store(req.Name)                                   // want `req.Name is stored in s.last`
		s.last.Swap(req.Name)                                    // want `req.Name is stored in s.last`
		s.last.CompareAndSwap("x", req.Name)                     // want `req.Name is stored in s.last`
		s.latest.Store(req)                                      // want `req is stored in s.latest`
		s.latest.Swap(&message{Name: req.Name})                  // want `is stored in s.latest`
		s.latest.CompareAndSwap(nil, req)                        // want `req is stored in s.latest`
		s.number.Store(&req.Number)                              // want `&req.Number is stored in s.number`
		s.recent.PushBack(req.Name)                              // want `req.Name is stored in s.recent`
		s.recent.InsertBefore(req.Name, nil)                     // want `req.Name is stored in s.recent`
		s.buffers.Put(req.Data)                                  // want `req.Data is stored in s.buffers`
		s.header.Set("x", req.Name)                              // want `req.Name is stored in s.header`
		calls.Add(req.Name, 1)                                   // want `req.Name is stored in calls`
		heap.Push(&sorted, req.Name)                             // want `req.Name is stored in &sorted`
		maps.Copy(s.tags, req.Tags)                              // want `req.Tags is stored in s.tags`
		copy(s.names[1:], req.Names)                             // want `req.Names is stored in s.names\[1:\]`
		copy(s.names, strings.Split(strings.Clone(req.Name), x)) // of a copy
		return nil
	})
	_ = weft.HandleReuse(r, "K.Copies", func(ctx context.Context, req, res *message) error {
		s.seen.Store(strings.Clone(req.Name), req.Number)
		_, _ = s.seen.Load(req.Name)
		s.seen.Delete(req.Name)
		_ = s.seen.CompareAndSwap("x", req.Name, "y")
		s.last.CompareAndSwap(req.Name, "x")
		s.latest.CompareAndSwap(req, nil)
		copy(s.data, req.Data)
		copy(s.data, req.Name)
		copy(req.Names, s.names)
		maps.Copy(s.counts, req.Counts)
		copy(res.Names, req.Names)
		return nil
	})
	_ = weft.HandleReuse(r, "K.Local", func(ctx context.Context, req, res *message) error {
		var seen sync.Map
		for _, name := range req.Names {
			if _, ok := seen.LoadOrStore(name, true); ok {
				return nil
			}
		}
		queue := list.New()
		queue.PushBack(req)
		s.all = queue // want `queue is stored in s.all`
		var sorted names
		heap.Push(&sorted, req.Name)
		s.all = sorted // want `sorted is stored in s.all`
		parts := make([]string, 2)
		copy(parts[1:], req.Names)
		s.names = parts // want `parts is stored in s.names`
		data := make([]byte, 2)
		copy(data, req.Data)
		s.data = data
		return nil
	})
}

const x = "x"
