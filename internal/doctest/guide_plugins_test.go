package doctest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

func logging(log *slog.Logger) weft.Plugin {
	around := func(direction string) weft.UnaryInterceptor {
		return func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			began := time.Now()
			reply, err := next(ctx, info, req)
			level := slog.LevelInfo
			if err != nil {
				level = slog.LevelWarn
			}
			log.Log(ctx, level, direction, "method", info.Method, "took", time.Since(began), "error", err)
			return reply, err
		}
	}
	return weft.Plugin{Name: "logging", Server: around("answered"), Client: around("made")}
}

type timing struct {
	began  sync.Map // from the CallInfo of an attempt to its beginning
	report func(method string, took time.Duration)
}

func (t *timing) BeforeWriteRequest(_ context.Context, info *weft.CallInfo, _ any) error {
	t.began.Store(info, time.Now())
	return nil
}

func (t *timing) AfterWriteRequest(_ context.Context, info *weft.CallInfo, _ any, err error) {
	if err != nil || info.Oneway {
		t.began.Delete(info) // no reply will come
	}
}

func (t *timing) AfterReadReplyHeader(_ context.Context, info *weft.CallInfo, _ error) {
	if began, ok := t.began.LoadAndDelete(info); ok {
		t.report(info.Method, time.Since(began.(time.Time)))
	}
}

type accessList map[string][]string // from the method to the principals that may call it

func (a accessList) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	principal, _ := weft.PrincipalFrom(ctx).(string)
	if !slices.Contains(a[info.Method], principal) {
		return weft.Errorf(weft.PermissionDenied, "%q may not call %s", principal, info.Method)
	}
	return nil
}

// TestPluginsGuide runs the code of docs/guide/plugins.md.
func TestPluginsGuide(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	authenticate := func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) { return cred.Token, nil }
	srv := weft.NewServer(&weft.ServerConfig{
		Authenticate: authenticate, // or AuthenticateConn, by the certificate
		Plugins: []weft.Plugin{
			logging(log),
			{Name: "access", Hooks: []any{accessList{"Arith.Mul": {"alice"}}}},
		},
	})
	must(t, srv.Register(Arith{}))
	must(t, srv.Alias("Old.Mul", "Arith.Mul"))
	must(t, weft.HandleServerStream(srv, "Count.To", countTo))
	var logged journal
	times := make(chan string, 10)
	timed := &timing{report: func(method string, _ time.Duration) { times <- method }}
	ctx := t.Context()
	c, err := weft.Dial(ctx, serve(t, srv), &weft.ClientConfig{
		Plugins: []weft.Plugin{logging(logged.logger())}, Hooks: []any{timed}, Credential: weft.StaticCredential("", "alice"),
	})
	must(t, err)
	defer c.Close()
	must(t, c.Call(ctx, "Arith.Mul", &Args{6, 7}, nil))
	must(t, c.Call(ctx, "Old.Mul", &Args{6, 7}, nil)) // an alias is the method
	must(t, c.Notify(ctx, "Arith.Mul", &Args{6, 7}))
	err = c.Call(ctx, "Arith.Mul", &Args{6, 7}, nil, weft.WithCredential(weft.Credential{Token: "bob"}))
	if e := refused(t, err); e.Message != `"bob" may not call Arith.Mul` {
		t.Error(e)
	}
	numbers, err := weft.Subscribe[Number](ctx, c, "Count.To", &Number{3})
	if err == nil { // the refusal did not come while the request was sent
		_, err = numbers.Recv()
	}
	if e := refused(t, err); e.Message != `"alice" may not call Count.To` {
		t.Error(e)
	}
	for _, want := range []string{"Arith.Mul", "Old.Mul", "Arith.Mul"} {
		if got := <-times; got != want {
			t.Errorf("the time of %s was reported, want %s", got, want)
		}
	}
	if got := srv.Stats().Refused["PermissionDenied"]; got != 2 {
		t.Errorf("%d refusals were counted", got)
	}
	left := 0
	for range timed.began.Range {
		left++
	}
	if left > 0 {
		t.Errorf("%d attempts have a beginning and no end", left)
	}
	for _, want := range []string{"level=INFO msg=made method=Arith.Mul", "level=WARN msg=made", "error.code=PermissionDenied", "error.outcome=Refused"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("%q was not logged:\n%s", want, &logged)
		}
	}
}

