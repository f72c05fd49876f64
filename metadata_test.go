package weft_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

func TestMetadata(t *testing.T) {
	m := weft.NewMetadata("a", "1", "b", "", "a", "2", "bin", "\x00\xff\n")
	if m.Len() != 4 || m.Get("a") != "1" || m.Get("b") != "" || m.Get("none") != "" || m.Get("A") != "" {
		t.Errorf("%v", m)
	}
	if got := m.Values("a"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("values of a: %q", got)
	}
	var pairs []string
	for k, v := range m.All() {
		if pairs = append(pairs, k, v); k == "b" {
			break
		}
	}
	if !slices.Equal(pairs, []string{"a", "1", "b", ""}) {
		t.Errorf("all: %q", pairs)
	}
	more := m.With("c", "3")
	if m.Len() != 4 || more.Len() != 5 || more.Get("c") != "3" {
		t.Errorf("With changed what it was called on: %v, %v", m, more)
	}
	var zero weft.Metadata
	if zero.Len() != 0 || zero.Get("a") != "" || zero.String() != "{}" {
		t.Errorf("zero value: %v", zero)
	}
	if got, want := m.String(), `{a="1" b="" a="2" bin="\x00\xff\n"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// echoMeta registers methods that send back what metadata they got, with a reply,
// an error, a stream and a stream's error.
func echoMeta(s *weft.Server) error {
	back := func(ctx context.Context) error {
		var pairs []string
		for k, v := range weft.MetadataFrom(ctx).All() {
			pairs = append(pairs, k, v)
		}
		// Set in two steps: the second adds to the first.
		return errors.Join(weft.SetReplyMetadata(ctx, pairs...), weft.SetReplyMetadata(ctx, "last", "yes"))
	}
	return errors.Join(
		weft.Handle(s, "Meta.Reply", func(ctx context.Context, _ *Args) (*Product, error) { return &Product{1}, back(ctx) }),
		weft.Handle(s, "Meta.Error", func(ctx context.Context, _ *Args) (*Product, error) {
			return nil, errors.Join(back(ctx), weft.Aborted)
		}),
		weft.HandleServerStream(s, "Meta.Stream", func(ctx context.Context, _ *Args, out *weft.Sender[Product]) error {
			return errors.Join(out.Send(&Product{1}), back(ctx))
		}),
		weft.HandleServerStream(s, "Meta.StreamError", func(ctx context.Context, _ *Args, out *weft.Sender[Product]) error {
			return errors.Join(out.Send(&Product{1}), back(ctx), weft.Aborted)
		}))
}

// Metadata travels both ways, beside replies and errors, of calls and streams.
func TestMetadataBothWays(t *testing.T) {
	sent := []string{"a", "1", "a", "2", "empty", "", "bin", "\x00\xff", "Case", "kept", "long", strings.Repeat("x", 10_000)}
	want := slices.Concat(sent, []string{"last", "yes"})
	w := start(t, nil, echoMeta)
	c := w.dial(nil)
	ctx := weft.WithMetadata(weft.WithMetadata(t.Context(), sent[:4]...), sent[4:]...)
	for name, call := range map[string]func(m *weft.Metadata) error{
		"Reply": func(m *weft.Metadata) error {
			return c.Call(ctx, "Meta.Reply", &Args{}, nil, weft.WithReplyMetadata(m))
		},
		"Error": func(m *weft.Metadata) error {
			return c.Call(ctx, "Meta.Error", &Args{}, nil, weft.WithReplyMetadata(m))
		},
		"Go": func(m *weft.Metadata) error {
			return (<-c.Go(ctx, "Meta.Reply", &Args{}, nil, nil, weft.WithReplyMetadata(m)).Done).Error
		},
		"Stream":      func(m *weft.Metadata) error { return drainMany(ctx, c, "Meta.Stream", m) },
		"StreamError": func(m *weft.Metadata) error { return drainMany(ctx, c, "Meta.StreamError", m) },
	} {
		t.Run(name, func(t *testing.T) {
			got := weft.NewMetadata("stale", "yes")
			err := call(&got)
			if failed := strings.HasSuffix(name, "Error"); failed != errors.Is(err, weft.Aborted) {
				t.Fatal(err)
			}
			var pairs []string
			for k, v := range got.All() {
				pairs = append(pairs, k, v)
			}
			if !slices.Equal(pairs, want) {
				t.Errorf("got %.200q", pairs)
			}
		})
	}
	// A call without any clears what the variable held.
	got := weft.NewMetadata("stale", "yes")
	w2 := start(t, nil, nil)
	multiply(t, w2.dial(nil), weft.WithReplyMetadata(&got))
	if got.Len() != 0 {
		t.Errorf("a reply without metadata left %v", got)
	}
}

// drainMany subscribes and receives to the end; the end alone is not an error.
func drainMany(ctx context.Context, c weft.StreamCaller, method string, m *weft.Metadata) error {
	s, err := weft.Subscribe[Product](ctx, c, method, &Args{}, weft.WithReplyMetadata(m))
	if err != nil {
		return err
	}
	for _, err := range s.All() {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMetadataLimits(t *testing.T) {
	pairs := func(n int, value string) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint("k", i), value)
		}
		return out
	}
	w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxMetadata: 1000}}, echoMeta)
	small := w.dial(&weft.ClientConfig{Limits: weft.Limits{MaxMetadata: 500}})
	c := w.dial(nil)
	for _, tt := range []struct {
		name    string
		client  *weft.Client
		pairs   []string
		code    weft.Code // 0: it works
		outcome weft.Outcome
		want    string
	}{
		{"64 pairs", c, pairs(63, ""), 0, 0, ""}, // and the one of the handler
		{"65 pairs", c, pairs(65, ""), weft.InvalidArgument, weft.NotSent, "more than 64 pairs"},
		{"odd", c, []string{"a"}, weft.InvalidArgument, weft.NotSent, `key "a" has no value`},
		{"empty key", c, []string{"", "v"}, weft.InvalidArgument, weft.NotSent, "key of 0 bytes"},
		{"long key", c, []string{strings.Repeat("k", 256), "v"}, weft.InvalidArgument, weft.NotSent, "key of 256 bytes"},
		{"reserved", c, []string{"weft-attempt", "1"}, weft.InvalidArgument, weft.NotSent, "reserved"},
		{"too long to travel", c, []string{"k", strings.Repeat("v", 1<<16)}, weft.InvalidArgument, weft.NotSent, "more than 65535 bytes"},
		{"once wrong", c, []string{"", "v", "fine", "v"}, weft.InvalidArgument, weft.NotSent, "key of 0 bytes"},
		{"as long as the server takes", c, []string{"k", strings.Repeat("v", 1000-4)}, weft.Unknown, weft.Executed, ""}, // a byte more comes back
		{"longer", c, []string{"k", strings.Repeat("v", 1001-4)}, weft.ResourceExhausted, weft.NotSent, "metadata of 1001 bytes is larger than the 1000"},
		{"longer than the client takes", small, []string{"k", strings.Repeat("v", 600)}, weft.ResourceExhausted, weft.Executed, "the caller takes 500 (its Limits.MaxMetadata)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := weft.WithMetadata(t.Context(), tt.pairs...)
			err := tt.client.Call(ctx, "Meta.Reply", &Args{}, nil)
			if tt.code == weft.Unknown || tt.code == 0 {
				must(t, err)
				return
			}
			wantError(t, err, tt.code, tt.outcome, tt.want)
			multiplyFails := tt.client.Call(t.Context(), "Meta.Reply", &Args{}, nil)
			must(t, multiplyFails)
		})
	}
}

// What a handler sets wrongly is told to the handler.
func TestSetReplyMetadataErrors(t *testing.T) {
	told := make(chan error, 3)
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Meta.Wrong", func(ctx context.Context, _ *Args) (*Product, error) {
			told <- weft.SetReplyMetadata(ctx, "a")
			told <- weft.SetReplyMetadata(ctx, "weft-x", "1")
			nested, cancel := context.WithTimeout(ctx, time.Minute) // a context made of a handler's is one
			defer cancel()
			told <- weft.SetReplyMetadata(nested, "fine", "1")
			return &Product{}, nil
		})
	})
	var got weft.Metadata
	must(t, w.dial(nil).Call(t.Context(), "Meta.Wrong", &Args{}, nil, weft.WithReplyMetadata(&got)))
	wantError(t, <-told, weft.InvalidArgument, 0, "has no value")
	wantError(t, <-told, weft.InvalidArgument, 0, "reserved")
	must(t, <-told)
	if got.String() != `{fine="1"}` {
		t.Errorf("arrived: %v", got)
	}
	wantError(t, weft.SetReplyMetadata(t.Context(), "a", "1"), weft.FailedPrecondition, 0, "context of a handler")
	if m := weft.MetadataFrom(t.Context()); m.Len() != 0 {
		t.Errorf("metadata outside of a handler: %v", m)
	}
}

// Metadata that came in with a call is not passed on by itself.
func TestMetadataIsNotForwarded(t *testing.T) {
	back := start(t, nil, echoMeta).dial(nil)
	front := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Front.Relay", func(ctx context.Context, a *Args) (*Product, error) {
			var got weft.Metadata
			err := back.Call(weft.WithMetadata(ctx, "own", "1"), "Meta.Reply", a, nil, weft.WithReplyMetadata(&got))
			if got.Get("secret") != "" || got.Get("own") != "1" {
				t.Errorf("arrived behind: %v", got)
			}
			return &Product{}, err
		})
	})
	must(t, front.dial(nil).Call(weft.WithMetadata(t.Context(), "secret", "x"), "Front.Relay", &Args{}, nil))
}

// Goroutines share one context with metadata and a deadline; each adds its own.
func TestMetadataSharedByManyGoroutines(t *testing.T) {
	c := start(t, nil, echoMeta).dial(nil)
	shared, cancel := context.WithTimeout(weft.WithMetadata(t.Context(), "shared", "yes"), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range 20 {
				mine := fmt.Sprint(i, "/", n)
				var got weft.Metadata
				err := c.Call(weft.WithMetadata(shared, "mine", mine), "Meta.Reply", &Args{}, nil, weft.WithReplyMetadata(&got))
				if err != nil || got.Get("shared") != "yes" || !slices.Equal(got.Values("mine"), []string{mine}) {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
