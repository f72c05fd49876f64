package weft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
)

// codes are all of them, with their numbers and names on the wire.
func codes() map[weft.Code]string {
	return map[weft.Code]string{
		1: "Canceled", 2: "Unknown", 3: "InvalidArgument", 4: "DeadlineExceeded", 5: "NotFound", 6: "AlreadyExists",
		7: "PermissionDenied", 8: "ResourceExhausted", 9: "FailedPrecondition", 10: "Aborted", 11: "OutOfRange",
		12: "Unimplemented", 13: "Internal", 14: "Unavailable", 15: "DataLoss", 16: "Unauthenticated",
	}
}

// failing registers a method, unary and as a stream, that fails with err.
func failing(err error) func(*weft.Server) error {
	return func(s *weft.Server) error {
		return errors.Join(
			weft.Handle(s, "Fail.Unary", func(context.Context, *Args) (*Product, error) { return nil, err }),
			weft.HandleStream(s, "Fail.Stream", func(context.Context, *weft.Stream[Args, Product]) error { return err }))
	}
}

// Every error of a handler arrives with its code, message, reason and details.
func TestHandlerErrors(t *testing.T) {
	type want struct {
		code    weft.Code
		message string
		reason  string
		details []weft.Detail
	}
	full := weft.Errorf(weft.Aborted, "seat %d is taken", 7).WithReason("SEAT_TAKEN").WithDetail("seat", []byte{7}).WithDetail("row", nil)
	details := []weft.Detail{{Type: "seat", Value: []byte{7}}, {Type: "row"}}
	crowded := weft.Errorf(weft.Aborted, "m")
	for i := range 20 {
		crowded = crowded.WithDetail(fmt.Sprint(i), nil)
	}
	tests := map[string]struct {
		err  error
		want want
	}{
		"too many details":  {crowded, want{weft.Aborted, "m", "", crowded.Details[:16]}},
		"full":              {full, want{weft.Aborted, "seat 7 is taken", "SEAT_TAKEN", details}},
		"wrapped":           {fmt.Errorf("book: %w", full), want{weft.Aborted, "book: " + full.Error(), "SEAT_TAKEN", details}},
		"plain":             {errors.New("it broke"), want{weft.Unknown, "it broke", "", nil}},
		"a bare code":       {weft.NotFound, want{weft.NotFound, "NotFound", "", nil}},
		"a wrapped code":    {fmt.Errorf("row 3: %w", weft.OutOfRange), want{weft.OutOfRange, "row 3: OutOfRange", "", nil}},
		"context":           {context.DeadlineExceeded, want{weft.DeadlineExceeded, "context deadline exceeded", "", nil}},
		"wrapped context":   {fmt.Errorf("query: %w", context.Canceled), want{weft.Canceled, "query: context canceled", "", nil}},
		"joined":            {errors.Join(errors.New("a"), weft.DataLoss), want{weft.DataLoss, "a\nDataLoss", "", nil}},
		"a code unknown":    {weft.Code(99), want{weft.Unknown, "Code(99)", "", nil}},
		"no code":           {weft.Code(0), want{weft.Unknown, "OK", "", nil}},
		"long message":      {errors.New(strings.Repeat("x", 10_000)), want{weft.Unknown, strings.Repeat("x", 4096), "", nil}},
		"long reason":       {weft.Errorf(weft.Aborted, "m").WithReason(strings.Repeat("R", 300)), want{weft.Aborted, "m", strings.Repeat("R", 255), nil}},
		"an error, no code": {&weft.Error{Message: "bad"}, want{weft.Unknown, "bad", "", nil}},
		"empty":             {errors.New(""), want{weft.Unknown, "", "", nil}},
	}
	for code, name := range codes() {
		tests["code "+name] = struct {
			err  error
			want want
		}{weft.Errorf(code, "because"), want{code, "because", "", nil}}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, nil, failing(tt.err)).dial(nil)
			for _, err := range []error{
				c.Call(t.Context(), "Fail.Unary", &Args{}, nil),
				drainStream(t.Context(), c, "Fail.Stream"),
			} {
				e, ok := errors.AsType[*weft.Error](err)
				if !ok {
					t.Fatalf("%T: %v", err, err)
				}
				got := want{e.Code, e.Message, e.Reason, e.Details}
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got  %+v\nwant %+v", got, tt.want)
				}
				if e.Outcome != weft.Executed || !strings.HasPrefix(e.Method, "Fail.") || e.Peer != "server" {
					t.Errorf("outcome %v, method %q, peer %q", e.Outcome, e.Method, e.Peer)
				}
				if !errors.Is(err, tt.want.code) {
					t.Errorf("errors.Is does not find %v in %v", tt.want.code, err)
				}
			}
		})
	}
}

