package keyed

import (
	"encoding/binary"
	"net"
	"runtime"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for addr, want := range map[string]string{"192.0.2.7:1": "192.0.2.7", "[2001:db8::1:2:3]:4": "2001:db8::/64", "[::ffff:192.0.2.7]:5": "192.0.2.7"} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := keyOfAddress(a).String(); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if got := keyOfAddress(&net.UnixAddr{Name: "/run/x", Net: "unix"}).String(); got != "/run/x" {
		t.Error(got)
	}
}

func TestKnown(t *testing.T) {
	for _, b := range []By{Server, Service, Method, Principal, Address} {
		if !b.known() {
			t.Errorf("%q is not known", b)
		}
	}
	if By("planet").known() {
		t.Error("a planet is known")
	}
}

// One host has one key, whatever the port, the transport, and the address of its network.
func TestKeys(t *testing.T) {
	same := map[string][]net.Addr{
		"192.0.2.7":     {&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1}, &net.UDPAddr{IP: net.ParseIP("::ffff:192.0.2.7"), Port: 2}, text("192.0.2.7:3")},
		"2001:db8::/64": {&net.TCPAddr{IP: net.ParseIP("2001:db8::1")}, &net.UDPAddr{IP: net.ParseIP("2001:db8::2")}, text("[2001:db8::3]:4")},
		"server":        {text("server:1"), text("server")},
		"":              {&net.TCPAddr{}, text("")},
	}
	for want, all := range same {
		for _, a := range all {
			k := keyOfAddress(a)
			if k.String() != want && want != "" {
				t.Errorf("%v: %s, want %s", a, k, want)
			}
			if parsed, err := Address.Parse(k.String()); err != nil || want != "" && parsed != k || k.Clone() != k {
				t.Errorf("%v: %v is parsed as %v: %v", a, k, parsed, err)
			}
		}
	}
	for _, wrong := range []string{"10.0.0.0/8", "2001:db8::/32", "::ffff:0:0/96"} {
		if k, err := Address.Parse(wrong); err == nil {
			t.Errorf("%s is taken as %v", wrong, k)
		}
	}
	// A long name is not kept, and differs from others that begin alike.
	long := strings.Repeat("ä", 4000)
	a, b := keyOfName(long), keyOfName(long+"x")
	if len(a.name) > mostName || a == b || a != keyOfName(long) || keyOfName(a.String()) != a {
		t.Errorf("%v, %v", a, b)
	}
}

// text is an address that is a text alone.
type text string

func (text) Network() string  { return "mem" }
func (a text) String() string { return string(a) }

func TestKeysCostNoMemory(t *testing.T) {
	a := &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 7}
	table := New[Key, int](10)
	if n := testing.AllocsPerRun(100, func() { *table.Add(keyOfAddress(a), nil)++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Callers without number, each with a long name of its own that is a part of a longer text, leave what the table has room for.
func TestManyKeys(t *testing.T) {
	table := New[Key, int](1000)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	text := make([]byte, 16<<10)
	for i := range 200_000 {
		binary.LittleEndian.PutUint64(text, uint64(i))
		request := string(text[:1+i%200])
		if i%100 == 0 {
			request = string(text)
		}
		name := request[:min(len(request), 8+i%100)]
		*table.Add(keyOfName(name), nil)++
	}
	if n := table.Len(); n > 1000 {
		t.Errorf("%d keys", n)
	}
	if after := heap(); after > before+2<<20 {
		t.Errorf("the table holds %d bytes", after-before)
	}
	runtime.KeepAlive(table)
}
