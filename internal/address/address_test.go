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
		"grpc://127.0.0.1:1": `no transport or wire has the scheme "grpc"; there are tcp, unix, http, netrpc, netrpc+http, jsonrpc`,
		"jsonrpc+kcp://a:1":  `the scheme "kcp"`,
	} {
		if _, err := address.Parse(transports, wires, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
