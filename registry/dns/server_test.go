package dns

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// one is a zone with one instance.
func one() reply {
	return zone(srv(arith, 60, 1, 1, 80, "a.example."), addr("a.example.", 60, "10.0.0.1"))
}

func code(c dnsmessage.RCode) reply {
	return func(query dnsmessage.Message, _ string) [][]byte {
		return [][]byte{respond(query, func(m *dnsmessage.Message) { m.RCode = c })}
	}
}

// closed is an address at which nothing answers.
func closed(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().String()
}

func TestNextServer(t *testing.T) {
	tests := []struct {
		name  string
		first reply // nil: nothing listens
	}{
		{"down", nil},
		{"silent", func(dnsmessage.Message, string) [][]byte { return nil }},
		{"failing", code(dnsmessage.RCodeServerFailure)},
		{"refusing", code(dnsmessage.RCodeRefused)},
		{"not understanding", code(dnsmessage.RCodeFormatError)},
		{"referring to others", func(query dnsmessage.Message, _ string) [][]byte {
			return [][]byte{respond(query, func(m *dnsmessage.Message) { m.RecursionAvailable = false })}
		}},
		{"not knowing EDNS version 0", func(query dnsmessage.Message, _ string) [][]byte {
			return [][]byte{respond(query, func(m *dnsmessage.Message) {
				var h dnsmessage.ResourceHeader
				h.SetEDNS0(1232, 16, false)
				m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
			})}
		}},
		{"always truncating", func(query dnsmessage.Message, _ string) [][]byte {
			return [][]byte{respond(query, func(m *dnsmessage.Message) { m.Truncated = true })}
		}},
		{"truncating and silent over TCP", func(query dnsmessage.Message, network string) [][]byte {
			if network == "tcp" {
				return nil
			}
			return [][]byte{respond(query, func(m *dnsmessage.Message) { m.Truncated = true })}
		}},
		{"in a circle of aliases", zone(cname(arith, 60, "b.example."), cname("b.example.", 60, arith))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			first := closed(t)
			if test.first != nil {
				first = serve(t, test.first)
			}
			list, _, err := newTestDriver(t, Config{}, first, serve(t, one())).look(t.Context(), "Arith")
			if err != nil || len(list.Instances) != 1 {
				t.Errorf("with a second server: %d instances, %v, want 1", len(list.Instances), err)
			}
			_, _, err = newTestDriver(t, Config{}, first).look(t.Context(), "Arith")
			if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), "SRV "+arith) {
				t.Errorf("alone: %v, want an error with the question and the server", err)
			}
		})
	}
}

// A server that fails once is asked again.
func TestSecondRound(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, network string) [][]byte {
		if asked.Add(1) == 1 {
			return nil
		}
		return one()(query, network)
	}))
	if list, _, err := d.look(t.Context(), "Arith"); err != nil || len(list.Instances) != 1 {
		t.Errorf("%d instances, %v, want 1", len(list.Instances), err)
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	silent := serve(t, func(dnsmessage.Message, string) [][]byte { return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := newTestDriver(t, Config{}, silent).look(ctx, "Arith")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("look returned %v, want the end of its context", err)
	}
	// On its own it would end after lookTimeout.
	if took := time.Since(began); took > lookTimeout/2 {
		t.Errorf("look returned %v after its context had ended", took)
	}
}

func TestSystemServers(t *testing.T) {
	tests := []struct {
		name, file string
		want       []string
	}{
		{"usual", "# made by hand\nsearch example.com\nnameserver 10.0.0.2\noptions edns0\nnameserver\t10.0.0.3 # second\n", []string{"10.0.0.2:53", "10.0.0.3:53"}},
		{"IPv6", "nameserver fe80::1%eth0\nnameserver 2001:db8::1\n", []string{"[fe80::1%eth0]:53", "[2001:db8::1]:53"}},
		{"more than three", strings.Repeat("nameserver 10.0.0.1\n", 5), []string{"10.0.0.1:53", "10.0.0.1:53", "10.0.0.1:53"}},
		{"none", "nameserver\nnameserver one.example\n;nameserver 10.0.0.1\n", []string{"127.0.0.1:53", "[::1]:53"}},
		{"empty", "", []string{"127.0.0.1:53", "[::1]:53"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "resolv.conf")
			if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := systemServers(path)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("servers %q, %v, want %q", got, err, test.want)
			}
		})
	}
	if _, err := systemServers(filepath.Join(t.TempDir(), "missing")); err == nil || !strings.Contains(err.Error(), "Config.Servers") {
		t.Errorf("without the file: %v, want an error that says what to do", err)
	}
}

func TestConfig(t *testing.T) {
	name := func(service string) string { return service + ".example" }
	tests := []struct {
		name string
		cfg  Config
		want string // a part of the error; "": none
	}{
		{"least", Config{Name: name}, ""},
		{"all", Config{Name: name, Port: 65535, Scheme: "tls", Servers: []string{"10.0.0.2", "::1", "[::1]:5353", "10.0.0.2:53"}, MinTTL: time.Hour}, ""},
		{"no name", Config{}, "Config.Name"},
		{"port", Config{Name: name, Port: 65536}, "Config.Port"},
		{"scheme", Config{Name: name, Scheme: "tcp://"}, "Config.Scheme"},
		{"scheme with a space", Config{Name: name, Scheme: "t p"}, "Config.Scheme"},
		{"server without an address", Config{Name: name, Servers: []string{"dns.example:53"}}, "Config.Servers"},
		{"server without a port", Config{Name: name, Servers: []string{"10.0.0.2:"}}, "Config.Servers"},
		{"server with port 0", Config{Name: name, Servers: []string{"10.0.0.2:0"}}, "Config.Servers"},
		{"nothing of a server", Config{Name: name, Servers: []string{""}}, "Config.Servers"},
		{"TTLs the wrong way round", Config{Name: name, MinTTL: 2 * time.Second, MaxTTL: time.Second}, "Config.MinTTL"},
		{"negative TTL", Config{Name: name, MinTTL: -1}, "Config.MinTTL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(test.cfg)
			if r != nil {
				defer r.Close()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("New returned %v, want an error with %q", err, test.want)
			}
		})
	}
}
