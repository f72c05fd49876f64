package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	grpcgo "google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/health"
)

// grpcurl is the program of that name.
type grpcurl struct{ program string }

func buildGrpcurl(t *testing.T) grpcurl {
	t.Helper()
	g := grpcurl{filepath.Join(t.TempDir(), "grpcurl")}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", g.program, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	build.Dir = "../../door/grpc/internal/interop" // its module has the program as a tool
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return g
}

// run runs the program and returns what it writes.
func (g grpcurl) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), g.program, append([]string{"-plaintext"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("grpcurl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// services are those that a server has, without reflection, which weft leaves out.
func (g grpcurl) services(t *testing.T, at string) []string {
	t.Helper()
	return slices.DeleteFunc(strings.Fields(g.run(t, at, "list")), func(name string) bool { return strings.HasPrefix(name, "grpc.reflection.") })
}

// TestGrpcurlDescribes compares list and describe with what grpcurl says of a server of weft and of one of grpc-go: services, methods and their
// kinds, and the fields of all messages that they reach.
func TestGrpcurlDescribes(t *testing.T) {
	g := buildGrpcurl(t)
	// It has package admin too, whose model of the messages has the names of Go: those of the reflection count.
	own := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{grpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	h, err := health.New(own, nil)
	if err = errors.Join(err, grpc.RegisterHealth(own, h), grpc.RegisterReflection(own), admin.Register(own, nil), own.Register(Arith{}),
		weft.HandleServerStream(own, "Shop.Count", func(_ context.Context, _ *Sum, out *weft.Sender[Sum]) error { return nil }),
		weft.HandleStream(own, "Shop.Echo", func(_ context.Context, s *weft.Stream[Text, Text]) error { return nil }),
		weft.Handle(own, "Shop.Tenant", func(context.Context, *Sum) (*Text, error) { return new(Text), nil })); err != nil {
		t.Fatal(err)
	}
	served, err := own.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go own.Serve(served) // it ends with the server
	defer own.Close()
	srv := grpcgo.NewServer()
	testgrpc.RegisterTestServiceServer(srv, testgrpc.UnimplementedTestServiceServer{})
	grpc_health_v1.RegisterHealthServer(srv, grpchealth.NewServer())
	reflection.Register(srv)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	defer srv.Stop()
	for name, at := range map[string]string{"weft": served.Addr().String(), "grpc-go": l.Addr().String()} {
		address := "grpc://" + at
		_, out, log := run(t, "", "list", address, "--all", "-o", "json")
		var listed []struct{ Name string }
		if err := json.Unmarshal([]byte(out), &listed); err != nil {
			t.Fatal(err, log)
		}
		var names []string
		for _, one := range listed {
			names = append(names, one.Name)
		}
		services := g.services(t, at)
		if slices.Sort(names); !slices.Equal(names, services) {
			t.Errorf("%s: weft list has %q, and grpcurl %q", name, names, services)
		}
		for _, service := range services {
			_, out, log := run(t, "", "list", address, service, "-o", "name")
			got, want := strings.Fields(out), strings.Fields(g.run(t, at, "list", service))
			if service == "Arith" && slices.Equal(want, []string{"(No", "methods)"}) { // their reply is no message
				if !slices.Equal(got, []string{service}) {
					t.Errorf("%s: weft list %s has %q, and grpcurl no methods\n%s", name, service, got, log)
				}
				expect(t, 1, "", "describes no method of Arith", "", "describe", address, service)
				continue
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: weft list %s has %q, and grpcurl %q\n%s", name, service, got, want, log)
			}
			same(t, g, at, service)
		}
	}
}

// same compares what both say of a service.
func same(t *testing.T, g grpcurl, at, service string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "set")
	g.run(t, "-protoset-out", file, at, "describe", service)
	want := descriptorsOf(t, file, service)
	_, out, log := run(t, "", "describe", "grpc://"+at, service, "--as", "proto")
	if got := compiled(t, out, service); got != want {
		t.Errorf("weft describe %s has\n%s\n\nand grpcurl\n%s\n%s", service, got, want, log)
	}
}

// descriptorsOf tells what a file written by grpcurl says of a service.
func descriptorsOf(t *testing.T, file, service string) string {
	t.Helper()
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal([]byte(read(t, file)), set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		t.Fatal(err)
	}
	return told(d.(protoreflect.ServiceDescriptor))
}

// compiled tells what text of .proto files says of a service. Behind the first line of each of several files stands its name.
func compiled(t *testing.T, text, service string) string {
	t.Helper()
	sources := map[string]string{"all.proto": text}
	names := []string{"all.proto"}
	if heads := regexp.MustCompile(`(?m)^// (\S+\.proto)\n`).FindAllStringSubmatchIndex(text, -1); heads != nil {
		names = nil
		for n, head := range heads {
			end := len(text)
			if n+1 < len(heads) {
				end = heads[n+1][0]
			}
			name := text[head[2]:head[3]]
			names, sources[name] = append(names, name), text[head[1]:end]
		}
	}
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)})}
	files, err := c.Compile(t.Context(), names...)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, f := range files {
		if d, ok := f.FindDescriptorByName(protoreflect.FullName(service)).(protoreflect.ServiceDescriptor); ok {
			return told(d)
		}
	}
	return "there is no service " + service + " in\n" + text
}

