//go:build unix

package adversary

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/registry/static"
)

// record is what callers were told of their calls.
type record struct {
	t      *testing.T
	c      *cluster.Client
	serial atomic.Uint64

	mu       sync.Mutex
	told     map[uint64]error // by number; nil: it went well
	repeated int              // calls that may run twice
	failed   []error          // of these
	longest  time.Duration    // of these
}

// TestFaults has two servers behind proxies, callers, and faults: connections that are reset, a network that
// swallows everything, a server that stands still. No call that may run twice fails, or takes much longer than a silent
// connection is kept; of the others each ran once if it went well, at most once if not, and never when
// its caller was told so.
func TestFaults(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	var proxies []*proxy
	var servers []*process
	var addresses []string
	for range 2 {
		s := start(t, task{Journal: journal})
		p := newProxy(t, s.said)
		servers, proxies = append(servers, s), append(proxies, p)
		addresses = append(addresses, "tcp://"+p.address())
	}
	reg, err := static.New(addresses...)
	must(t, err)
	defer reg.Close()
	yes := true
	c, err := cluster.New(&cluster.Config{
		Registry: reg, Client: quiet(&weft.ClientConfig{}), Logger: quiet(&weft.ClientConfig{}).Logger,
		Methods: map[string]route.Method{"Adv.Echo": {Idempotent: &yes}},
	})
	must(t, err)
	defer c.Close()
	r := &record{t: t, c: c, told: make(map[uint64]error)}
	ended := make(chan struct{})
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() { r.repeat(ended) })
		work.Go(func() { r.once(ended) })
	}
	for range 3 {
		time.Sleep(500 * time.Millisecond)
		for _, p := range proxies {
			p.reset()
		}
	}
	time.Sleep(500 * time.Millisecond)
	proxies[0].swallow(7 * time.Second)
	time.Sleep(500 * time.Millisecond)
	servers[1].signal(syscall.SIGSTOP)
	time.Sleep(4 * time.Second)
	servers[1].signal(syscall.SIGCONT)
	time.Sleep(500 * time.Millisecond)
	close(ended)
	work.Wait()
	must(t, c.Shutdown(t.Context()))
	for _, s := range servers {
		s.stop()
	}
	r.check(journal)
}

// repeat makes calls that may run twice.
func (r *record) repeat(ended <-chan struct{}) {
	for !over(ended) {
		began := time.Now()
		var reply []byte
		err := r.c.Call(context.Background(), "Adv.Echo", []byte("hello"), &reply, weft.WithCodec(raw.New()))
		took := time.Since(began)
		r.mu.Lock()
		r.repeated++
		r.longest = max(r.longest, took)
		if err != nil {
			r.failed = append(r.failed, err)
		} else if string(reply) != "hello" {
			r.failed = append(r.failed, fmt.Errorf("the reply is %q", reply))
		}
		r.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// once makes calls that must not run twice, each with its number.
func (r *record) once(ended <-chan struct{}) {
	for !over(ended) {
		n := r.serial.Add(1)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		reply, err := weft.Invoke[Number](ctx, r.c, "Adv.Once", &Number{n})
		cancel()
		if err == nil && reply.N != n {
			r.t.Errorf("call %d got the reply of call %d", n, reply.N)
		}
		r.mu.Lock()
		r.told[n] = err
		r.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

func over(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// check compares what callers were told with what ran.
func (r *record) check(journal string) {
	text, err := os.ReadFile(journal)
	must(r.t, err)
	ran := make(map[uint64]int)
	for ; len(text) >= 8; text = text[8:] {
		ran[binary.LittleEndian.Uint64(text)]++
	}
	lost, doubled, phantom, failed := 0, 0, 0, 0
	for n, err := range r.told {
		e, known := errors.AsType[*weft.Error](err)
		switch {
		case err == nil && ran[n] == 0:
			lost++
		case ran[n] > 1:
			doubled++
		case known && (e.Outcome == weft.NotSent || e.Outcome == weft.Refused) && ran[n] > 0:
			phantom++
		}
		if err != nil {
			failed++
		}
		delete(ran, n)
	}
	if lost+doubled+phantom+len(ran) > 0 {
		r.t.Errorf("%d calls were lost, %d ran twice, %d ran though their callers were told otherwise, %d were never made", lost, doubled, phantom, len(ran))
	}
	for i, err := range r.failed {
		if i < 5 {
			r.t.Errorf("a call that may run twice failed: %v", err)
		}
	}
	// A silent connection with calls on it is found dead after DefaultPingInterval and DefaultPingTimeout of package cluster.
	if most := cluster.DefaultPingInterval + cluster.DefaultPingTimeout + 3*time.Second; r.longest > most {
		r.t.Errorf("a call that may run twice took %v, at most %v are promised", r.longest, most)
	}
	r.t.Logf("figure: %d calls that may run twice, %d failed, the longest took %v; %d others, %d failed, %d lost, %d doubled, %d phantom",
		r.repeated, len(r.failed), r.longest.Round(time.Millisecond), len(r.told), failed, lost, doubled, phantom)
}
