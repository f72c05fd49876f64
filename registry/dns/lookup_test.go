package dns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
	"golang.org/x/net/dns/dnsmessage"
)

const arith = "_Arith._tcp.example."

// shown is a list as a text: "address weight state", and invalid entries.
func shown(list registry.List) []string {
	out := []string{}
	for _, i := range list.Instances {
		text := fmt.Sprintf("%s %d", i.Address, i.Weight)
		if i.State != 0 {
			text += " " + i.State.String()
		}
		out = append(out, text)
	}
	for _, i := range list.Invalid {
		out = append(out, "invalid "+i.ID)
	}
	return out
}

func TestLists(t *testing.T) {
	tests := []struct {
		name    string
		cfg     Config
		records []dnsmessage.Resource
		want    []string
		ttl     time.Duration
	}{
		{
			name: "no such name",
			ttl:  time.Second,
		},
		{
			name:    "a name without such records",
			records: []dnsmessage.Resource{addr(arith, 60, "10.0.0.1")},
			ttl:     time.Second,
		},
		{
			name: "weights as they are",
			records: []dnsmessage.Resource{
				srv(arith, 30, 5, 10, 80, "a.example."), srv(arith, 30, 5, 65535, 81, "b.example."),
				addr("a.example.", 20, "10.0.0.1"), addr("b.example.", 40, "10.0.0.2"),
			},
			want: []string{"tcp://10.0.0.1:80 10", "tcp://10.0.0.2:81 65535"},
			ttl:  20 * time.Second,
		},
		{
			name: "weights of 0",
			records: []dnsmessage.Resource{
				srv(arith, 30, 5, 0, 80, "a.example."), srv(arith, 30, 5, 0, 81, "a.example."), addr("a.example.", 20, "10.0.0.1"),
			},
			want: []string{"tcp://10.0.0.1:80 0", "tcp://10.0.0.1:81 0"},
			ttl:  20 * time.Second,
		},
		{
			name: "a weight of 0 beside others",
			records: []dnsmessage.Resource{
				srv(arith, 30, 5, 0, 80, "a.example."), srv(arith, 30, 5, 9, 81, "a.example."), addr("a.example.", 20, "10.0.0.1"),
			},
			want: []string{"tcp://10.0.0.1:80 1", "tcp://10.0.0.1:81 9"},
			ttl:  20 * time.Second,
		},
		{
			name: "priorities",
			records: []dnsmessage.Resource{
				srv(arith, 30, 40, 7, 84, "a.example."), srv(arith, 30, 20, 7, 82, "a.example."), srv(arith, 30, 10, 7, 81, "a.example."),
				srv(arith, 30, 30, 7, 83, "a.example."), srv(arith, 30, 20, 0, 92, "a.example."), addr("a.example.", 20, "10.0.0.1"),
			},
			want: []string{
				"tcp://10.0.0.1:81 7", "tcp://10.0.0.1:82 -7", "tcp://10.0.0.1:83 7 draining",
				"tcp://10.0.0.1:84 7 draining", "tcp://10.0.0.1:92 -1",
			},
			ttl: 20 * time.Second,
		},
		{
			name: "one address with two priorities",
			records: []dnsmessage.Resource{
				srv(arith, 30, 20, 7, 80, "a.example."), srv(arith, 30, 10, 8, 80, "a.example."), addr("a.example.", 20, "10.0.0.1"),
			},
			want: []string{"tcp://10.0.0.1:80 8"},
			ttl:  20 * time.Second,
		},
		{
			name: "a host of several addresses, and of both kinds",
			records: []dnsmessage.Resource{
				srv(arith, 30, 1, 1, 80, "a.example."),
				addr("a.example.", 25, "10.0.0.1"), addr("a.example.", 15, "10.0.0.2"), addr("a.example.", 25, "2001:db8::1"),
			},
			want: []string{"tcp://10.0.0.1:80 1", "tcp://10.0.0.2:80 1"},
			ttl:  15 * time.Second,
		},
		{
			name:    "a host with IPv6 alone",
			records: []dnsmessage.Resource{srv(arith, 30, 1, 1, 80, "a.example."), addr("a.example.", 25, "2001:db8::1")},
			want:    []string{"tcp://[2001:db8::1]:80 1"},
			ttl:     25 * time.Second,
		},
		{
			name:    "decidedly no service",
			records: []dnsmessage.Resource{srv(arith, 30, 0, 0, 0, ".")},
			ttl:     30 * time.Second,
		},
		{
			name: "aliases",
			records: []dnsmessage.Resource{
				cname(arith, 50, "b.example."), cname("b.example.", 12, "c.example."), srv("c.example.", 30, 1, 3, 80, "a.example."),
				addr("a.example.", 25, "10.0.0.1"),
			},
			want: []string{"tcp://10.0.0.1:80 3"},
			ttl:  12 * time.Second,
		},
		{
			name:    "another scheme, and a name in other letters",
			cfg:     Config{Scheme: "tls", Name: func(string) string { return "_aRITH._TCP.EXAMPLE." }},
			records: []dnsmessage.Resource{srv(arith, 30, 1, 1, 80, "a.example."), addr("A.example.", 25, "10.0.0.1")},
			want:    []string{"tls://10.0.0.1:80 1"},
			ttl:     25 * time.Second,
		},
		{
			name: "what cannot be used",
			records: []dnsmessage.Resource{
				srv(arith, 30, 1, 1, 80, "none.example."), srv(arith, 30, 1, 1, 0, "a.example."), srv(arith, 30, 1, 1, 81, "b.example."),
				srv(arith, 30, 1, 1, 82, "a.example."), addr("a.example.", 25, "10.0.0.1"), addr("b.example.", 25, "0.0.0.0"),
			},
			want: []string{
				"tcp://10.0.0.1:82 1", "invalid none.example.:80", "invalid tcp://10.0.0.1:0", "invalid tcp://0.0.0.0:81",
			},
			ttl: time.Second,
		},
		{
			name:    "addresses without SRV",
			cfg:     Config{Port: 8972},
			records: []dnsmessage.Resource{addr(arith, 5, "10.0.0.2"), addr(arith, 9, "10.0.0.1"), addr(arith, 3, "2001:db8::1")},
			want:    []string{"tcp://10.0.0.1:8972 0", "tcp://10.0.0.2:8972 0"},
			ttl:     5 * time.Second,
		},
		{
			name:    "IPv6 addresses without SRV",
			cfg:     Config{Port: 8972},
			records: []dnsmessage.Resource{addr(arith, 9, "2001:db8::1")},
			want:    []string{"tcp://[2001:db8::1]:8972 0"},
			ttl:     9 * time.Second,
		},
		{
			name:    "a TTL above all bounds",
			records: []dnsmessage.Resource{srv(arith, 1<<31, 1, 1, 80, "a.example."), addr("a.example.", 1<<32-1, "10.0.0.1")},
			want:    []string{"tcp://10.0.0.1:80 1"},
			ttl:     time.Minute,
		},
		{
			name:    "a TTL of 0, with another bound",
			cfg:     Config{MinTTL: 3 * time.Second},
			records: []dnsmessage.Resource{srv(arith, 0, 1, 1, 80, "a.example."), addr("a.example.", 5, "10.0.0.1")},
			want:    []string{"tcp://10.0.0.1:80 1"},
			ttl:     3 * time.Second,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDriver(t, test.cfg, serve(t, zone(test.records...)))
			list, ttl, err := d.look(t.Context(), "Arith")
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(list); !slices.Equal(got, test.want) {
				t.Errorf("the list is %q, want %q", got, test.want)
			}
			if ttl != test.ttl {
				t.Errorf("it is good for %v, want %v", ttl, test.ttl)
			}
			for _, i := range list.Instances {
				if err := i.Check(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A name without records is not there for as long as the zone says.
func TestNegativeTTL(t *testing.T) {
	tests := []struct {
		name string
		code dnsmessage.RCode
		soa  []dnsmessage.Resource
		want time.Duration
	}{
		{"no such name, the least of both", dnsmessage.RCodeNameError, []dnsmessage.Resource{soa("example.", 40, 20)}, 20 * time.Second},
		{"no records, the TTL of the record", dnsmessage.RCodeSuccess, []dnsmessage.Resource{soa("example.", 15, 3600)}, 15 * time.Second},
		{"not said", dnsmessage.RCodeNameError, nil, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, _ string) [][]byte {
				return [][]byte{respond(query, func(m *dnsmessage.Message) { m.RCode, m.Authorities = test.code, test.soa })}
			}))
			list, ttl, err := d.look(t.Context(), "Arith")
			if err != nil || len(list.Instances) != 0 || ttl != test.want {
				t.Errorf("%d instances, good for %v, %v, want none for %v", len(list.Instances), ttl, err, test.want)
			}
		})
	}
}

// A list is complete or there is none.
func TestLongLists(t *testing.T) {
	for _, n := range []int{40, 300} {
		records := many(arith, n)
		d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, network string) [][]byte {
			message := zone(records...)(query, network)[0]
			if network == "udp" && len(message) > maxUDP {
				message = respond(query, func(m *dnsmessage.Message) {
					fill(m, records)
					m.Truncated, m.Answers, m.Additionals = true, m.Answers[:min(10, len(m.Answers))], nil
				})
			}
			return [][]byte{message}
		}))
		list, _, err := d.look(t.Context(), "Arith")
		if err != nil || len(list.Instances) != n {
			t.Errorf("%d instances, %v, want %d", len(list.Instances), err, n)
		}
	}
}

