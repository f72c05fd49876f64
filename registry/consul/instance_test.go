package consul

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
)

var arith = weft.Instance{
	Service: "Arith", ID: "tcp://10.0.0.7:8972", Address: "tcp://10.0.0.7:8972",
	Weight: 250, Group: "blue", Version: "2.1.0", Zone: "eu-1a", Tags: map[string]string{"owner": "größe"},
}

// patience is how long anything may take: an agent tells its servers of a change a moment
// after it has answered.
const patience = time.Minute

// lists keeps the last list of a watch that runs until the end of the test.
func lists(t *testing.T, d *driver, service string) (ids func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	news, done := make(chan registry.List, 100), make(chan struct{})
	// It ends with its context, for which the cleanup waits.
	go func() {
		defer close(done)
		_ = d.Watch(ctx, service, func(l registry.List) { news <- l }) // the context's error
	}()
	t.Cleanup(func() { cancel(); <-done })
	var last []string
	return func() []string {
		for {
			select {
			case l := <-news:
				last = nil
				for _, i := range l.Instances {
					last = append(last, i.ID)
				}
			default:
				return last
			}
		}
	}
}

// TestCatalog looks at an instance the way that users of Consul do.
func TestCatalog(t *testing.T) {
	t.Parallel()
	s := startConsul(t)
	d := s.driver(t)
	if err := d.Put(t.Context(), arith, time.Minute); err != nil {
		t.Fatal(err)
	}
	var entries []*api.ServiceEntry
	polltest.True(t, patience, "Consul lists weft-Arith, with tag and state", func() bool {
		var err error
		entries, _, err = d.client.Health().Service("weft-Arith", "zone-eu-1a", true, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries) == 1
	})
	got := entries[0].Service
	if got.Address != "10.0.0.7" || got.Port != 8972 || got.Weights.Passing != 250 {
		t.Errorf("Consul has address %q, port %d, weight %d; want 10.0.0.7, 8972, 250", got.Address, got.Port, got.Weights.Passing)
	}
	if want := []string{"weft", "group-blue", "version-2-1-0", "zone-eu-1a"}; !slices.Equal(got.Tags, want) {
		t.Errorf("Consul has the tags %q, want %q", got.Tags, want)
	}

	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.dns)
	}}
	polltest.True(t, patience, "Consul's DNS has one record with port 8972 and weight 250", func() bool {
		_, records, err := resolver.LookupSRV(t.Context(), "", "", "version-2-1-0.weft-arith.service.consul.")
		return err == nil && len(records) == 1 && records[0].Port == 8972 && records[0].Weight == 250
	})
	polltest.True(t, patience, "Consul's DNS has the address 10.0.0.7", func() bool {
		ips, err := resolver.LookupHost(t.Context(), "weft-Arith.service.consul.")
		return err == nil && slices.Equal(ips, []string{"10.0.0.7"})
	})
}

// TestMaintenance: what an operator takes out of service is not listed, stays
// registered, and comes back.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	s := startConsul(t)
	d := s.driver(t)
	if err := d.Put(t.Context(), arith, time.Minute); err != nil {
		t.Fatal(err)
	}
	ids := lists(t, d, "Arith")
	there := func() bool { return slices.Equal(ids(), []string{arith.ID}) }
	gone := func() bool { return len(ids()) == 0 }
	polltest.True(t, patience, "the instance is listed", there)
	if err := d.client.Agent().EnableServiceMaintenance(d.serviceID("Arith", arith.ID), "test"); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, patience, "an instance in maintenance is not listed", gone)
	if err := d.Refresh(t.Context(), arith, time.Minute); err != nil {
		t.Errorf("Refresh of an instance in maintenance: %v", err)
	}
	if err := d.client.Agent().DisableServiceMaintenance(d.serviceID("Arith", arith.ID)); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, patience, "the instance is listed again", there)
}

