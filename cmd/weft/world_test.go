package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/health"
	"github.com/weftrpc/weft/plugin/record"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// world is what the examples of the help name: servers, registries, and the files in the current folder.
type world struct {
	*server                // of Arith, Shop, Greeter and Feed, by all wires but Connect
	hello, connect, secure *server
	etcd, secureEtcd       string // host and port
	folder                 string
}

// newWorld makes it, with calls under way.
func newWorld(t *testing.T) *world {
	t.Helper()
	pkg(t) // ./orders
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, pair := certificate(t, "weft.test", time.Now().Add(100*24*time.Hour))
	w := &world{server: begin(t), folder: folder}
	w.hello = helloServer(t)
	w.connect = begin(t, func(cfg *weft.ServerConfig) { cfg.Doors = connect.Doors(nil) })
	w.secure = begin(t, func(cfg *weft.ServerConfig) { cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}} })
	type sentence struct {
		Sentence string `json:"sentence"`
	}
	err = errors.Join(
		w.srv.Alias("Arith.Multiply", "Arith.Mul"), w.srv.Alias("Calculator.add", "Arith.Mul"),
		weft.Handle(w.srv, "Greeter.Say", func(_ context.Context, text *Text) (*Text, error) { return text, nil }, weft.Idempotent()),
		weft.HandleClientStream(w.srv, "Feed.Import", func(_ context.Context, in *weft.Receiver[Sum]) (*Sum, error) {
			total := new(Sum)
			for s, err := range in.All() {
				if err != nil {
					return nil, err
				}
				total.N += s.N
			}
			return total, nil
		}),
		weft.Handle(w.connect.srv, "eliza.v1.ElizaService.Say", func(_ context.Context, s *sentence) (*sentence, error) { return s, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	w.files(t, cert, key)
	w.etcd = localPort(t)
	upAt(t, w.etcd, t.TempDir())
	w.secureEtcd = secureEtcd(t, cert, key)
	t.Setenv("WEFT_REGISTRY", "etcd://"+w.etcd)
	reg, err := etcd.New(etcd.Config{Endpoints: []string{w.etcd}, Registry: registry.Config{NoCache: true, TTL: patience}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() }) // what cannot be withdrawn expires
	for _, service := range []string{"Arith", "Shop", "Greeter", "Feed"} {
		if _, err := reg.Register(weft.Instance{Service: service, ID: w.address, Address: w.address}); err != nil {
			t.Fatal(err)
		}
	}
	for _, service := range []string{"Arith", "Shop", "Greeter", "Feed"} {
		listed(t, "etcd://"+w.etcd, service)
	}
	for n := range 8 {
		expect(t, 0, fmt.Sprintf("version %d ", n+1), "", strings.Replace(someRules, "5", fmt.Sprint(n+1), 1), "rules", "apply", "Greeter")
	}
	busy(t, w.address)
	return w
}

// helloServer is a server with messages that have a form in all schemas.
func helloServer(t *testing.T) *server {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{grpc.Door(nil)}})
	h, err := health.New(srv, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		weft.Handle(srv, "helloworld.Greeter.SayHello", func(_ context.Context, args *Args) (*Args, error) { return args, nil }),
		admin.Register(srv, nil), grpc.RegisterHealth(srv, h),
	)
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	t.Cleanup(func() { srv.Close() })
	return &server{srv, l.Addr().String(), "tcp://" + l.Addr().String()}
}

// files writes the files.
func (w *world) files(t *testing.T, cert, key string) {
	t.Helper()
	t.Setenv("WEFT_CONFIG", filepath.Join(w.folder, "contexts.json"))
	const proto = "syntax = \"proto3\";\npackage shop;\nmessage Order { int64 id = 1; }\nservice Shop { rpc Get(Order) returns (Order); }\n"
	for name, text := range map[string]string{
		"rules.json": someRules, "request.json": `{"A":6,"B":7}`, "orders.ndjson": "{\"n\":1}\n{\"n\":2}\n", "other.json": "{}",
		"contexts.json": `{"current": "staging", "contexts": {"staging": {}}}`, "shop.proto": proto, "old/shop.proto": proto, "new/shop.proto": proto, "proto/shop.proto": proto,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, text)
	}
	for name, from := range map[string]string{"ca.pem": cert, "me.pem": cert, "me.key": key} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, string(text))
	}
	if err := os.Mkdir("calls", 0o700); err != nil {
		t.Fatal(err)
	}
	w.recording(t, "calls.weftrec")
	w.recording(t, "calls/calls.weftrec")
}

// recording writes a recording with calls of Arith.Mul and Greeter.Say.
func (w *world) recording(t *testing.T, path string) {
	t.Helper()
	_ = os.Remove(path) // it need not be there
	out, err := record.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	as := func(text string) record.Message { return record.Message{Codec: "json", Body: []byte(text)} }
	for n := range 3 {
		at := time.Now().Add(time.Duration(n-10) * 10 * time.Millisecond)
		err = errors.Join(err,
			out.Write(&record.Call{Time: at, Took: time.Millisecond, Side: record.Answered, Method: "Arith.Mul", Request: as(`{"A":6,"B":7}`), Reply: as("42")}),
			out.Write(&record.Call{Time: at, Took: time.Millisecond, Side: record.Answered, Method: "Greeter.Say", Metadata: [][2]string{{"user", "ann"}}, Request: as(`{"text":"a"}`), Reply: as(`{"text":"a"}`)}))
	}
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}
