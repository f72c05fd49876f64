package dns

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
	"golang.org/x/net/dns/dnsmessage"
)

// knot is a Knot DNS server with one zone, weft.test, that the test writes.
type knot struct {
	*registrytest.Process
	address string
	dir     string
	control string // the program that tells it to read the zone again

	mu       sync.Mutex
	ttl      int
	serial   int
	services map[string][]weft.Instance
	extra    string // more lines of the zone
}

func startKnot(t *testing.T) *knot {
	t.Helper()
	port := registrytest.FreePort(t)
	k := &knot{
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dir: t.TempDir(), control: registrytest.Find(t, "knotc"),
		ttl: 1, services: make(map[string][]weft.Instance),
	}
	config := filepath.Join(k.dir, "knot.conf")
	write(t, config, fmt.Sprintf(`
server:
    rundir: %[1]s
    listen: 127.0.0.1@%[2]d
database:
    storage: %[1]s/db
control:
    listen: %[1]s/control
log:
  - target: stderr
    any: warning
template:
  - id: default
    storage: %[1]s
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
zone:
  - domain: weft.test
    file: zone
`, k.dir, port))
	write(t, filepath.Join(k.dir, "zone"), k.zoneLocked())
	k.Process = registrytest.NewProcess(t, registrytest.Program{
		Name: "knotd", Path: registrytest.Find(t, "knotd"), Args: []string{"-c", config},
		Ready: func(ctx context.Context) error {
			err := k.answers(ctx)
			if err == nil {
				err = k.tell(ctx, "status")
			}
			return err
		},
	})
	return k
}

// answers returns nil when the server answers a query.
func (k *knot) answers(ctx context.Context) error {
	q, err := ask("ns.weft.test", dnsmessage.TypeA)
	if err == nil {
		_, err = exchange(ctx, k.address, q, time.Second)
	}
	return err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (k *knot) tell(ctx context.Context, command ...string) error {
	args := append([]string{"-s", filepath.Join(k.dir, "control"), "-b"}, command...)
	out, err := exec.CommandContext(ctx, k.control, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("knotc %v: %w: %s", command, err, out)
	}
	return nil
}

// publish makes these the SRV records of a service.
func (k *knot) publish(t *testing.T, service string, instances []weft.Instance) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.services[service] = instances
	k.reloadLocked(t)
}

// reloadLocked makes the server read the zone.
func (k *knot) reloadLocked(t *testing.T) {
	t.Helper()
	path := filepath.Join(k.dir, "zone")
	write(t, path+".new", k.zoneLocked())
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := k.tell(ctx, "zone-reload", "weft.test"); err != nil {
		t.Fatal(err)
	}
}

// zoneLocked is the zone as a file.
func (k *knot) zoneLocked() string {
	k.serial++
	var b strings.Builder
	fmt.Fprintf(&b, "$ORIGIN weft.test.\n$TTL %d\n@ SOA ns admin %d 3600 600 86400 1\n@ NS ns\nns A 127.0.0.1\n", k.ttl, k.serial)
	var hosts []netip.Addr
	for service, instances := range k.services {
		for _, i := range instances {
			a := netip.MustParseAddrPort(strings.TrimPrefix(i.Address, "tcp://"))
			hosts = append(hosts, a.Addr())
			fmt.Fprintf(&b, "_%s._tcp SRV 10 %d %d %s\n", service, i.Weight, a.Port(), hostOf(a.Addr()))
		}
	}
	slices.SortFunc(hosts, netip.Addr.Compare)
	for _, a := range slices.Compact(hosts) {
		fmt.Fprintf(&b, "%s A %v\n", hostOf(a), a)
	}
	return b.String() + k.extra
}

func hostOf(a netip.Addr) string { return "host-" + strings.ReplaceAll(a.String(), ".", "-") }

func (k *knot) config() Config {
	return Config{
		Name:    func(service string) string { return "_" + service + "._tcp.weft.test" },
		Servers: []string{k.address},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	k := startKnot(t)
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			d, err := newDriver(k.config())
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Server:  k,
		Probe:   k.answers,
		Publish: k.publish,
		Lossy:   true,
		// A second for the time to live, and one for a busy machine.
		Settle: 3 * time.Second,
	})
}

