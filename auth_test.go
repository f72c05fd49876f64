package weft_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
)

// canary is a token that must turn up nowhere.
const canary = "canary-5d41402a"

// guard accepts callers that show the canary, and gives them a name.
func guard(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
	switch {
	case cred == (weft.Credential{}):
		return nil, errors.New("no credential was shown")
	case cred.Scheme != "Bearer" || cred.Token != canary:
		return nil, weft.Errorf(weft.PermissionDenied, "not with this %s credential", cred.Scheme)
	}
	return "alice", nil
}

// whoami registers methods that return the principal of their caller.
func whoami(s *weft.Server) error {
	who := func(ctx context.Context) string { return fmt.Sprint(weft.PrincipalFrom(ctx)) }
	return errors.Join(
		weft.Handle(s, "Who.Unary", func(ctx context.Context, _ *Args) (*string, error) { w := who(ctx); return &w, nil }),
		weft.HandleServerStream(s, "Who.Stream", func(ctx context.Context, _ *Args, out *weft.Sender[string]) error {
			w := who(ctx)
			return out.Send(&w)
		}),
		s.Register(Arith{}))
}

func ask(t *testing.T, c *weft.Client, opts ...weft.CallOption) (unary, stream string, err error) {
	t.Helper()
	u, err := weft.Invoke[string](t.Context(), c, "Who.Unary", &Args{}, opts...)
	s, serr := weft.Subscribe[string](t.Context(), c, "Who.Stream", &Args{}, opts...)
	if serr == nil {
		var last *string
		if last, serr = lastOf(s); serr == io.EOF && err == nil && last != nil {
			return *u, *last, nil
		}
	}
	if weft.CodeOf(err) != weft.CodeOf(serr) {
		t.Errorf("unary: %v; stream: %v", err, serr)
	}
	return "", "", err
}

func TestAuthenticateCalls(t *testing.T) {
	w := start(t, &weft.ServerConfig{Authenticate: guard}, whoami)
	for _, tt := range []struct {
		name string
		cfg  weft.ClientConfig
		opts []weft.CallOption
		want string
		code weft.Code
		text string
	}{
		{"configured", weft.ClientConfig{Credential: weft.StaticCredential("Bearer", canary)}, nil, "alice", 0, ""},
		{"by option", weft.ClientConfig{}, []weft.CallOption{weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: canary})}, "alice", 0, ""},
		{"the option goes first", weft.ClientConfig{Credential: weft.StaticCredential("Bearer", "old")},
			[]weft.CallOption{weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: canary})}, "alice", 0, ""},
		{"none", weft.ClientConfig{}, nil, "", weft.Unauthenticated, "no credential was shown"},
		{"another token", weft.ClientConfig{Credential: weft.StaticCredential("Bearer", "guess")}, nil, "", weft.PermissionDenied, "not with this Bearer credential"},
		{"another scheme", weft.ClientConfig{Credential: weft.StaticCredential("AppKey", canary)}, nil, "", weft.PermissionDenied, "not with this AppKey credential"},
		{"a token alone", weft.ClientConfig{Credential: weft.StaticCredential("", canary)}, nil, "", weft.PermissionDenied, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := w.dial(&tt.cfg)
			unary, stream, err := ask(t, c, tt.opts...)
			if tt.code == 0 {
				if err != nil || unary != tt.want || stream != tt.want {
					t.Errorf("%q, %q, %v", unary, stream, err)
				}
				return
			}
			wantError(t, err, tt.code, weft.Refused, tt.text)
		})
	}
}

// A credential of its own goes before one that is in the metadata anyway.
func TestCredentialGoesBeforeMetadata(t *testing.T) {
	c := start(t, &weft.ServerConfig{Authenticate: guard}, whoami).dial(&weft.ClientConfig{Credential: weft.StaticCredential("Bearer", canary)})
	ctx := weft.WithMetadata(t.Context(), "authorization", "Bearer of somebody else")
	if _, err := weft.Invoke[string](ctx, c, "Who.Unary", &Args{}); err != nil {
		t.Error(err)
	}
	plain := start(t, &weft.ServerConfig{Authenticate: guard}, whoami).dial(nil)
	if _, err := weft.Invoke[string](weft.WithMetadata(t.Context(), "authorization", "Bearer "+canary), plain, "Who.Unary", &Args{}); err != nil {
		t.Error(err)
	}
}

