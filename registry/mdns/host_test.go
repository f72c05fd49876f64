package mdns

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// hostRole names the variable of the environment that makes this program a host of
// TestTwoHosts: "client", or the weft.Instance to register, as JSON.
const hostRole = "WEFT_MDNS_HOST"

// hostTTL is the time to live on these hosts: much longer than a withdrawal takes to be
// seen on a busy machine.
const hostTTL = 20 * time.Second

// runHost is a process on one of the hosts. It writes a line for all that happens,
// and ends when its input does.
func runHost(role string) (code int) {
	r, err := New(&Config{Registry: registry.Config{TTL: hostTTL, Protect: -1, NoCache: true, Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	if role == "client" {
		defer r.Watch("Arith", func(s *registry.Snapshot) { fmt.Println(seenBy(s)) })()
	} else {
		var instance weft.Instance
		err := json.Unmarshal([]byte(role), &instance)
		if err == nil {
			_, err = r.Register(instance)
		}
		if err != nil {
			fmt.Println("error:", err)
			return 1
		}
	}
	io.Copy(io.Discard, os.Stdin)
	if err := r.Close(); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

// seenBy is a snapshot as a line.
func seenBy(s *registry.Snapshot) string {
	if s.Err != nil {
		return "away: " + strings.ReplaceAll(s.Err.Error(), "\n", " ")
	}
	line := "sees"
	for _, i := range s.Instances {
		line += fmt.Sprintf(" %s/%d/%d", i.ID, i.Weight, len(i.Tags))
	}
	return line
}

// lan is two hosts with a cable between them.
type lan struct{ hosts [2]string }

func newLAN(t *testing.T) *lan {
	t.Helper()
	registrytest.Find(t, "ip")
	name := fmt.Sprintf("weft-%s-%d-", t.Name(), os.Getpid())
	l := &lan{hosts: [2]string{name + "a", name + "b"}}
	t.Cleanup(func() {
		for _, h := range l.hosts {
			_ = exec.Command("ip", "netns", "del", h).Run() // one that was never made
		}
	})
	for _, h := range l.hosts {
		l.ip(t, "netns add "+h)
	}
	l.ip(t, "-n "+l.hosts[0]+" link add wire type veth peer name wire netns "+l.hosts[1])
	for i, h := range l.hosts {
		l.ip(t, fmt.Sprintf("-n %s addr add 10.77.0.%d/24 dev wire", h, i+1))
		l.ip(t, "-n "+h+" link set lo up")
		l.ip(t, "-n "+h+" link set wire up")
	}
	return l
}

func (l *lan) ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// process is a process on a host.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{} // closed when it has ended

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed at the next line
}

// start starts this program on a host, in some role.
func (l *lan) start(t *testing.T, host int, role string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return l.run(t, host, hostRole+"="+role, self)
}

// run starts a program on a host, with one more variable in its environment.
func (l *lan) run(t *testing.T, host int, env string, command ...string) *process {
	t.Helper()
	p := &process{
		cmd:  exec.Command("ip", append([]string{"netns", "exec", l.hosts[host]}, command...)...),
		done: make(chan struct{}), news: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), env)
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It ends with the process, which the cleanup kills.
	go p.read(stdout)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
	})
	return p
}

func (p *process) read(stdout io.Reader) {
	defer close(p.done)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait()
}

// until waits for a line that begins in a certain way, and returns how long it took.
func (p *process) until(t *testing.T, want string, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for {
		p.mu.Lock()
		last, news := "", p.news
		if n := len(p.lines); n > 0 {
			last = p.lines[n-1]
		}
		all := slices.Clone(p.lines)
		p.mu.Unlock()
		if last == want || strings.HasSuffix(want, "…") && strings.HasPrefix(last, strings.TrimSuffix(want, "…")) {
			return time.Since(began)
		}
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("no line %q within %v; there were:\n%s", want, within, strings.Join(all, "\n"))
		}
	}
}

// patience is how long what happens on other hosts is waited for.
const patience = time.Minute

// encoded is an instance as JSON.
func encoded(t *testing.T, i weft.Instance) string {
	t.Helper()
	value, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// The client and the servers are processes of two hosts, with nothing but a network
// between them.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	server := func(id string, tags int) string {
		i := weft.Instance{Service: "Arith", ID: id, Address: "tcp://10.77.0.2:8972", Weight: 7, Tags: map[string]string{}}
		for n := range tags {
			i.Tags[fmt.Sprintf("%s%d", strings.Repeat("k", 50), n)] = strings.Repeat("v", 50)
		}
		return encoded(t, i)
	}
	client := l.start(t, 0, "client")
	client.until(t, "sees", patience)
	one := l.start(t, 1, server("one", 0))
	client.until(t, "sees one/7/0", patience)
	// It is announced in fragments.
	two := l.start(t, 1, server("two", 60))
	client.until(t, "sees one/7/0 two/7/60", patience)
	// A client that comes later asks.
	late := l.start(t, 0, "client")
	late.until(t, "sees one/7/0 two/7/60", patience)

	// A server that ends says so.
	if err := one.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if took := client.until(t, "sees two/7/60", patience); took >= hostTTL*2/3 {
		t.Errorf("a server that withdrew was there for %v, want it gone sooner than it expires", took)
	}
	// One that dies does not.
	if err := two.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	took := client.until(t, "sees", patience)
	t.Logf("a server that died was gone after %v, with a time to live of %v", took, hostTTL)

	// A client without a network knows that it has none.
	l.ip(t, "-n "+l.hosts[0]+" link set wire down")
	l.ip(t, "-n "+l.hosts[0]+" link set lo down")
	client.until(t, "away: mdns: …", patience)
	l.ip(t, "-n "+l.hosts[0]+" link set wire up")
	l.start(t, 1, server("three", 1))
	client.until(t, "sees three/7/1", patience)
	late.until(t, "sees three/7/1", patience)
}