// The time to live is the zone's, also when it changes.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	k := startKnot(t)
	instance := weft.Instance{Service: "Arith", Address: "tcp://10.0.0.1:80", Weight: 1}
	k.mu.Lock()
	k.ttl = 2
	k.mu.Unlock()
	k.publish(t, "Arith", []weft.Instance{instance})

	r, err := New(Config{
		Name: k.config().Name, Servers: k.config().Servers, Registry: registry.Config{NoCache: true, Protect: -1, Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	weights := make(chan int, 10)
	defer r.Watch("Arith", func(s *registry.Snapshot) {
		if s.Err != nil || len(s.Instances) != 1 {
			t.Errorf("%d instances, %v, want 1", len(s.Instances), s.Err)
			return
		}
		weights <- s.Instances[0].Weight
	})()
	if got := <-weights; got != 1 {
		t.Fatalf("the weight is %d, want 1", got)
	}
	// seen changes the weight, and returns how long it takes to be seen.
	seen := func(ttl, weight int) time.Duration {
		k.mu.Lock()
		k.ttl = ttl
		k.mu.Unlock()
		instance.Weight = weight
		began := time.Now()
		k.publish(t, "Arith", []weft.Instance{instance})
		select {
		case got := <-weights:
			if got != weight {
				t.Fatalf("the weight is %d, want %d", got, weight)
			}
		case <-time.After(time.Minute):
			t.Fatalf("weight %d was not seen", weight)
		}
		return time.Since(began)
	}
	// The times are far apart, so that a busy machine does not blur them.
	seen(25, 2)
	if took := seen(1, 3); took < 12*time.Second {
		t.Errorf("seen after %v, with a time to live of 25 s: it was asked for too early", took)
	}
	if took := seen(1, 4); took > 12*time.Second {
		t.Errorf("seen after %v, with a time to live of 1 s", took)
	}
}

// What a real server says, with the times of its zone.
func TestAnswers(t *testing.T) {
	t.Parallel()
	k := startKnot(t)
	k.mu.Lock()
	k.extra = `
two 7 A 10.0.0.2
two 7 A 10.0.0.1
six 8 AAAA 2001:db8::1
both 9 A 10.0.0.3
both 9 AAAA 2001:db8::3
alias 5 CNAME two
away 5 CNAME elsewhere.example.
text TXT "no address"
_srv._tcp 6 SRV 10 3 8972 both
_srv._tcp 6 SRV 20 4 8973 six
_none._tcp 6 SRV 0 0 0 .
_dangling._tcp 6 SRV 10 1 8972 missing
_away._tcp 6 SRV 10 1 8972 host.elsewhere.example.
`
	for n := range 300 {
		k.extra += fmt.Sprintf("_many._tcp 30 SRV 10 1 %d two\n", 10000+n)
	}
	k.reloadLocked(t)
	k.mu.Unlock()
	tests := []struct {
		name, domain string
		port         int
		want         []string
		ttl          time.Duration
		err          string
	}{
		{"A", "two.weft.test", 80, []string{"tcp://10.0.0.1:80 0", "tcp://10.0.0.2:80 0"}, 7 * time.Second, ""},
		{"AAAA", "six.weft.test", 80, []string{"tcp://[2001:db8::1]:80 0"}, 8 * time.Second, ""},
		{"A before AAAA", "both.weft.test.", 80, []string{"tcp://10.0.0.3:80 0"}, 9 * time.Second, ""},
		{"CNAME", "ALIAS.weft.test", 80, []string{"tcp://10.0.0.1:80 0", "tcp://10.0.0.2:80 0"}, 5 * time.Second, ""},
		{"CNAME out of the zone", "away.weft.test", 80, nil, 0, "a referral to other servers"},
		{"no address", "text.weft.test", 80, nil, time.Second, ""},
		{"no such name", "missing.weft.test", 80, nil, time.Second, ""},
		{"another zone", "two.elsewhere.example", 80, nil, 0, "Refused"},
		{"SRV", "_srv._tcp.weft.test", 0, []string{"tcp://10.0.0.3:8972 3", "tcp://[2001:db8::1]:8973 -4"}, 6 * time.Second, ""},
		{"SRV of no service", "_none._tcp.weft.test", 0, nil, 6 * time.Second, ""},
		{"SRV of a host that is not there", "_dangling._tcp.weft.test", 0, []string{"invalid missing.weft.test.:8972"}, time.Second, ""},
		{"SRV of a host of another zone", "_away._tcp.weft.test", 0, nil, 0, "A host.elsewhere.example."},
		{"no SRV", "_missing._tcp.weft.test", 0, nil, time.Second, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newTestDriver(t, Config{Port: test.port, Name: func(string) string { return test.domain }}, k.address)
			list, ttl, err := d.look(t.Context(), "Arith")
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("look returned %q, %v, want an error with %q", shown(list), err, test.err)
				}
				return
			}
			if got := shown(list); err != nil || !slices.Equal(got, test.want) || ttl != test.ttl {
				t.Errorf("look returned %q for %v, %v, want %q for %v", got, ttl, err, test.want, test.ttl)
			}
		})
	}
	t.Run("too long for a datagram", func(t *testing.T) {
		q, err := ask("_many._tcp.weft.test", dnsmessage.TypeSRV)
		if err != nil {
			t.Fatal(err)
		}
		a, err := over(t.Context(), "udp", k.address, q, readDatagram)
		if err != nil || !a.truncated {
			t.Fatalf("the answer over UDP is %+v, %v, want a truncated one", a, err)
		}
		d := newTestDriver(t, Config{Name: func(string) string { return "_many._tcp.weft.test" }}, k.address)
		list, _, err := d.look(t.Context(), "Arith")
		if err != nil || len(list.Instances) != 600 {
			t.Errorf("there are %d instances, %v, want 300 of each address", len(list.Instances), err)
		}
	})
}