// A client that cannot get a credential sends nothing.
func TestCredentialError(t *testing.T) {
	var called atomic.Int32
	w := start(t, &weft.ServerConfig{Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) {
		called.Add(1)
		return nil, nil
	}}, whoami)
	reason := errors.New("the vault is closed")
	c := w.dial(&weft.ClientConfig{Credential: func(context.Context, string) (weft.Credential, error) { return weft.Credential{}, reason }})
	_, err := weft.Invoke[string](t.Context(), c, "Who.Unary", &Args{})
	if wantError(t, err, weft.Unauthenticated, weft.NotSent, "the vault is closed"); !errors.Is(err, reason) || called.Load() != 0 {
		t.Errorf("%v; the server was asked %d times", err, called.Load())
	}
	long := w.dial(&weft.ClientConfig{Credential: weft.StaticCredential("Bearer", strings.Repeat("x", 1<<16))})
	_, err = weft.Invoke[string](t.Context(), long, "Who.Unary", &Args{})
	wantError(t, err, weft.InvalidArgument, weft.NotSent, "more than 65535 bytes")
}

// A stranger's body is neither decompressed nor decoded.
func TestDenyBeforeDecode(t *testing.T) {
	w := start(t, &weft.ServerConfig{Authenticate: guard, Compressors: []compress.Compressor{gzip.New()}}, whoami)
	c := w.dial(&weft.ClientConfig{Compressor: forger{body: []byte("this is no gzip at all, but it is long enough")}})
	for _, args := range []any{"not the type", strings.Repeat("x", 5000)} {
		err := c.Call(t.Context(), "Who.Unary", args, nil)
		wantError(t, err, weft.Unauthenticated, weft.Refused, "no credential was shown")
	}
}

// No spelling of a method's name passes by a policy that goes by names: the policy sees
// the method's own name, or a name that no method has. A stranger learns of neither
// whether it exists.
func TestMethodSpellings(t *testing.T) {
	seen := make(chan string, 1)
	w := start(t, &weft.ServerConfig{Authenticate: func(_ context.Context, _ weft.Credential, info *weft.CallInfo) (any, error) {
		seen <- info.Method
		return nil, weft.PermissionDenied
	}}, whoami)
	must(t, w.srv.Alias("Old.Name", "Arith.Mul"))
	c := w.dial(nil)
	for _, name := range []string{"Arith.Mul", "Old.Name"} {
		wantError(t, c.Call(t.Context(), name, &Args{}, nil), weft.PermissionDenied, weft.Refused)
		if got := <-seen; got != "Arith.Mul" {
			t.Errorf("called as %s, the policy saw %s", name, got)
		}
	}
	for _, name := range []string{
		"arith.mul", "ARITH.MUL", "Arith.mul", "arith.Mul", "Arith..Mul", ".Arith.Mul", "Arith.Mul.", "/Arith/Mul", "/Arith.Mul", "Arith/Mul",
		"Arith.Mul/", "Arith.Mul?", "Arith.Mul#x", "Arith.Mul;", "Arith%2EMul", "Arith．Mul", "Аrith.Mul", "Arith.Mul\u200b", "x.Arith.Mul", "./Arith.Mul", "Arith.Mu\u006c\u0301",
	} {
		wantError(t, c.Call(t.Context(), name, &Args{}, nil), weft.PermissionDenied, weft.Refused)
		if got := <-seen; got != name {
			t.Errorf("called as %s, the policy saw %s", name, got)
		}
	}
}

// Without a credential every name gets the same answer, whether there is such a method or
// not, called as what it is or not. With one the caller is told.
func TestStrangersCannotListMethods(t *testing.T) {
	w := start(t, &weft.ServerConfig{Authenticate: guard}, whoami)
	c := w.dial(nil)
	for _, name := range []string{"Who.Unary", "Who.Stream", "Who.Missing", "No.Service"} {
		wantError(t, c.Call(t.Context(), name, &Args{}, nil), weft.Unauthenticated, weft.Refused, "no credential was shown")
		err := drainStream(t.Context(), c, name)
		wantError(t, err, weft.Unauthenticated, weft.Refused, "no credential was shown")
	}
	known := w.dial(&weft.ClientConfig{Credential: weft.StaticCredential("Bearer", canary)})
	wantError(t, known.Call(t.Context(), "Who.Missing", &Args{}, nil), weft.Unimplemented, weft.Refused, "the service has Who.")
	wantError(t, known.Call(t.Context(), "Who.Stream", &Args{}, nil), weft.Unimplemented, weft.Refused, "a streaming method and was called as a unary one")
}

