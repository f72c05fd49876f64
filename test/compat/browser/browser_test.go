package browser

import (
	"context"
	"errors"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/schema"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Args are the operands of Arith.Mul.
type Args struct {
	A int `json:"a"`
	B int `json:"b"`
}

// serve starts a server that pages of an origin may call.
func serve(t *testing.T, origin string) string {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Doors: connect.Doors(&connect.Config{Origins: []string{origin},
		HTTP: &http.Config{Origins: []string{origin}, OpenAPI: &schema.Info{Title: "Trial", Version: "1"}}})})
	must(t, errors.Join(
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*int, error) {
			c := a.A * a.B
			return &c, nil
		}, weft.Idempotent()),
		weft.Handle(srv, "test.Test.Echo", func(ctx context.Context, s *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			return s, weft.SetReplyMetadata(ctx, "got", weft.MetadataFrom(ctx).Get("sent"))
		}, weft.Idempotent()),
		weft.Handle(srv, "test.Test.Fail", func(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			return nil, notFound()
		}),
		weft.HandleServerStream(srv, "test.Test.Count", func(_ context.Context, n *wrapperspb.Int64Value, out *weft.Sender[wrapperspb.Int64Value]) error {
			for i := range n.Value {
				if err := out.Send(wrapperspb.Int64(i)); err != nil {
					return err
				}
			}
			return notFound()
		}),
		weft.HandleStream(srv, "Chat.Talk", func(_ context.Context, s *weft.Stream[Args, Args]) error {
			for a, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(&Args{A: a.A + 1, B: a.B}); err != nil {
					return err
				}
			}
			return nil
		}),
	))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return l.Addr().String()
}

// notFound is the error of methods that fail, with a detail.
func notFound() error {
	b, err := proto.Marshal(durationpb.New(1500))
	if err != nil {
		return err
	}
	return weft.Errorf(weft.NotFound, "nothing here").WithDetail("google.protobuf.Duration", b)
}

// site serves the files of a folder, as a page of its own origin.
func site(t *testing.T, dir string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	srv := &nethttp.Server{Handler: nethttp.FileServer(nethttp.Dir(dir)), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with srv
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return "http://" + l.Addr().String()
}

// TestChromium has pages call: those of the server itself, of an origin that may, of one that may not, and of a name
// that was pointed at the server.
func TestChromium(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run("../../..", "scripts/need.sh", "node", "npm", "chromium")
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "drive.js", "index.html", "page.js"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	run(dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	page := site(t, dir)
	run(dir, "node", "drive.js", serve(t, page), page, site(t, dir))
}
