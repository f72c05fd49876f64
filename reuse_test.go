package weft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/poison"
	"github.com/weftrpc/weft/internal/polltest"
)

// note is a message that travels with any codec.
type note struct {
	Title string           `weft:"1"`
	Lines []string         `weft:"2"`
	Raw   []byte           `weft:"3"`
	Count map[string]int64 `weft:"4"`
	Inner *note            `weft:"5"`
	Parts []note           `weft:"6"`
	N     int64            `weft:"7"`
}

// newNote makes the note that belongs to a number.
func newNote(n int) *note {
	v := &note{Title: fmt.Sprint("note ", n), N: int64(n)}
	for i := range n % 5 {
		v.Lines = append(v.Lines, fmt.Sprint("line ", n, i))
		v.Parts = append(v.Parts, note{Title: fmt.Sprint("part ", n), Raw: []byte{byte(i + 1)}})
		v.Raw = append(v.Raw, byte(n))
		v.Count = map[string]int64{v.Title: int64(i)}
	}
	if n%3 == 0 {
		v.Inner = newNote(n + 1)
	}
	return v
}

// text is what a note holds; empty and nil lists are alike.
func (v *note) text() string {
	if v == nil {
		return "-"
	}
	s := fmt.Sprint(v.Title, v.Lines, v.Raw, v.Count, v.N, v.Inner.text())
	for i := range v.Parts {
		s += v.Parts[i].text()
	}
	return s
}

func copyNote(_ context.Context, req, res *note) error {
	if zero := new(note); !reflect.DeepEqual(res, zero) {
		return fmt.Errorf("the reply is %+v at first", res)
	}
	if req.N < 0 {
		return fmt.Errorf("refused: %s", req.Title)
	}
	*res = *req
	return nil
}