func refused(t *testing.T, err error) *weft.Error {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != weft.PermissionDenied || e.Outcome != weft.Refused {
		t.Fatalf("%v, want a refusal", err)
	}
	return e
}

// steps notes what runs, in order.
type steps struct {
	mu  sync.Mutex
	all []string
}

func (s *steps) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, name)
}

func (s *steps) around(name string) weft.UnaryInterceptor {
	return func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		s.add(name)
		return next(ctx, info, req)
	}
}

func (s *steps) AfterReadRequestHeader(context.Context, *weft.CallInfo) {
	s.add("AfterReadRequestHeader")
}

func (s *steps) BeforeReadRequestBody(context.Context, *weft.CallInfo) error {
	s.add("BeforeReadRequestBody")
	return nil
}

func (s *steps) AfterReadRequestBody(context.Context, *weft.CallInfo, any, error) {
	s.add("AfterReadRequestBody")
}

func (s *steps) BeforeWriteReply(context.Context, *weft.CallInfo, any, error) error {
	s.add("BeforeWriteReply")
	return nil
}

func (s *steps) AfterWriteReply(context.Context, *weft.CallInfo, any, error) {
	s.add("AfterWriteReply")
}

func (s *steps) BeforeWriteRequest(context.Context, *weft.CallInfo, any) error {
	s.add("BeforeWriteRequest")
	return nil
}

func (s *steps) AfterWriteRequest(context.Context, *weft.CallInfo, any, error) {
	s.add("AfterWriteRequest")
}

func (s *steps) BeforeReadReplyHeader(context.Context, *weft.CallInfo) error {
	s.add("BeforeReadReplyHeader")
	return nil
}

func (s *steps) AfterReadReplyHeader(context.Context, *weft.CallInfo, error) {
	s.add("AfterReadReplyHeader")
}

func (s *steps) BeforeReadReplyBody(context.Context, *weft.CallInfo) error {
	s.add("BeforeReadReplyBody")
	return nil
}

func (s *steps) AfterReadReplyBody(context.Context, *weft.CallInfo, error) {
	s.add("AfterReadReplyBody")
}

// TestPluginsOrder compares the tables of docs/guide/plugins.md with what runs.
func TestPluginsOrder(t *testing.T) {
	d := readDocument(t, "docs/guide/plugins.md")
	var server, client steps
	srv := weft.NewServer(&weft.ServerConfig{
		Hooks: []any{&server}, Plugins: []weft.Plugin{{Server: server.around("Plugin.Server")}},
		Interceptors: []weft.UnaryInterceptor{server.around("Interceptors")},
		Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) {
			server.add("Authenticate")
			return nil, nil
		},
	})
	must(t, weft.Handle(srv, "Note.Add", func(context.Context, *Entry) (*Done, error) {
		server.add("handler")
		return &Done{}, nil
	}))
	c, err := weft.Dial(t.Context(), serve(t, srv), &weft.ClientConfig{
		Hooks: []any{&client}, Plugins: []weft.Plugin{{Client: client.around("Plugin.Client")}},
		Interceptors: []weft.UnaryInterceptor{client.around("Interceptors")},
		Credential: func(context.Context, string) (weft.Credential, error) {
			client.add("Credential")
			return weft.Credential{}, nil
		},
	})
	must(t, err)
	must(t, c.Call(t.Context(), "Note.Add", &Entry{}, new(Done)))
	must(t, c.Close())
	must(t, srv.Shutdown(t.Context())) // the last hook of the server runs behind the reply
	for section, got := range map[string][]string{"A unary call on the server": server.all, "A unary call on the client": client.all} {
		var want []string
		for _, row := range rows(d.section(t, section)) {
			want = append(want, quoted(row[0])...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: these ran:\n%s\nthe table has:\n%s", section, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