// told tells a service: its methods, and the fields of all messages that they reach.
func told(d protoreflect.ServiceDescriptor) string {
	known := make(map[protoreflect.FullName]string)
	var message func(m protoreflect.MessageDescriptor)
	message = func(m protoreflect.MessageDescriptor) {
		if _, ok := known[m.FullName()]; ok {
			return
		}
		known[m.FullName()] = ""
		var b strings.Builder
		fields := make([]protoreflect.FieldDescriptor, m.Fields().Len())
		for i := range fields {
			fields[i] = m.Fields().Get(i)
		}
		slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
		for _, f := range fields {
			fmt.Fprintf(&b, "  %d %s %q %v %v", f.Number(), f.Name(), f.JSONName(), f.Cardinality(), f.Kind())
			if one := f.ContainingOneof(); one != nil {
				fmt.Fprintf(&b, " of %s", one.Name())
			}
			if f.Message() != nil {
				fmt.Fprintf(&b, " %s", f.Message().FullName())
				message(f.Message())
			}
			if e := f.Enum(); e != nil {
				fmt.Fprintf(&b, " %s", e.FullName())
				for i := range e.Values().Len() {
					fmt.Fprintf(&b, " %s=%d", e.Values().Get(i).Name(), e.Values().Get(i).Number())
				}
			}
			b.WriteString("\n")
		}
		known[m.FullName()] = b.String()
	}
	var lines []string
	for i := range d.Methods().Len() {
		m := d.Methods().Get(i)
		lines = append(lines, fmt.Sprintf("%s(%v %s) (%v %s)\n", m.FullName(), m.IsStreamingClient(), m.Input().FullName(), m.IsStreamingServer(), m.Output().FullName()))
		message(m.Input())
		message(m.Output())
	}
	for name, fields := range known {
		lines = append(lines, string(name)+"\n"+fields)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestGrpcurl compares call with what grpcurl says of the same server.
func TestGrpcurl(t *testing.T) {
	g, s := buildGrpcurl(t), begin(t)
	if err := grpc.RegisterReflection(s.srv); err != nil {
		t.Fatal(err)
	}
	address := "grpc://" + s.at
	compact := func(text string) string {
		var all bytes.Buffer
		d := json.NewDecoder(strings.NewReader(text))
		for d.More() {
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatalf("%v in %q", err, text)
			}
			if err := json.Compact(&all, value); err != nil {
				t.Fatal(err)
			}
		}
		return all.String()
	}
	for _, call := range [][2]string{{"Shop.Tenant", `{}`}, {"Shop.Count", `{"n": 3}`}, {"grpc.health.v1.Health.Check", `{}`}} {
		at := strings.LastIndexByte(call[0], '.')
		want := compact(g.run(t, "-d", call[1], "-H", "tenant: acme", s.at, call[0][:at]+"/"+call[0][at+1:]))
		code, out, log := run(t, "", "call", address, call[0], call[1], "-H", "tenant:acme")
		if got := compact(out); code != 0 || got != want {
			t.Errorf("weft call %s returns %d and %s, and grpcurl %s\n%s", call[0], code, got, want, log)
		}
	}
	if out, err := exec.CommandContext(t.Context(), g.program, "-plaintext", "-d", "{}", s.at, "Shop/Fail").CombinedOutput(); err == nil || !strings.Contains(string(out), "FailedPrecondition") {
		t.Errorf("grpcurl says %q of a call that fails, error %v", out, err)
	}
	expect(t, 3, "", "FailedPrecondition", "", "call", address, "Shop.Fail", "{}")
}
