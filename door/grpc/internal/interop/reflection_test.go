package interop

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/gofeaturespb"

	"github.com/weftrpc/weft"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/grpc/internal/reflection"
	"github.com/weftrpc/weft/health"
)

// The messages of a service that knows nothing of Protocol Buffers.
type (
	args struct {
		A, B int
	}
	product struct {
		C    int           `json:"c"`
		Took time.Duration `json:"took,omitempty"`
	}
	// point has numbers.
	point struct {
		X int32  `weft:"1"`
		Y *int32 `weft:"2"`
	}
)

// registerArith registers methods of all kinds.
func registerArith(srv *weft.Server) error {
	return errors.Join(
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *args) (*product, error) { return &product{C: a.A * a.B}, nil },
			weft.Idempotent(), weft.Doc("Mul multiplies.")),
		weft.HandleServerStream(srv, "Arith.Count", func(_ context.Context, a *args, out *weft.Sender[product]) error {
			for n := a.A; n < a.B; n++ {
				if err := out.Send(&product{C: n}); err != nil {
					return err
				}
			}
			return nil
		}),
		weft.HandleClientStream(srv, "Arith.Sum", func(_ context.Context, in *weft.Receiver[args]) (*product, error) {
			p := new(product)
			for a, err := range in.All() {
				if err != nil {
					return nil, err
				}
				p.C += a.A + a.B
			}
			return p, nil
		}),
		weft.HandleStream(srv, "Arith.Each", func(_ context.Context, s *weft.Stream[args, product]) error {
			for a, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(&product{C: a.A * a.B}); err != nil {
					return err
				}
			}
			return nil
		}),
		weft.Handle(srv, "Arith.Mirror", func(_ context.Context, p *point) (*point, error) {
			y := -p.X
			return &point{X: -p.X, Y: &y}, nil
		}, weftgrpc.Path("/geo.Points/Mirror")),
		weft.Handle(srv, "Arith.Any", func(_ context.Context, a *struct{ V [][]string }) (*product, error) { return nil, nil }),
	)
}

// reflecting is a server with reflection.
func reflecting(t *testing.T, cfg *weft.ServerConfig) string {
	t.Helper()
	cfg.Doors, cfg.Logger = []weft.Door{weftgrpc.Door(nil)}, slog.New(slog.DiscardHandler)
	srv := weft.NewServer(cfg)
	h, err := health.New(srv, nil)
	if err = errors.Join(err, registerArith(srv), weftgrpc.RegisterHealth(srv, h), weftgrpc.RegisterReflection(srv),
		weft.Handle(srv, "internal.Unary", unaryCall, weftgrpc.Path("/grpc.testing.TestService/UnaryCall"))); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() {
		srv.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// grpcurl builds the program and returns the folder that it is in.
func grpcurl(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "grpcurl"), "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// shell runs a line with the programs of a folder.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = append(out, ("\n" + err.Error())...)
	}
	return strings.TrimSpace(string(out))
}