// A stream's handler that passes the end of its input on has nothing to complain of.
func TestStreamHandlerReturnsEOF(t *testing.T) {
	c := start(t, nil, failing(io.EOF)).dial(nil)
	if err := drainStream(t.Context(), c, "Fail.Stream"); err != io.EOF {
		t.Errorf("%v, want io.EOF", err)
	}
}

func TestErrorIs(t *testing.T) {
	for _, tt := range []struct {
		err, target error
		want        bool
	}{
		{weft.Errorf(weft.NotFound, "x"), weft.NotFound, true},
		{weft.Errorf(weft.NotFound, "x"), weft.Aborted, false},
		{weft.NotFound, weft.NotFound, true},
		{fmt.Errorf("y: %w", weft.Errorf(weft.NotFound, "x")), weft.NotFound, true},
		{weft.Errorf(weft.Canceled, "x"), context.Canceled, true},
		{weft.Errorf(weft.DeadlineExceeded, "x"), context.DeadlineExceeded, true},
		{weft.Errorf(weft.DeadlineExceeded, "x"), context.Canceled, false},
		{weft.Errorf(weft.Internal, "x: %w", io.ErrUnexpectedEOF), io.ErrUnexpectedEOF, true},
		{weft.Errorf(weft.Internal, "x: %w", io.ErrUnexpectedEOF), io.EOF, false},
	} {
		if got := errors.Is(tt.err, tt.target); got != tt.want {
			t.Errorf("errors.Is(%v, %v) = %v", tt.err, tt.target, got)
		}
	}
}

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want weft.Code
	}{
		{nil, 0},
		{errors.New("x"), weft.Unknown},
		{weft.NotFound, weft.NotFound},
		{fmt.Errorf("x: %w", weft.NotFound), weft.NotFound},
		{weft.Errorf(weft.Aborted, "x: %w", weft.NotFound), weft.Aborted},
		{fmt.Errorf("x: %w", context.Canceled), weft.Canceled},
		{context.DeadlineExceeded, weft.DeadlineExceeded},
	} {
		if got := weft.CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	e := weft.Errorf(weft.NotFound, "no user %d", 7)
	for want, err := range map[string]error{
		"NotFound: no user 7":                         e,
		"NotFound: no user 7 [NO_USER]":               e.WithReason("NO_USER"),
		"A.B at here: Unavailable (Refused): busy":    &weft.Error{Code: weft.Unavailable, Message: "busy", Outcome: weft.Refused, Method: "A.B", Peer: "here"},
		"A.B: Unavailable (NotSent)":                  &weft.Error{Code: weft.Unavailable, Outcome: weft.NotSent, Method: "A.B"},
		"DeadlineExceeded (Executed): too late [WHY]": &weft.Error{Code: weft.DeadlineExceeded, Message: "too late", Reason: "WHY", Outcome: weft.Executed},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for code, name := range codes() {
		if code.String() != name || code.Error() != name {
			t.Errorf("code %d is called %q", uint16(code), code)
		}
	}
	for outcome, want := range map[weft.Outcome]string{
		weft.OutcomeUnknown: "Unknown", weft.NotSent: "NotSent", weft.Refused: "Refused", weft.Executed: "Executed",
	} {
		if outcome.String() != want {
			t.Errorf("outcome %d is called %q, want %q", outcome, outcome, want)
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "error", e.WithReason("NO_USER"))
	wantText(t, log.String(), "error.code=NotFound", `error.message="no user 7"`, "error.reason=NO_USER", "error.outcome=Unknown")
}

// The copies that WithReason and WithDetail return leave the error as it was.
func TestErrorIsNotChanged(t *testing.T) {
	e := weft.Errorf(weft.Aborted, "x").WithDetail("a", nil)
	one, two := e.WithDetail("b", nil), e.WithDetail("c", nil)
	if e.WithReason("R"); e.Reason != "" || len(e.Details) != 1 || one.Details[1].Type != "b" || two.Details[1].Type != "c" {
		t.Errorf("%v, %v, %v", e, one.Details, two.Details)
	}
}

// What a handler's own call ended with is passed on with its code; where it came
// from is not.
func TestNestedErrorPassesOn(t *testing.T) {
	back := start(t, nil, nil).dial(nil)
	front := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Front.Div", func(ctx context.Context, a *Args) (*Product, error) {
			return weft.Invoke[Product](ctx, back, "Arith.Div", a)
		})
	})
	err := front.dial(nil).Call(t.Context(), "Front.Div", &Args{}, nil)
	e := wantError(t, err, weft.InvalidArgument, weft.Executed)
	if e.Message != "division by zero" || e.Reason != "ZERO" || e.Method != "Front.Div" {
		t.Errorf("%+v", e)
	}
}

