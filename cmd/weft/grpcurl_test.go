package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/door/grpc"
)

// TestGrpcurl compares list and call with what grpcurl says of the same server.
func TestGrpcurl(t *testing.T) {
	program := filepath.Join(t.TempDir(), "grpcurl")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	build.Dir = "../../door/grpc/internal/interop" // its module has the program as a tool
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	s := begin(t)
	if err := grpc.RegisterReflection(s.srv); err != nil {
		t.Fatal(err)
	}
	address := "grpc://" + s.at
	grpcurl := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, append([]string{"-plaintext"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("grpcurl %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	methods := strings.Fields(grpcurl(s.at, "list", "Shop"))
	_, out, log := run(t, "", "list", address, "Shop", "-o", "name")
	if got := strings.Fields(out); !slices.Equal(got, methods) {
		t.Errorf("weft list has %q, and grpcurl %q\n%s", got, methods, log)
	}
	services := strings.Fields(grpcurl(s.at, "list"))
	_, out, _ = run(t, "", "list", address, "--all", "-o", "json")
	var listed []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		t.Fatal(err)
	}
	for _, service := range services {
		if !strings.HasPrefix(service, "grpc.reflection.") && !slices.ContainsFunc(listed, func(l struct{ Name string }) bool { return l.Name == service }) {
			t.Errorf("weft list --all does not have %s, which grpcurl has", service)
		}
	}
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
		want := compact(grpcurl("-d", call[1], "-H", "tenant: acme", s.at, call[0][:at]+"/"+call[0][at+1:]))
		code, out, log := run(t, "", "call", address, call[0], call[1], "-H", "tenant:acme")
		if got := compact(out); code != 0 || got != want {
			t.Errorf("weft call %s returns %d and %s, and grpcurl %s\n%s", call[0], code, got, want, log)
		}
	}
	if out, err := exec.CommandContext(t.Context(), program, "-plaintext", "-d", "{}", s.at, "Shop/Fail").CombinedOutput(); err == nil || !strings.Contains(string(out), "FailedPrecondition") {
		t.Errorf("grpcurl says %q of a call that fails, error %v", out, err)
	}
	expect(t, 3, "", "FailedPrecondition", "", "call", address, "Shop.Fail", "{}")
}