// TestGrpcurl lists, describes and calls methods with the tool that most people use for it.
func TestGrpcurl(t *testing.T) {
	dir, addr := grpcurl(t), reflecting(t, &weft.ServerConfig{})
	const here = ".github_com.weftrpc.weft.door.grpc.internal.interop."
	for _, c := range []struct{ args, want string }{
		{"ADDR list", "Arith\ngeo.Points\ngrpc.health.v1.Health\ngrpc.reflection.v1.ServerReflection\ngrpc.reflection.v1alpha.ServerReflection\ngrpc.testing.TestService\ninternal\nweft.v1.Health"},
		{"ADDR describe Arith", "Arith is a service:\nservice Arith {\n" +
			"  rpc Count ( " + here + "args ) returns ( stream " + here + "product );\n" +
			"  rpc Each ( stream " + here + "args ) returns ( stream " + here + "product );\n" +
			"  rpc Mirror ( " + here + "point ) returns ( " + here + "point );\n" +
			"  // Mul multiplies.\n" +
			"  rpc Mul ( " + here + "args ) returns ( " + here + "product ) {\n    option idempotency_level = IDEMPOTENT;\n  }\n" +
			"  rpc Sum ( stream " + here + "args ) returns ( " + here + "product );\n}"},
		{"ADDR describe " + here + "point", here[1:] + "point is a message:\nmessage point {\n  int32 x = 1 [json_name = \"X\"];\n  optional int32 y = 2 [json_name = \"Y\"];\n}"},
		{"ADDR describe geo.Points.Mirror", "geo.Points.Mirror is a method:\nrpc Mirror ( " + here + "point ) returns ( " + here + "point );"},
		{"ADDR describe grpc.testing.TestService.UnaryCall", "grpc.testing.TestService.UnaryCall is a method:\nrpc UnaryCall ( .grpc.testing.SimpleRequest ) returns ( .grpc.testing.SimpleResponse );"},
		{"ADDR describe internal", "internal is a service:\nservice internal {\n  rpc Unary ( .grpc.testing.SimpleRequest ) returns ( .grpc.testing.SimpleResponse );\n}"},
		{"ADDR describe Arith.Any", "Failed to resolve symbol \"Arith.Any\": Symbol not found: Arith.Any\n\nexit status 1"},
		{`-d '{"A":6,"B":7}' ADDR Arith/Mul`, `{"c":"42"}`},
		{`-d '{"a":-6,"b":7}' ADDR Arith.Mul`, `{"c":"-42"}`},
		{`-d '{"A":1,"B":4}' ADDR Arith/Count`, `{"c":"1"}{"c":"2"}{"c":"3"}`},
		{`-d '{"A":1,"B":4}{"A":10}' ADDR Arith/Sum`, `{"c":"15"}`},
		{`-d '{"A":1,"B":4}{"A":10,"B":2}' ADDR Arith/Each`, `{"c":"4"}{"c":"20"}`},
		{`-d '{"X":3}' ADDR geo.Points/Mirror`, `{"X":-3,"Y":-3}`},
		{`-d '{"response_size":3}' ADDR grpc.testing.TestService/UnaryCall`, `{"payload":{"body":"AAAA"}}`},
		{`-d '{"response_size":3}' ADDR internal/Unary`, `{"payload":{"body":"AAAA"}}`},
		{`ADDR grpc.health.v1.Health/Check`, `{"status":"SERVING"}`},
	} {
		got := shell(t, dir, "grpcurl -plaintext "+strings.ReplaceAll(c.args, "ADDR", addr))
		if strings.HasPrefix(c.want, "{") {
			got = strings.Join(strings.Fields(got), "")
		}
		if got != c.want {
			t.Errorf("grpcurl %s:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
}

// TestReflectionIsACall refuses callers without a credential, before anything of the methods is told.
func TestReflectionIsACall(t *testing.T) {
	addr := reflecting(t, &weft.ServerConfig{Authenticate: func(_ context.Context, c weft.Credential, _ *weft.CallInfo) (any, error) {
		if c.Token != "secret" {
			return nil, weft.Errorf(weft.Unauthenticated, "a token is needed")
		}
		return "user", nil
	}})
	c := reflectionv1.NewServerReflectionClient(dialGo(t, addr))
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer secret": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", token)
		_, err := ask(ctx, c, &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
		if status.Code(err) != want {
			t.Errorf("with the token %q: %v, want %v", token, err, want)
		}
	}
}

func dialGo(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask makes requests on one stream and returns the answers.
func ask(ctx context.Context, c reflectionv1.ServerReflectionClient, requests ...*reflectionv1.ServerReflectionRequest) ([]*reflectionv1.ServerReflectionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := c.ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	var all []*reflectionv1.ServerReflectionResponse
	for _, q := range requests {
		if err := s.Send(q); err != nil && err != io.EOF {
			return all, err
		}
		r, err := s.Recv()
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	if err := s.CloseSend(); err != nil {
		return all, err
	}
	_, err = s.Recv()
	if err != io.EOF {
		return all, errors.Join(errors.New("the stream goes on"), err)
	}
	return all, nil
}

func bySymbol(name string) *reflectionv1.ServerReflectionRequest {
	return &reflectionv1.ServerReflectionRequest{Host: "h", MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}
}

func byPath(path string) *reflectionv1.ServerReflectionRequest {
	return &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileByFilename{FileByFilename: path}}
}

func byExtension(message string, number int32) *reflectionv1.ServerReflectionRequest {
	return &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingExtension{
		FileContainingExtension: &reflectionv1.ExtensionRequest{ContainingType: message, ExtensionNumber: number}}}
}

func numbersOf(message string) *reflectionv1.ServerReflectionRequest {
	return &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: message}}
}