// log collects what is logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// A panic costs its call. The caller learns that it was one and nothing else; the
// log has the rest.
func TestHandlerPanic(t *testing.T) {
	const secret = "canary-7f3a"
	pass := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}
	for name, cfg := range map[string]weft.ServerConfig{
		"plain":       {},
		"intercepted": {Interceptors: []weft.UnaryInterceptor{pass}},
	} {
		t.Run(name, func(t *testing.T) {
			var logged log
			cfg.Logger = logged.logger()
			w := start(t, &cfg, func(s *weft.Server) error {
				return errors.Join(
					weft.Handle(s, "Panic.Unary", func(_ context.Context, a *string) (*string, error) { panic("oh no: " + *a) }),
					weft.HandleStream(s, "Panic.Stream", func(context.Context, *weft.Stream[Args, Product]) error { panic(secret) }),
					weft.Handle(s, "Panic.Nil", func(_ context.Context, a *Args) (*Args, error) {
						var p *Args
						p.A = 1
						return p, nil
					}),
					s.Register(Arith{}))
			})
			c := w.dial(nil)
			for _, err := range []error{
				c.Call(t.Context(), "Panic.Unary", secret, nil),
				drainStream(t.Context(), c, "Panic.Stream"),
				c.Call(t.Context(), "Panic.Nil", &Args{}, nil),
			} {
				e := wantError(t, err, weft.Internal, weft.Executed, "the handler panicked")
				if text := fmt.Sprintf("%+v %#v", e, e); strings.Contains(text, secret) || strings.Contains(text, ".go:") {
					t.Errorf("the caller was told too much: %s", text)
				}
			}
			multiply(t, c) // on the same connection
			wantText(t, logged.String(), "handler panicked", "method=Panic.Unary", "method=Panic.Stream", secret, "error_test.go:", "nil pointer")
		})
	}
}

// Without a Logger warnings and errors go to slog.Default(), on both sides, and nothing
// below them.
func TestDefaultLogger(t *testing.T) {
	var logged log
	before := slog.Default()
	slog.SetDefault(logged.logger())
	defer slog.SetDefault(before)
	fail := func(context.Context, *Args) (*Product, error) { panic("on purpose") }
	w := start(t, nil, func(s *weft.Server) error { return weft.Handle(s, "Panic.Unary", fail) })
	s := weft.NewServices()
	must(t, weft.Handle(s, "Panic.Unary", fail))
	c := w.dial(&weft.ClientConfig{Services: s})
	wantError(t, c.Call(t.Context(), "Panic.Unary", &Args{}, nil), weft.Internal, weft.Executed)
	wantError(t, w.srv.Peers()[0].Call(t.Context(), "Panic.Unary", &Args{}, nil), weft.Internal, weft.Executed)
	must(t, c.Close())
	must(t, w.srv.Close())
	text := logged.String()
	if n := strings.Count(text, "handler panicked"); n != 2 {
		t.Errorf("%d panics were logged, want 2:\n%s", n, text)
	}
	if strings.Contains(text, "level=INFO") || strings.Contains(text, "level=DEBUG") {
		t.Errorf("logged without a logger:\n%s", text)
	}
}

// Only what is no error has the code of none: else failures would be counted as success.
func TestNoCodeIsUnknown(t *testing.T) {
	for _, err := range []error{&weft.Error{Message: "bad"}, weft.Code(0), fmt.Errorf("wrapped: %w", &weft.Error{})} {
		if code := weft.CodeOf(err); code != weft.Unknown {
			t.Errorf("the code of %v is %v, want Unknown", err, code)
		}
	}
}
