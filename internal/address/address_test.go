package address_test

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/address"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

type named string

func (n named) Scheme() string { return string(n) }

func TestParse(t *testing.T) {
	transports, wires := []named{"tcp", "unix", "http"}, []named{"netrpc", "netrpc+http", "jsonrpc"}
	for text, want := range map[string]struct {
		wire, transport named
		rest            string
	}{
		"127.0.0.1:1":               {"", "tcp", "127.0.0.1:1"},
		"tcp://127.0.0.1:1":         {"", "tcp", "127.0.0.1:1"},
		"tcp://[::1]:65535":         {"", "tcp", "[::1]:65535"},
		"tcp://:0":                  {"", "tcp", ":0"},
		"tcp://localhost:https":     {"", "tcp", "localhost:https"},
		"unix:///run/app.sock":      {"", "unix", "/run/app.sock"},
		"netrpc://127.0.0.1:1":      {"netrpc", "tcp", "127.0.0.1:1"},
		"netrpc+unix:///a":          {"netrpc", "unix", "/a"},
		"netrpc+http://127.0.0.1:1": {"netrpc+http", "tcp", "127.0.0.1:1"},
		"jsonrpc+http://host":       {"jsonrpc", "http", "host"},
	} {
		got, err := address.Parse(transports, wires, text)
		if err != nil || got.Wire != want.wire || got.Transport != want.transport || got.Rest != want.rest {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                   "the address is empty",
		"tcp@127.0.0.1:1":    "write tcp://127.0.0.1:1",
		"127.0.0.1":          "write host:port",
		"127.0.0.1:65536":    `the port "65536" is neither a number up to 65535 nor the name of a service: write host:port`,
		"netrpc://a:-1":      `the port "-1"`,
		"tcp://[::1]:no/a":   "it has a path, which is for a wire that takes one: write host:port",
		"grpc://127.0.0.1:1": `no transport or wire has the scheme "grpc"; there are tcp, unix, http, netrpc, netrpc+http, jsonrpc`,
		"jsonrpc+kcp://a:1":  `the scheme "kcp"`,
	} {
		if _, err := address.Parse(transports, wires, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSecrets: an error shows nothing of an address that may hold a secret.
func TestSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"grpc://127.0.0.1:1/a?token=hunter2":   `"grpc://127.0.0.1:1/a?…"`,
		"redis://me:hunter2@127.0.0.1:6379/0":  `"redis://…@127.0.0.1:6379/0"`,
		"redis://:hunter2/@127.0.0.1:6379":     `"redis://…@127.0.0.1:6379"`,
		"tcp://127.0.0.1?token=hunter2":        `"tcp://127.0.0.1?…"`,
		"tcp://127.0.0.1:1?token=hunter2":      `"tcp://127.0.0.1:1?…": it has a query`,
		"me:hunter2@127.0.0.1:1":               `"…@127.0.0.1:1"`,
		"hunter2@127.0.0.1:1":                  `"…@127.0.0.1:1": write host:port`,
		"tcp@127.0.0.1:1?token=hunter2":        `"tcp@127.0.0.1:1": write tcp://127.0.0.1:1`,
		"kcp:///run/a@b?token=hunter2@example": `"kcp:///run/a@b?…"`,
	} {
		_, err := address.Parse([]named{"tcp"}, []named(nil), text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s and no secret", text, err, want)
		}
	}
}

type pathed struct{ named }

func (pathed) TakesPath() bool { return true }

// TestPath cuts a path off the address of a wire that takes one, over TCP.
func TestPath(t *testing.T) {
	transports, wires := []address.Schemer{named("tcp"), named("unix")}, []address.Schemer{pathed{"thrift"}, pathed{"thrift+http"}, named("rpcx")}
	for text, want := range map[string]struct{ rest, path string }{
		"thrift+http://127.0.0.1:1":         {"127.0.0.1:1", ""},
		"thrift+http://127.0.0.1:1/":        {"127.0.0.1:1", "/"},
		"thrift+http://[::1]:1/a:b/c?d=e/f": {"[::1]:1", "/a:b/c?d=e/f"},
		"thrift+http://127.0.0.1:1?d=e":     {"127.0.0.1:1", "?d=e"},
		"thrift+unix:///run/app.sock":       {"/run/app.sock", ""},
		"rpcx+unix:///a/b":                  {"/a/b", ""},
	} {
		got, err := address.Parse(transports, wires, text)
		if err != nil || got.Rest != want.rest || got.Path != want.path {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"thrift+http://127.0.0.1/a": "missing port",
		"rpcx://127.0.0.1:1/a":      "it has a path",
		"tcp://127.0.0.1:1/a":       "it has a path",
	} {
		if _, err := address.Parse(transports, wires, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
