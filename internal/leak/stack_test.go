package leak

import (
	"slices"
	"strings"
	"testing"
)

const dump = `goroutine 1 [chan receive, 2 minutes]:
testing.(*T).Run(0xc000003c00, {0x5d2c1a?, 0xc0000f3b50?}, 0x5e1f28)
	/go/src/testing/testing.go:2101 +0x44f
main.main()
	_testmain.go:47 +0x9b

goroutine 7 [select]:
example.com/p.(*Pool).run(0xc00009a000, {0x1, 0x2})
	/src/p/pool.go:30 +0x25
example.com/p.New.gowrap1()
	/src/p/pool.go:19 +0x1c
created by example.com/p.New in goroutine 6
	/src/p/pool.go:19 +0xaf

goroutine 6 gp=0xc0000076c0 m=nil [running, synctest bubble 3]:
	goroutine running on other thread; stack unavailable
created by testing.(*T).Run in goroutine 1
	/go/src/testing/testing.go:2101 +0x44f

goroutine 22 [syscall, locked to thread]:
os/signal.signal_recv()
	/go/src/runtime/sigqueue.go:152 +0x29
os/signal.loop()
	/go/src/os/signal/signal_unix.go:23 +0x13
created by os/signal.Notify.func1.1 in goroutine 7
	/go/src/os/signal/signal.go:152 +0x1f
`

func TestParse(t *testing.T) {
	want := []struct {
		id, creator string
		calls       []string
		expected    bool
	}{
		{"1", "", []string{"testing.(*T).Run", "main.main"}, true},
		{"7", "example.com/p.New", []string{"example.com/p.(*Pool).run", "example.com/p.New.gowrap1"}, false},
		{"6", "testing.(*T).Run", nil, true},
		{"22", "os/signal.Notify.func1.1", []string{"os/signal.signal_recv", "os/signal.loop"}, true},
	}
	got := parse(dump)
	if len(got) != len(want) {
		t.Fatalf("%d goroutines, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.id != w.id || g.creator != w.creator || !slices.Equal(g.calls, w.calls) || g.expected() != w.expected {
			t.Errorf("goroutine %d: id %q, creator %q, calls %q, expected %t; want %+v",
				i, g.id, g.creator, g.calls, g.expected(), w)
		}
		if !strings.HasPrefix(g.stack, "goroutine "+w.id+" ") {
			t.Errorf("goroutine %d: stack begins with %.20q", i, g.stack)
		}
	}
}

func TestRunningLeavesOutItsCaller(t *testing.T) {
	for _, g := range running() {
		if slices.ContainsFunc(g.calls, func(name string) bool { return strings.HasSuffix(name, "leak.running") }) {
			t.Errorf("the caller is in the list:\n%s", g.stack)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(dump)
	f.Add(dump[:len(dump)/2])
	f.Add("goroutine \n\ngoroutine 5")
	f.Add("goroutine 5 [running]:\ncreated by \n(\n\t\n")
	f.Fuzz(func(t *testing.T, dump string) {
		for _, g := range parse(dump) {
			if !strings.Contains(dump, g.stack) {
				t.Errorf("stack %q is no part of the dump", g.stack)
			}
			g.expected()
		}
	})
}
