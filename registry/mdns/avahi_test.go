package mdns

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry/registrytest"
)

// avahi is Avahi on a host, with a message bus of its own by which its tools reach it.
type avahi struct {
	l    *lan
	host int
	env  string // where the bus is
}

func startAvahi(t *testing.T, l *lan, host int) *avahi {
	t.Helper()
	dir := t.TempDir()
	bus := "unix:path=" + filepath.Join(dir, "bus")
	a := &avahi{l: l, host: host, env: "DBUS_SYSTEM_BUS_ADDRESS=" + bus}
	place := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	busConfig := place("bus.conf", `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
	<listen>`+bus+`</listen>
	<policy context="default">
		<allow user="*"/><allow own="*"/>
		<allow send_destination="*" eavesdrop="true"/><allow receive_sender="*" eavesdrop="true"/>
	</policy>
</busconfig>`)
	// It would complain that it cannot have 65536 files.
	l.run(t, host, a.env, "sh", "-c", `exec "$0" --nofork --print-address=1 --config-file="$1" 2>/dev/null`,
		registrytest.Find(t, "dbus-daemon"), busConfig).until(t, "unix:…", patience)
	config := place("avahi.conf", "[server]\nhost-name=avahi\nuse-ipv6=no\nallow-interfaces=wire\n")
	// Every program that is started on a host has its own mounts.
	l.run(t, host, a.env, "sh", "-c", `mount -t tmpfs tmpfs /run && mkdir /run/avahi-daemon &&
		exec "$0" --no-drop-root --no-chroot --no-rlimits --file "$1" 2>&1`, registrytest.Find(t, "avahi-daemon"), config)
	a.shows(t, true, "10.77.0.1", "avahi-resolve", "-4", "-n", "avahi.local")
	return a
}

// shows runs a tool again and again until its output has some words, or until it has
// them no more.
func (a *avahi) shows(t *testing.T, has bool, words string, tool string, args ...string) {
	t.Helper()
	args = append([]string{"netns", "exec", a.l.hosts[a.host], registrytest.Find(t, tool)}, args...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out []byte
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, "ip", args...)
		cmd.Env = append(os.Environ(), a.env)
		out, _ = cmd.CombinedOutput() // an error is a reason to try again
		if strings.Contains(string(out), words) == has {
			return
		}
	}
	t.Fatalf("%v: it has %q: %t, want %t, within %v; it shows\n%s", args, words, !has, has, patience, out)
}

// Avahi is another implementation of the standards. It finds our servers, and our
// clients find what it announces.
func TestAvahi(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	a := startAvahi(t, l, 0)
	one := instance("Arith", "one")
	one.Address = "tcp://10.77.0.2:8972"
	label := instanceLabel("Arith", "one")
	line := ";wire;IPv4;" + label + ";_weft._tcp;local"

	server := l.start(t, 1, encoded(t, one))
	a.shows(t, true, "="+line+";"+label+".local;10.77.0.2;8972;", "avahi-browse", "-rtp", "_weft._tcp")
	a.shows(t, true, `"0={\"service\":\"Arith\",\"id\":\"one\",`, "avahi-browse", "-rtp", "_weft._tcp")
	a.shows(t, true, "+;wire;IPv4;"+label+";", "avahi-browse", "-tp", strings.TrimSuffix(subtype("Arith"), ".local."))
	a.shows(t, true, "+"+line, "avahi-browse", "-atp")
	a.shows(t, true, label+".local\t10.77.0.2", "avahi-resolve", "-4", "-n", label+".local")
	if err := server.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	a.shows(t, false, label, "avahi-browse", "-tp", "_weft._tcp")

	client := l.start(t, 1, "client")
	client.until(t, "sees", patience)
	two := weft.Instance{Service: "Arith", ID: "two", Address: "tcp://10.77.0.1:8972", Weight: 9}
	publisher := l.run(t, 0, a.env, registrytest.Find(t, "avahi-publish"), "-s",
		"--subtype="+strings.TrimSuffix(subtype("Arith"), ".local."),
		instanceLabel("Arith", "two"), "_weft._tcp", "8972", "from=avahi.1", "0="+encoded(t, two))
	client.until(t, "sees two/9/0", patience)
	time.Sleep(2 * time.Second) // Avahi has announced it as often as it does unasked
	late := l.start(t, 1, "client")
	late.until(t, "sees two/9/0", patience)
	if err := publisher.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	client.until(t, "sees", patience)
	late.until(t, "sees", patience)
}