func TestAuthenticateConns(t *testing.T) {
	var asked atomic.Int32
	cfg := &weft.ServerConfig{AuthenticateConn: func(_ context.Context, cred weft.Credential, p *weft.Peer) (any, error) {
		asked.Add(1)
		if cred.Token == "panic" {
			panic(cred.Token)
		}
		if p.Addr() == nil || p.Software() == "" {
			return nil, weft.Internal
		}
		return guard(context.Background(), cred, nil)
	}}
	w := start(t, cfg, whoami)
	with := func(scheme, token string) *weft.ClientConfig {
		return &weft.ClientConfig{
			Transports: transports(w.net), ConnCredential: func(context.Context) (weft.Credential, error) {
				return weft.Credential{Scheme: scheme, Token: token}, nil
			}}
	}
	c := w.dial(with("Bearer", canary))
	for range 3 {
		if unary, stream, err := ask(t, c); err != nil || unary != "alice" || stream != "alice" {
			t.Errorf("%q, %q, %v", unary, stream, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times for one connection", n)
	}
	if p := w.srv.Peers()[0].Principal(); p != "alice" {
		t.Errorf("the peer's principal is %v", p)
	}
	wantError(t, firstCall(t, address, with("Bearer", "guess")), weft.PermissionDenied, weft.NotSent, "not with this Bearer credential")
	wantError(t, firstCall(t, address, &weft.ClientConfig{Transports: transports(w.net)}), weft.Unauthenticated, weft.NotSent, "no credential was shown")
	wantError(t, firstCall(t, address, with("Bearer", "panic")), weft.Internal, weft.NotSent, "could not be authenticated")
	wantError(t, firstCall(t, address, with("Bearer", strings.Repeat("x", 9000))), weft.InvalidArgument, weft.NotSent, "the credential has 9007 bytes, at most 8192")
	if n := len(w.srv.Peers()); n != 1 {
		t.Errorf("%d connections are open", n)
	}
}

// The principal of a call goes before that of its connection.
func TestPrincipalOfCallAndConn(t *testing.T) {
	w := start(t, &weft.ServerConfig{
		AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) { return "gateway", nil },
		Authenticate: func(_ context.Context, cred weft.Credential, info *weft.CallInfo) (any, error) {
			if info.Peer.Principal() != "gateway" {
				return nil, weft.Internal
			}
			if cred.Token == "" {
				return nil, nil
			}
			return cred.Token, nil
		},
	}, whoami)
	c := w.dial(nil)
	if unary, stream, err := ask(t, c); err != nil || unary != "gateway" || stream != "gateway" {
		t.Errorf("%q, %q, %v", unary, stream, err)
	}
	if unary, stream, err := ask(t, c, weft.WithCredential(weft.Credential{Token: "bob"})); err != nil || unary != "bob" || stream != "bob" {
		t.Errorf("%q, %q, %v", unary, stream, err)
	}
	if p := weft.PrincipalFrom(t.Context()); p != nil {
		t.Errorf("outside of a handler there is %v", p)
	}
}

// No credential turns up in what fmt, slog or an encoder print, in an error or in a log.
func TestCredentialsAreNeverPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cred := weft.Credential{Scheme: "Bearer", Token: canary}
		nested := struct {
			Name string
			Cred weft.Credential
			List []weft.Credential
			Ptr  *weft.Credential
		}{"x", cred, []weft.Credential{cred}, &cred}
		meta := weft.NewMetadata("authorization", "Bearer "+canary, "Authorization", canary, "plain", "shown")
		ctx := weft.WithMetadata(t.Context(), "authorization", canary)

		var printed strings.Builder
		for _, v := range []any{cred, &cred, nested, &nested, meta, &meta, ctx} {
			verbs := []string{"%v", "%+v", "%s", "%q", "%x", "%d", "%#v"}
			if v == ctx {
				verbs = verbs[:4] // with the others fmt looks into a context's unexported fields
			}
			for _, verb := range verbs {
				fmt.Fprintf(&printed, verb+"\n", v)
			}
			b, err := json.Marshal(v)
			fmt.Fprintln(&printed, string(b), err)
			for _, h := range []slog.Handler{slog.NewTextHandler(&printed, nil), slog.NewJSONHandler(&printed, nil)} {
				slog.New(h).Info("x", "v", v)
			}
		}
		wantText(t, printed.String(), "Bearer (hidden)", `plain="shown"`)

		var logged log
		cfg := &weft.ServerConfig{Logger: logged.logger(), Authenticate: guard, AuthenticateConn: func(_ context.Context, cred weft.Credential, _ *weft.Peer) (any, error) {
			if cred.Token == "" {
				return nil, weft.Unauthenticated
			}
			return nil, nil
		}}
		w := start(t, cfg, func(s *weft.Server) error {
			return weft.Handle(s, "Who.Panic", func(ctx context.Context, _ *Args) (*Args, error) {
				fmt.Fprintf(&printed, "%v %+v %v\n", ctx, ctx, weft.MetadataFrom(ctx))
				panic(fmt.Sprint(ctx))
			})
		})
		client := &weft.ClientConfig{Logger: logged.logger(), Credential: weft.StaticCredential("Bearer", canary),
			ConnCredential: func(context.Context) (weft.Credential, error) { return cred, nil }}
		c := w.dial(client)
		err := c.Call(t.Context(), "Who.Panic", &Args{}, nil)
		fmt.Fprintf(&printed, "%v %+v %#v\n", err, err, err)
		err = c.Call(t.Context(), "Who.Panic", &Args{}, nil, weft.WithCredential(weft.Credential{Scheme: "Other", Token: canary}))
		fmt.Fprintf(&printed, "%v %+v %#v\n", err, err, err)
		c.Close()
		w.srv.Close()
		for _, text := range []string{printed.String(), logged.String()} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("the token is shown: …%s…", text[max(0, i-200):min(len(text), i+50)])
			}
		}
	})
}