// TestHandleReuse has many callers with each codec: no call sees anything of another.
func TestHandleReuse(t *testing.T) {
	codecs := []codec.Codec{protobuf.New(), protobuf.NewCompiled(), msgpack.New(), json.New(), gob.New()}
	for _, c := range codecs {
		t.Run(fmt.Sprintf("%s %T", c.Name(), c), func(t *testing.T) {
			w := start(t, &weft.ServerConfig{Codecs: []codec.Codec{c}}, func(s *weft.Server) error { return weft.HandleReuse(s, "Notes.Copy", copyNote) })
			client := w.dial(&weft.ClientConfig{Codec: c})
			var group sync.WaitGroup
			for g := range 8 {
				group.Go(func() {
					var replies weft.Reuse[note]
					for i := range 60 {
						n := g*1000 + i
						want := newNote(n)
						if i%20 == 7 {
							want.N = -1
							_, err := replies.Invoke(t.Context(), client, "Notes.Copy", want)
							if err == nil || !strings.Contains(err.Error(), "refused: "+want.Title) {
								t.Errorf("%v, want a refusal of %s", err, want.Title)
							}
							continue
						}
						got, err := replies.Invoke(t.Context(), client, "Notes.Copy", want)
						if err != nil || got.text() != want.text() {
							t.Errorf("%v: got %s\nwant %s", err, got.text(), want.text())
						}
						got, err = weft.Invoke[note](t.Context(), client, "Notes.Copy", want)
						if err != nil || got.text() != want.text() {
							t.Errorf("%v: got %s\nwant %s", err, got.text(), want.text())
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// Bodies beyond what is kept, and beyond one frame.
func TestReuseLongMessages(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error { return weft.HandleReuse(s, "Notes.Copy", copyNote) })
	c := w.dial(nil)
	var replies weft.Reuse[note]
	for _, n := range []int{100, 100_000, 10, 1_000_000, 70_000, 1} {
		want := &note{Title: strings.Repeat("x", n), Lines: strings.Split(strings.Repeat("line,", n/10), ",")}
		got, err := replies.Invoke(t.Context(), c, "Notes.Copy", want)
		if err != nil || got.text() != want.text() {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// seen remembers the requests that a handler got, and those at which it panicked.
type seen struct {
	mu       sync.Mutex
	reqs     []*note
	panicked map[*note]bool
	again    bool // one of these came again
}

func (s *seen) copy(ctx context.Context, req, res *note) error {
	s.mu.Lock()
	s.reqs = append(s.reqs, req)
	s.again = s.again || s.panicked[req]
	fails := req.Title == "panic"
	if fails {
		s.panicked[req] = true
	}
	s.mu.Unlock()
	if fails {
		panic(req.Title)
	}
	return copyNote(ctx, req, res)
}

// Where something around the call may keep the messages, each call has its own.
func TestReuseGivesFreshMessages(t *testing.T) {
	keeping := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}
	for name, cfg := range map[string]*weft.ServerConfig{
		"interceptor": {Interceptors: []weft.UnaryInterceptor{keeping}},
		"hook":        {Hooks: []any{new(everyHook)}},
	} {
		t.Run(name, func(t *testing.T) {
			var s seen
			c := start(t, cfg, func(srv *weft.Server) error { return weft.HandleReuse(srv, "Notes.Copy", s.copy) }).dial(nil)
			for n := range 20 {
				got, err := weft.Invoke[note](t.Context(), c, "Notes.Copy", newNote(n))
				must(t, err)
				if got.text() != newNote(n).text() {
					t.Errorf("got %s", got.text())
				}
			}
			for n, req := range s.reqs { // all as they came
				if req.text() != newNote(n).text() {
					t.Errorf("request %d has become %s", n, req.text())
				}
			}
		})
	}
}

// After a panic the messages may be anywhere.
func TestReuseNothingAfterPanic(t *testing.T) {
	s := seen{panicked: make(map[*note]bool)}
	c := start(t, nil, func(srv *weft.Server) error { return weft.HandleReuse(srv, "Notes.Copy", s.copy) }).dial(nil)
	for range 50 {
		wantError(t, c.Call(t.Context(), "Notes.Copy", &note{Title: "panic"}, nil), weft.Internal, weft.Executed)
		must(t, c.Call(t.Context(), "Notes.Copy", newNote(1), nil))
	}
	if s.mu.Lock(); s.again {
		t.Error("the request of a call that panicked was used again")
	}
	s.mu.Unlock()
}

// Replies that something around the call may keep are fresh.
func TestReuseFreshReplies(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error { return weft.HandleReuse(s, "Notes.Copy", copyNote) })
	around := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}}})
	plain := w.dial(nil)
	for name, invoke := range map[string]func(u *weft.Reuse[note], n int) (*note, error){
		"interceptor": func(u *weft.Reuse[note], n int) (*note, error) {
			return u.Invoke(t.Context(), around, "Notes.Copy", newNote(n))
		},
		"option": func(u *weft.Reuse[note], n int) (*note, error) {
			return u.Invoke(t.Context(), plain, "Notes.Copy", newNote(n), weft.WithTimeout(weft.DefaultTimeout))
		},
		"peer": func(u *weft.Reuse[note], n int) (*note, error) {
			return u.Invoke(t.Context(), plain.Peer(), "Notes.Copy", newNote(n))
		},
	} {
		var u weft.Reuse[note]
		first, err := invoke(&u, 1)
		must(t, err)
		second, err := invoke(&u, 2)
		must(t, err)
		if first == second || first.text() != newNote(1).text() || second.text() != newNote(2).text() {
			t.Errorf("%s: %s, then %s", name, first.text(), second.text())
		}
	}
	var u weft.Reuse[note]
	first, err := u.Invoke(t.Context(), plain, "Notes.Copy", newNote(1))
	must(t, err)
	second, err := u.Invoke(t.Context(), plain, "Notes.Copy", newNote(2))
	must(t, err)
	if first != second || second.text() != newNote(2).text() {
		t.Errorf("a plain call: %p %p %s", first, second, second.text())
	}
	if _, err := u.Invoke(t.Context(), plain, "Notes.Copy", (*note)(nil)); err == nil {
		t.Error("nil arguments were sent")
	}
	if _, err := u.Invoke(t.Context(), plain, "Notes.None", newNote(1)); weft.CodeOf(err) != weft.Unimplemented {
		t.Errorf("%v", err)
	}
}

// With the race detector, what a handler keeps of a request becomes garbage.
func TestReusePoisons(t *testing.T) {
	var kept *note
	var title string
	w := start(t, nil, func(s *weft.Server) error {
		return weft.HandleReuse(s, "Notes.Copy", func(ctx context.Context, req, res *note) error {
			kept, title = req, req.Title
			return copyNote(ctx, req, res)
		})
	})
	c := w.dial(nil)
	var u weft.Reuse[note]
	reply, err := u.Invoke(t.Context(), c, "Notes.Copy", newNote(4))
	must(t, err)
	told := reply.Title
	if _, err := u.Invoke(t.Context(), c, "Notes.None", newNote(5)); weft.CodeOf(err) != weft.Unimplemented {
		t.Error(err)
	}
	must(t, w.srv.Shutdown(context.Background()))
	if !poison.Enabled {
		return
	}
	if kept.Title != poison.Text || strings.Contains(title, "note") || kept.Parts[0].Title != poison.Text {
		t.Errorf("the handler has kept %+v and %q", kept, title)
	}
	if strings.Contains(told, "note") || reply.Title != poison.Text {
		t.Errorf("the caller has kept %+v and %q", reply, told)
	}
}

// With the race detector, too, what a reply refers to stays as the program has it.
func TestReuseLeavesMemoryOfTheProgram(t *testing.T) {
	stored := newNote(4)
	c := start(t, nil, func(s *weft.Server) error {
		return weft.HandleReuse(s, "Notes.Stored", func(_ context.Context, _, res *note) error {
			*res = *stored
			res.Inner = stored
			return nil
		})
	}).dial(nil)
	want := *newNote(4)
	want.Inner = newNote(4)
	for range 3 {
		got, err := weft.Invoke[note](t.Context(), c, "Notes.Stored", newNote(1))
		must(t, err)
		if got.text() != want.text() {
			t.Fatalf("got %s\nwant %s", got.text(), want.text())
		}
	}
}

// One-way calls, and requests that cannot be decoded.
func TestReuseOneway(t *testing.T) {
	got := make(chan int64, 10)
	w := start(t, nil, func(s *weft.Server) error {
		return weft.HandleReuse(s, "Notes.Take", func(_ context.Context, req, _ *note) error {
			got <- req.N
			return errors.New("not told")
		})
	})
	c := w.dial(nil)
	for n := range 10 {
		must(t, c.Notify(t.Context(), "Notes.Take", newNote(n)))
	}
	sum := int64(0)
	for range 10 {
		sum += <-got
	}
	if sum != 45 {
		t.Errorf("the sum is %d, want 45", sum)
	}
	type other struct {
		Title int64 `weft:"1"`
	}
	wantError(t, c.Call(t.Context(), "Notes.Take", &other{7}, nil), weft.InvalidArgument, weft.Refused, "decode the request")
}

// A request that is decoded into memory of its own is not written over one of another connection, whatever codecs the calls before had.
func TestReuseMixedCodecs(t *testing.T) {
	type text struct{ S string }
	running, resume := make(chan struct{}), make(chan struct{})
	w := start(t, nil, func(s *weft.Server) error {
		must(t, weft.HandleReuse(s, "Bytes.Echo", func(_ context.Context, req, res *[]byte) error { *res = *req; return nil }))
		return weft.HandleReuse(s, "Text.Hold", func(_ context.Context, req, res *text) error {
			running <- struct{}{}
			<-resume
			res.S = strings.Clone(req.S)
			return nil
		})
	})
	one, other := w.dial(nil), w.dial(nil)
	small, large, want := bytes.Repeat([]byte("a"), 1000), bytes.Repeat([]byte("EVIL"), 200), strings.Repeat("V", 1000)
	for range 50 {
		if _, err := weft.Invoke[[]byte](t.Context(), one, "Bytes.Echo", &small, weft.WithCodec(msgpack.New())); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() {
			res, err := weft.Invoke[text](t.Context(), one, "Text.Hold", &text{want})
			if err != nil {
				res = &text{err.Error()}
			}
			got <- res.S
		}()
		<-running
		if _, err := weft.Invoke[[]byte](t.Context(), other, "Bytes.Echo", &large, weft.WithCodec(raw.New())); err != nil {
			t.Fatal(err)
		}
		resume <- struct{}{}
		if s := <-got; s != want {
			t.Fatalf("the handler was given %.60q", s)
		}
	}
}

// A call by a name in memory that is used again, as that of a request of HandleReuse is, leaves nothing of that name behind.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	names := []string{"Echo.AAAA", "Echo.BBBB", "Echo.CCCC"}
	c := start(t, nil, func(s *weft.Server) error {
		for _, name := range names {
			must(t, weft.Handle(s, name, func(context.Context, *note) (*note, error) { return &note{Title: name}, nil }))
		}
		return nil
	}).dial(nil)
	memory := []byte(names[0])
	name := unsafe.String(&memory[0], len(memory))
	const rounds = 30
	for i := range rounds {
		copy(memory, names[i%3])
		ran, err := weft.Invoke[note](t.Context(), c, name, &note{})
		if err != nil || ran.Title != names[i%3] {
			t.Fatalf("a call of %s has run %v, %v", name, ran, err)
		}
	}
	for _, m := range c.Stats().Methods {
		if m.Calls != rounds/3 {
			t.Errorf("%s was called %d times, want %d", m.Method, m.Calls, rounds/3)
		}
	}
}

// A one-way call and a stream may end when the handler that made them has returned: they are counted by the name that they had.
func TestNamesThatEndLater(t *testing.T) {
	for want, call := range map[string]func(context.Context, *weft.Client, string) error{
		"Echo.Notify": func(ctx context.Context, c *weft.Client, name string) error { return c.Notify(ctx, name, &note{}) },
		"Echo.Stream": func(ctx context.Context, c *weft.Client, name string) error {
			_, err := weft.OpenStream[note, note](ctx, c, name)
			return err
		},
	} {
		t.Run(want, func(t *testing.T) {
			resume := make(chan bool)
			c := start(t, nil, func(s *weft.Server) error {
				must(t, weft.Handle(s, "Echo.Notify", func(context.Context, *note) (*note, error) { <-resume; return &note{}, nil }))
				return weft.HandleStream(s, "Echo.Stream", func(ctx context.Context, _ *weft.Stream[note, note]) error { <-ctx.Done(); return ctx.Err() })
			}).dial(nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			memory := []byte(want)
			must(t, call(ctx, c, unsafe.String(&memory[0], len(memory))))
			clear(memory)
			close(resume)
			cancel()
			polltest.Until(t, time.Minute, "the call is counted", func() error {
				if all := c.Stats().Methods; len(all) != 1 || all[0].Method != want || all[0].Calls != 1 {
					return fmt.Errorf("counted are %+v", all)
				}
				return nil
			})
		})
	}
}