func TestHostsThatWereNotAdded(t *testing.T) {
	records := many(arith, 20)
	var asked atomic.Int32
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, _ string) [][]byte {
		return [][]byte{respond(query, func(m *dnsmessage.Message) {
			asked.Add(1)
			fill(m, records)
			if len(m.Additionals) > 0 {
				m.Additionals = m.Additionals[:5]
			}
		})}
	}))
	list, _, err := d.look(t.Context(), "Arith")
	if err != nil || len(list.Instances) != 20 {
		t.Errorf("%d instances, %v, want 20", len(list.Instances), err)
	}
	if n := asked.Load(); n != 16 {
		t.Errorf("%d questions, want 1 for the records and 15 for hosts", n)
	}
}

// One host that cannot be found out makes the whole list unknown.
func TestHostFails(t *testing.T) {
	records := many(arith, 20)
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, _ string) [][]byte {
		return [][]byte{respond(query, func(m *dnsmessage.Message) {
			if fill(m, records); canonical(query.Questions[0].Name) == "host-7.example." {
				m.RCode, m.Answers = dnsmessage.RCodeServerFailure, nil
			}
			m.Additionals = nil
		})}
	}))
	list, _, err := d.look(t.Context(), "Arith")
	if err == nil || !strings.Contains(err.Error(), "A host-7.example.") {
		t.Errorf("%d instances, %v, want an error that names the host", len(list.Instances), err)
	}
}