// TestReflectionProtocol makes every kind of request, those that must fail among them.
func TestReflectionProtocol(t *testing.T) {
	c := reflectionv1.NewServerReflectionClient(dialGo(t, reflecting(t, &weft.ServerConfig{})))
	extension := gofeaturespb.E_Go.TypeDescriptor() // an extension of google.protobuf.FeatureSet
	for _, tc := range []struct {
		name  string
		q     *reflectionv1.ServerReflectionRequest
		files []string
		wrong string
	}{
		{"a service", bySymbol("Arith"), []string{"services/Arith.proto", "go/github.com/weftrpc/weft/door/grpc/internal/interop.proto", "google/protobuf/duration.proto"}, ""},
		{"a method", bySymbol("Arith.Mul"), []string{"services/Arith.proto", "go/github.com/weftrpc/weft/door/grpc/internal/interop.proto", "google/protobuf/duration.proto"}, ""},
		{"a message", bySymbol(".github_com.weftrpc.weft.door.grpc.internal.interop.product"), []string{"go/github.com/weftrpc/weft/door/grpc/internal/interop.proto", "google/protobuf/duration.proto"}, ""},
		{"a generated service", bySymbol("grpc.testing.TestService"), []string{"grpc/testing/test.proto", "grpc/testing/empty.proto", "grpc/testing/messages.proto"}, ""},
		{"a field", bySymbol("grpc.testing.Payload.body"), []string{"grpc/testing/messages.proto"}, ""},
		{"a file", byPath("google/protobuf/duration.proto"), []string{"google/protobuf/duration.proto"}, ""},
		{"an extension", byExtension("google.protobuf.FeatureSet", int32(extension.Number())), []string{"google/protobuf/go_features.proto", "google/protobuf/descriptor.proto"}, ""},
		{"no file", byPath("there/is/none.proto"), nil, `there is no file "there/is/none.proto" here`},
		{"no symbol", bySymbol("there.is.None"), nil, `there is no symbol "there.is.None" here`},
		{"an empty symbol", bySymbol(""), nil, `there is no symbol "" here`},
		{"a long symbol", bySymbol(strings.Repeat("x", 100_000)), nil, `xx"… (100000 bytes) here`},
		{"a method without descriptor", bySymbol("Arith.Any"), nil, "the method Arith.Any has no descriptor"},
		{"no extension", byExtension("google.protobuf.FeatureSet", 7), nil, "there is no such extension"},
		{"an extension of nothing", byExtension("there.is.None", -1), nil, "there is no such extension"},
		{"extensions of nothing", numbersOf("there.is.None"), nil, "there is no symbol"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, err := ask(t.Context(), c, tc.q)
			if err != nil {
				t.Fatal(err)
			}
			r := all[0]
			if r.ValidHost != tc.q.Host || !proto.Equal(r.OriginalRequest, tc.q) {
				t.Errorf("the answer names another request: %v", r)
			}
			if e := r.GetErrorResponse(); (tc.wrong != "") != (e != nil) || e != nil && (!strings.Contains(e.ErrorMessage, tc.wrong) || e.ErrorCode != int32(codes.NotFound)) {
				t.Errorf("error %v, want %q", e, tc.wrong)
			}
			if got := paths(t, r); !slices.Equal(got, tc.files) {
				t.Errorf("files %q, want %q", got, tc.files)
			}
		})
	}
	all, err := ask(t.Context(), c, numbersOf("google.protobuf.FeatureSet"), bySymbol("grpc.testing.TestService"), bySymbol("grpc.testing.TestService"))
	if err != nil {
		t.Fatal(err)
	}
	if n := all[0].GetAllExtensionNumbersResponse(); n.GetBaseTypeName() != "google.protobuf.FeatureSet" || !slices.Contains(n.GetExtensionNumber(), int32(extension.Number())) {
		t.Errorf("the extensions are %v", n)
	}
	if got := paths(t, all[2]); !slices.Equal(got, []string{"grpc/testing/test.proto"}) {
		t.Errorf("asked once more for a file it sends %q, want the file alone", got)
	}
	if _, err := ask(t.Context(), c, &reflectionv1.ServerReflectionRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a request for nothing: %v", err)
	}
}