// A call whose credential is unavailable fails at once: to ask for the credential again would add load to the
// service that issues it.
func TestCredentialUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := start(t, nil, newProbe().register).dial(&weft.ClientConfig{
			Credential: func(context.Context, string) (weft.Credential, error) {
				if asked++; asked > 100 {
					t.Error("it is asked without end")
					return weft.Credential{}, weft.Errorf(weft.Internal, "enough")
				}
				return weft.Credential{}, weft.Errorf(weft.Unavailable, "the token service is away")
			},
		})
		err := c.Call(t.Context(), "Probe.Echo", &Args{}, nil)
		if weft.CodeOf(err) != weft.Unavailable || asked != 1 {
			t.Errorf("after asking %d times the call ended with %v", asked, err)
		}
	})
}

// A credential that is not to be had is asked for once, also for a stream.
func TestCredentialOfAStream(t *testing.T) {
	w := start(t, nil, nil)
	asked := 0
	c := w.dial(&weft.ClientConfig{Credential: func(context.Context, string) (weft.Credential, error) {
		asked++
		return weft.Credential{}, weft.Errorf(weft.Unavailable, "the token service is away")
	}})
	if _, err := weft.OpenStream[Args, Product](t.Context(), c, "Arith.Mul"); weft.CodeOf(err) != weft.Unavailable {
		t.Errorf("the stream opened with %v", err)
	}
	if asked != 1 {
		t.Errorf("the credential was asked for %d times", asked)
	}
}

// A credential that is not to be had is asked for once, also where the connection is lost meanwhile.
func TestCredentialOfALostConnection(t *testing.T) {
	for name, call := range map[string]func(context.Context, *weft.Client) error{
		"unary": func(ctx context.Context, c *weft.Client) error {
			return c.Call(ctx, "Arith.Mul", &Args{}, new(Product))
		},
		"stream": func(ctx context.Context, c *weft.Client) error {
			_, err := weft.OpenStream[Args, Product](ctx, c, "Arith.Mul")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			var c *weft.Client
			c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{
				Lazy: true, Transports: transports(start(t, nil, nil).net),
				Credential: func(context.Context, string) (weft.Credential, error) {
					asked++
					if p := c.Peer(); p != nil && asked < 10 {
						p.Close()
						<-p.Done()
					}
					return weft.Credential{}, weft.Errorf(weft.Unavailable, "the token service is away")
				},
			})
			must(t, err)
			defer c.Close()
			if err := call(t.Context(), c); weft.CodeOf(err) != weft.Unavailable || asked != 1 {
				t.Errorf("after asking %d times the call ended with %v", asked, err)
			}
		})
	}
}

