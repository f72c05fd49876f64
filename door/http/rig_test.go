package http_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
)

// User is a message of the tests.
type User struct {
	ID      int64          `json:"id,omitempty" doc:"the number of the user"`
	Name    string         `json:"name,omitempty"`
	Tags    []string       `json:"tags,omitempty"`
	Admin   bool           `json:"admin,omitempty"`
	Score   float64        `json:"score,omitempty"`
	Wait    time.Duration  `json:"wait,omitempty"`
	Born    time.Time      `json:"born,omitzero"`
	Key     []byte         `json:"key,omitempty"`
	Address *Address       `json:"address,omitempty"`
	Extra   map[string]any `json:"extra,omitempty"`
}

// Address is a part of a User.
type Address struct {
	City string `json:"city,omitempty"`
	Zip  uint16 `json:"zip,omitempty"`
}

// rig is a server with the door.
type rig struct {
	t    *testing.T
	srv  *weft.Server
	addr string
	url  string
	c    *nethttp.Client
}

// start starts a server with methods of every kind.
func start(t *testing.T, cfg *http.Config, change func(*weft.ServerConfig)) *rig {
	t.Helper()
	sc := &weft.ServerConfig{Doors: []weft.Door{http.Door(cfg)}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(sc)
	}
	srv := weft.NewServer(sc)
	same := func(_ context.Context, u *User) (*User, error) { return u, nil }
	must(t, errors.Join(
		weft.Handle(srv, "Users.Get", same, weft.Idempotent(), weft.Doc("Get returns a user."),
			http.Get("/users/{id}"), http.Get("/cities/{address.city}/users/{id}"), http.Get("/keys/{name...}")),
		weft.Handle(srv, "Users.Put", same, http.Put("/users/{id}"), http.Post("/users/{id}:rename"), http.Delete("/users/{id}")),
		weft.Handle(srv, "Users.Move", same, http.Patch("/users/{id}/address", http.Body("address"))),
		weft.Handle(srv, "Users.Me", same, http.Get("/users/me")),
		weft.Handle(srv, "Users.Fail", func(_ context.Context, u *User) (*User, error) {
			e := weft.Errorf(weft.Code(u.ID), "as you wish").WithReason("ON_REQUEST").WithDetail("a.Type", []byte("value"))
			return nil, e.WithRetryAfter(1500 * time.Millisecond)
		}),
		weft.Handle(srv, "Users.Meta", meta),
		weft.Handle(srv, "Proto.Half", func(_ context.Context, n *wrapperspb.Int64Value) (*wrapperspb.Int64Value, error) {
			return wrapperspb.Int64(n.Value / 2), nil
		}),
		weft.HandleRaw(srv, "Raw.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }),
		weft.HandleServerStream(srv, "Stream.Count", count, weft.Idempotent(), http.Get("/count/{id}")),
		weft.HandleClientStream(srv, "Stream.Sum", sum),
		weft.HandleStream(srv, "Stream.Echo", echo),
		srv.Alias("Old.Get", "Users.Get"),
	))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	transport := &nethttp.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
		<-served
	})
	return &rig{t: t, srv: srv, addr: l.Addr().String(), url: "http://" + l.Addr().String(), c: &nethttp.Client{Transport: transport}}
}

func meta(ctx context.Context, u *User) (*User, error) {
	m := weft.MetadataFrom(ctx)
	if err := weft.SetReplyMetadata(ctx, "seen", m.Get(u.Name), "binary", "\x00\x01"); err != nil {
		return nil, err
	}
	left := time.Duration(0)
	if at, ok := ctx.Deadline(); ok {
		left = time.Until(at)
	}
	return &User{Tags: m.Values(u.Name), Wait: left}, nil
}

func count(_ context.Context, u *User, out *weft.Sender[User]) error {
	for i := range u.ID {
		if err := out.Send(&User{ID: i + 1}); err != nil {
			return err
		}
	}
	if u.Admin {
		return weft.Errorf(weft.Aborted, "enough")
	}
	return nil
}

func sum(_ context.Context, in *weft.Receiver[User]) (*User, error) {
	total := &User{}
	for u, err := range in.All() {
		if err != nil {
			return nil, err
		}
		total.ID += u.ID
	}
	return total, nil
}

func echo(_ context.Context, s *weft.Stream[User, User]) error {
	for u, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(u); err != nil {
			return err
		}
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do sends a request; headers are names and values in turn.
func (r *rig) do(verb, path, body string, headers ...string) (*nethttp.Response, string) {
	r.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := nethttp.NewRequestWithContext(r.t.Context(), verb, r.url+path, content)
	must(r.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	answer, err := r.c.Do(req)
	must(r.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(r.t, err)
	return answer, string(text)
}