// paths are those of the files in an answer.
func paths(t *testing.T, r *reflectionv1.ServerReflectionResponse) []string {
	t.Helper()
	var all []string
	for _, b := range r.GetFileDescriptorResponse().GetFileDescriptorProto() {
		d := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(b, d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d.GetName())
	}
	return all
}

// TestReflectionOfChanges registers a method while a client has a stream open.
func TestReflectionOfChanges(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{})
	s := reflection.New(srv, func(m weft.MethodInfo) []string { return []string{m.Name} })
	if err := weft.Handle(srv, "A.One", func(context.Context, *args) (*product, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Contains(got, "A") || slices.Contains(got, "B") {
		t.Errorf("there are %v", got)
	}
	if err := weft.Handle(srv, "B.One", func(context.Context, *args) (*product, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if got := s.Names(); !slices.Contains(got, "A") || !slices.Contains(got, "B") {
		t.Errorf("there are %v", got)
	}
}

// TestKnownFiles compares the descriptors of gRPC's own services, which the door has as bytes, with those of grpc-go.
// With WEFT_UPDATE=1 it writes them anew.
func TestKnownFiles(t *testing.T) {
	for name, d := range map[string]protoreflect.FileDescriptor{
		"health": grpc_health_v1.File_grpc_health_v1_health_proto, "reflection_v1": reflectionv1.File_grpc_reflection_v1_reflection_proto,
		"reflection_v1alpha": reflectionv1alpha.File_grpc_reflection_v1alpha_reflection_proto,
	} {
		want := protodesc.ToFileDescriptorProto(d)
		if os.Getenv("WEFT_UPDATE") != "" {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
			if err == nil {
				err = os.WriteFile(filepath.Join("..", "reflection", "known", name+".binpb"), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b, err := reflection.Known(name)
		got := new(descriptorpb.FileDescriptorProto)
		if err = errors.Join(err, proto.Unmarshal(b, got)); err != nil || !proto.Equal(got, want) {
			t.Errorf("%s is not what grpc-go has (%v); write it anew with WEFT_UPDATE=1 go test -run TestKnownFiles", name, err)
		}
	}
}

// TestExample runs the lines of docs/doors/grpc.md that begin with "$ grpcurl", and compares what they print
// with what the page shows. The server is examples/grpc.
func TestExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "doors", "grpc.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := grpcurl(t)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "example"), ".")
	build.Dir = filepath.Join("..", "..", "..", "..", "examples", "grpc")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), filepath.Join(dir, "example"), "-serve")
	out, err := server.StdoutPipe()
	if err = errors.Join(err, server.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Wait() }()
	defer func() { _ = server.Process.Kill() }()
	first, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "serving on ")
	if err != nil || !ok {
		t.Fatalf("the example says %q, %v", first, err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	lines := 0
	for _, b := range blocks {
		for step := range strings.SplitSeq("\n"+b[1], "\n$ ") {
			line, want, _ := strings.Cut(step, "\n")
			if !strings.HasPrefix(line, "grpcurl ") {
				continue
			}
			lines++
			if got := shell(t, dir, strings.ReplaceAll(line, "127.0.0.1:50051", addr)); got != strings.TrimSpace(want) {
				t.Errorf("$ %s\n%s\nthe page shows\n%s", line, got, want)
			}
		}
	}
	if lines < 5 {
		t.Errorf("docs/doors/grpc.md has %d such lines", lines)
	}
}