// Many hosts and a server that is just not too slow for each of them do not keep a
// client waiting for minutes.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	records := many(arith, 400)
	var slow atomic.Bool
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, network string) [][]byte {
		if query.Questions[0].Type != dnsmessage.TypeSRV {
			slow.Store(true)
			time.Sleep(500 * time.Millisecond)
		}
		message := respond(query, func(m *dnsmessage.Message) {
			fill(m, records)
			m.Additionals = nil
			if network == "udp" && len(m.Answers) > 1 {
				m.Truncated, m.Answers = true, nil
			}
		})
		return [][]byte{message}
	}))
	var took time.Duration
	var err error
	// On a busy machine a single answer may be too late.
	for range 5 {
		began := time.Now()
		_, _, err = d.look(t.Context(), "Arith")
		if took = time.Since(began); errors.Is(err, errSlow) {
			break
		}
	}
	if !errors.Is(err, errSlow) || took > lookTimeout+time.Minute || !slow.Load() {
		t.Errorf("look returned %v after %v, want %v", err, took, errSlow)
	}
}

func TestTooMany(t *testing.T) {
	var records []dnsmessage.Resource
	for i := range 40 {
		records = append(records, srv(arith, 60, 1, 1, uint16(i+1), "a.example."))
	}
	for i := range 40 {
		records = append(records, addr("a.example.", 60, fmt.Sprintf("10.0.0.%d", i+1)))
	}
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, network string) [][]byte {
		if network == "udp" {
			return [][]byte{respond(query, func(m *dnsmessage.Message) { m.Truncated = true })}
		}
		return zone(records...)(query, network)
	}))
	if _, _, err := d.look(t.Context(), "Arith"); err == nil || !strings.Contains(err.Error(), "1600 instances") {
		t.Errorf("1600 instances: %v, want an error", err)
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ name, domain, want string }{
		{"empty", "", "is no domain name"},
		{"a label too long", strings.Repeat("x", 64) + ".example", "is no domain name"},
		{"an empty label", "a..example", "is no domain name"},
		{"too long", strings.Repeat("x.", 130), "is no domain name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, port := range []int{0, 80} {
				d := newTestDriver(t, Config{Port: port, Name: func(string) string { return test.domain }}, "127.0.0.1:1")
				if _, _, err := d.look(t.Context(), "Arith"); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("with port %d: %v, want an error with %q", port, err, test.want)
				}
			}
		})
	}
}