// An Authenticate function that hangs delays no call for ever.
func TestAuthenticationThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		w := start(t, &weft.ServerConfig{AuthenticateConn: func(ctx context.Context, _ weft.Credential, _ *weft.Peer) (any, error) {
			return nil, hang(ctx)
		}}, nil)
		began := time.Now()
		if err := firstCall(t, address, &weft.ClientConfig{Transports: transports(w.net)}); err == nil {
			t.Error("the connection was let in")
		}
		if took := time.Since(began); took > weft.DefaultHandshakeTimeout+time.Second {
			t.Errorf("the connection was refused after %v", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil, nil).dial(&weft.ClientConfig{Credential: func(ctx context.Context, _ string) (weft.Credential, error) {
			<-ctx.Done()
			return weft.Credential{}, ctx.Err()
		}})
		began := time.Now()
		err := c.Call(t.Context(), "Arith.Mul", &Args{}, &Product{})
		if took := time.Since(began); weft.CodeOf(err) != weft.DeadlineExceeded || took != weft.DefaultTimeout {
			t.Errorf("the call ended after %v with %v", took, err)
		}
	})
}

// A credential arrives as it was given, with or without a scheme.
func TestCredentialParts(t *testing.T) {
	for _, want := range []weft.Credential{{}, {Token: "x"}, {Token: "a b"}, {Scheme: "Bearer", Token: "a b"}, {Scheme: "Bearer"}} {
		var got weft.Credential
		w := start(t, &weft.ServerConfig{Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			got = cred
			return nil, nil
		}}, nil)
		must(t, w.dial(nil).Call(t.Context(), "Arith.Mul", &Args{}, &Product{}, weft.WithCredential(want)))
		if got != want {
			t.Errorf("%#v arrived as %#v", want, got)
		}
	}
}

// MethodAuthenticate decides after the server's Authenticate, before the body is decoded, and only
// for its method.
func TestMethodAuthenticate(t *testing.T) {
	who := func(ctx context.Context, _ *Args) (*string, error) {
		w := fmt.Sprint(weft.PrincipalFrom(ctx))
		return &w, nil
	}
	count := func(_ context.Context, _ *Args, out *weft.Sender[string]) error { return nil }
	for name, server := range map[string]func(context.Context, weft.Credential, *weft.CallInfo) (any, error){
		"alone": nil, "behind the server's": func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return "server", nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, &weft.ServerConfig{Authenticate: server}, func(s *weft.Server) error {
				return errors.Join(
					weft.Handle(s, "Guarded.Unary", who, weft.MethodAuthenticate(guard)),
					weft.HandleServerStream(s, "Guarded.Stream", count, weft.MethodAuthenticate(guard)),
					weft.Handle(s, "Open.Unary", who))
			})
			c := w.dial(nil)
			ctx := t.Context()
			if open, err := weft.Invoke[string](ctx, c, "Open.Unary", &Args{}); err != nil || server != nil && *open != "server" {
				t.Errorf("%v, %v", open, err)
			}
			// A body that does not fit shows that it is not decoded.
			refused(t, c.Call(ctx, "Guarded.Unary", &struct{ A string }{"no number"}, nil), weft.Unauthenticated)
			_, err := lastOfOpened(weft.Subscribe[string](ctx, c, "Guarded.Stream", &Args{}))
			refused(t, err, weft.Unauthenticated)
			refused(t, c.Call(ctx, "Guarded.Stream", &Args{}, nil), weft.Unauthenticated)
			with := weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: canary})
			if got, err := weft.Invoke[string](ctx, c, "Guarded.Unary", &Args{}, with); err != nil || *got != "alice" {
				t.Errorf("%v, %v", got, err)
			}
			if _, err := lastOfOpened(weft.Subscribe[string](ctx, c, "Guarded.Stream", &Args{}, with)); err != io.EOF {
				t.Error(err)
			}
		})
	}
	if err := weft.Handle(weft.NewServices(), "No.Function", who, weft.MethodAuthenticate(nil)); !errors.Is(err, weft.InvalidArgument) {
		t.Error(err)
	}
}

// refused checks that a call was refused with a code.
func refused(t *testing.T, err error, code weft.Code) {
	t.Helper()
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != code || e.Outcome != weft.Refused {
		t.Errorf("the error is %v, want %v (Refused)", err, code)
	}
}

func lastOfOpened(s *weft.Stream[string, Args], err error) (*string, error) {
	if err != nil {
		return nil, err
	}
	return lastOf(s)
}