// TestComesBack: an instance that has expired, which Consul remembers for a minute, is
// listed at once when it is put again.
func TestComesBack(t *testing.T) {
	t.Parallel()
	s := startConsul(t)
	d := s.driver(t)
	ids := lists(t, d, "Arith")
	if err := d.Put(t.Context(), arith, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, patience, "the instance is listed", func() bool {
		// Without this it could expire before the test sees it.
		err := d.Refresh(t.Context(), arith, 500*time.Millisecond)
		if errors.Is(err, registry.ErrLost) { // it has
			err = d.Put(t.Context(), arith, 500*time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(ids()) == 1
	})
	polltest.True(t, patience, "the instance has expired", func() bool { return len(ids()) == 0 })
	if err := d.Put(t.Context(), arith, time.Minute); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, patience, "the instance is listed again", func() bool { return len(ids()) == 1 })
}

func TestHostPort(t *testing.T) {
	for _, test := range []struct {
		address, host string
		port          int
	}{
		{"tcp://10.0.0.7:8972", "10.0.0.7", 8972},
		{"tls://server.example:443", "server.example", 443},
		{"tcp://[2001:db8::1]:1", "2001:db8::1", 1},
		{"tcp://server.example", "server.example", 0},
		{"tcp://0.0.0.0:8972", "", 8972},
		{"tcp://[::]:8972", "", 8972},
		{"tcp://:8972", "", 8972},
		{"unix:///run/arith.sock", "", 0},
		{"nowhere", "", 0},
		{"tcp://%zz:1", "", 0},
	} {
		if host, port := hostPort(test.address); host != test.host || port != test.port {
			t.Errorf("hostPort(%q) is %q, %d; want %q, %d", test.address, host, port, test.host, test.port)
		}
	}
}

func TestDNSWeight(t *testing.T) {
	for _, test := range []struct {
		name     string
		instance weft.Instance
		want     int
	}{
		{"default", weft.Instance{}, 100},
		{"given", weft.Instance{Weight: 7}, 7},
		{"a last resort", weft.Instance{Weight: -1}, 1},
		{"above Consul's greatest", weft.Instance{Weight: 1 << 20}, 65535},
		{"draining", weft.Instance{Weight: 7, State: weft.Draining}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := dnsWeight(test.instance); got != test.want {
				t.Errorf("it is %d, want %d", got, test.want)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name  string
		value string
		parts int // 0: an error
	}{
		{"short", "{}", 1},
		{"one part", strings.Repeat("x", 512), 1},
		{"two parts", strings.Repeat("x", 513), 2},
		{"a cut within a character", strings.Repeat("x", 511) + "ö", 2},
		{"long characters", strings.Repeat("服", 512), 4},
		{"the longest", strings.Repeat("x", 64*512), 64},
		{"too long", strings.Repeat("x", 64*512+1), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			meta, err := split([]byte(test.value))
			if err != nil || test.parts == 0 {
				if (err == nil) != (test.parts > 0) {
					t.Errorf("split: %v, want %d parts", err, test.parts)
				}
				return
			}
			if len(meta) != test.parts {
				t.Errorf("split makes %d parts, want %d", len(meta), test.parts)
			}
			for key, part := range meta {
				if len(part) > maxMetaValue || strings.ToValidUTF8(part, "") != part {
					t.Errorf("%s has %d bytes, or is no text: %.20q", key, len(part), part)
				}
			}
			if got := string(join(meta)); got != test.value {
				t.Errorf("join gives %d other bytes, want the %d that were split", len(got), len(test.value))
			}
		})
	}
}

// TestTooLong: an instance that Consul cannot hold is an error that says so.
func TestTooLong(t *testing.T) {
	d := openDriver(t, Config{})
	i := arith
	i.Tags = make(map[string]string)
	for n := range 64 {
		i.Tags[strconv.Itoa(n)+strings.Repeat("k", 250)] = strings.Repeat("v", 255)
	}
	if err := i.Check(); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), i, time.Second); err == nil || !strings.Contains(err.Error(), "fewer tags") {
		t.Errorf("Put of an instance with 33 KB of tags: %v, want an error that says to give fewer", err)
	}
}