// A list is asked for again when its time is over, and confirmed until then.
func TestWatchAsksAgain(t *testing.T) {
	var seen atomic.Int32 // lists; a question may come twice, since an answer is late on a busy machine
	d := newTestDriver(t, Config{MinTTL: 10 * time.Millisecond, MaxTTL: 20 * time.Millisecond}, serve(t,
		func(query dnsmessage.Message, network string) [][]byte {
			n := int(seen.Load())
			if n == 3 {
				return [][]byte{respond(query, func(m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeServerFailure })}
			}
			return zone(many(arith, n+1)...)(query, network)
		}))
	var sizes []int
	err := d.Watch(t.Context(), "Arith", func(list registry.List) {
		if n := len(list.Instances); len(sizes) == 0 || sizes[len(sizes)-1] != n {
			sizes = append(sizes, n)
			seen.Store(int32(n))
		}
		clear(list.Instances) // it belongs to this function
	})
	if err == nil || !strings.Contains(err.Error(), "ServerFailure") {
		t.Errorf("Watch returned %v, want the failure of the server", err)
	}
	if !slices.Equal(sizes, []int{1, 2, 3}) {
		t.Errorf("lists of %v instances, want 1, 2 and 3", sizes)
	}
}

func TestWatchAsksNoEarlier(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, network string) [][]byte {
		asked.Add(1)
		return zone(srv(arith, 3600, 1, 1, 80, "a.example."), addr("a.example.", 60, "10.0.0.1"))(query, network)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first atomic.Int32
	lists := 0
	err := d.Watch(ctx, "Arith", func(registry.List) {
		if lists++; lists == 1 {
			time.AfterFunc(time.Second, func() {
				first.Store(asked.Load()) // more than one if a busy machine was late
				time.AfterFunc(1500*time.Millisecond, cancel)
			})
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v, want the end of its context", err)
	}
	if n := asked.Load() - first.Load(); n != 0 || lists != 1 {
		t.Errorf("%d questions more and %d lists within a TTL of a minute, want no more and one", n, lists)
	}
}

// A list is confirmed within ten seconds, however long it is good. The test gives a busy
// machine longer.
func TestWatchConfirms(t *testing.T) {
	t.Parallel()
	d := newTestDriver(t, Config{}, serve(t, one()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lists := 0
	_ = d.Watch(ctx, "Arith", func(list registry.List) {
		if lists++; lists == 2 {
			cancel()
		}
		if len(list.Instances) != 1 {
			t.Errorf("list %d has %d instances, want 1", lists, len(list.Instances))
		}
	})
	if lists != 2 {
		t.Errorf("%d lists in a minute, want 2", lists)
	}
}
