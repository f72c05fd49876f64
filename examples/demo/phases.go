package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

// seenWithin is how long a new server may take to get calls: after its start, and after
// the registry has come back.
const seenWithin = 5 * time.Second

// enough is how many calls show the shares of the servers. On a busy machine they take
// longer.
const enough = 1000

// perform runs the phases one after the other, under load.
func (d *demo) perform() error {
	heading("Under load")
	line("%d callers of Ledger.Read, which is marked idempotent, and %d of Ledger.Book,", readers, bookers)
	line("which is not and must not run twice; on %d clients. A handler takes %v.", clients, workTime)
	fmt.Println()
	columns()
	d.load.begin()
	for _, phase := range []func() error{
		d.steady, d.killed, d.added, d.frozen, d.thawed, d.drained, d.registryAway, d.registryBack, d.slowed,
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	d.load.stop()
	d.explain()
	d.showTop()
	return nil
}

// showTop prints what "weft top" has shown while D was slow.
func (d *demo) showTop() {
	heading("What an operator saw while D was slow (weft top Ledger)")
	for _, l := range d.top {
		if l == "" {
			fmt.Println()
			continue
		}
		line("%s", cut(strings.ReplaceAll(l, "tcp://127.0.0.1:", ":"), width-2))
	}
}

// whereToLook says what to try next.
func whereToLook() {
	heading("Where to look")
	for _, l := range [][2]string{
		{"weft up", "a registry of your own; 'weft help' lists all commands"},
		{"docs/guide/tour.md", "the packages, in the order in which one meets them"},
		{"docs/guide/command.md", "the command at work"},
		{"docs/RELIABILITY.md", "what is promised, and the test of each promise"},
	} {
		line("%-22s %s", l[0], l[1])
	}
}

// phase runs an event, which may be nil, waits until the time of the phase is over, and
// prints and returns its tally.
func (d *demo) phase(name string, lasts time.Duration, event func() error) (*tally, error) {
	d.load.next()
	ends := time.Now().Add(lasts)
	stop := progress(name, d.load.peek)
	var err error
	if event != nil {
		err = event()
	}
	if err == nil {
		err = pause(d.ctx, time.Until(ends))
	}
	stop()
	if err != nil {
		return nil, err
	}
	t := d.load.next()
	row(name, t)
	return t, nil
}

// until polls a condition, and returns how long it took to become true.
func (d *demo) until(atMost time.Duration, is func() bool) (took time.Duration, ok bool) {
	began := time.Now()
	for {
		if is() {
			return time.Since(began), true
		}
		if time.Since(began) > atMost || pause(d.ctx, 10*time.Millisecond) != nil {
			return time.Since(began), false
		}
	}
}

// uses tells whether any client sends calls to a server.
func (d *demo) uses(server string) bool {
	return slices.ContainsFunc(d.load.clients, func(c *client) bool { return c.uses(d.ctx, server) })
}

// answers tells whether a server that was added has answered a call.
func (d *demo) answers(server string) func() bool {
	return func() bool { return d.load.answered(server) }
}

// steady is the phase in which nothing happens.
func (d *demo) steady() error {
	t, err := d.phase("three servers", d.times.steady, func() error {
		d.until(5*patience, func() bool { calls, _, _ := d.load.peek(); return calls >= enough })
		return nil
	})
	if err != nil {
		return err
	}
	least := math.Inf(1)
	for _, server := range "ABC" {
		least = min(least, t.share(string(server)))
	}
	d.verdict.note(t.failed() == 0 && least > 0.15, "every server gets its share", "%.0f %% or more each", 100*least)
	d.usual = t.slowShare("Ledger.Read")
	return nil
}

// killed kills a server in the middle of its calls.
func (d *demo) killed() error {
	t, err := d.phase("A is killed", d.times.kill, func() error {
		d.fleet.kill("A")
		return nil
	})
	if err != nil {
		return err
	}
	// Each caller has at most one call in flight.
	books := t.errors["Ledger.Book"]
	d.verdict.note(t.errors["Ledger.Read"] == 0 && books <= bookers && t.told[unknown] == books,
		"a killed server fails unmarked calls only", "%d that were in flight", books)
	return nil
}

// added starts a server.
func (d *demo) added() error {
	var took time.Duration
	var seen bool
	t, err := d.phase("D is added", d.times.add, func() error {
		began := time.Now()
		err := d.fleet.add("D")
		_, seen = d.until(seenWithin, d.answers("D"))
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	d.verdict.note(seen && t.failed() == 0, "a new server gets calls at once", "after %s, then %.0f %%", brief(took), 100*t.share("D"))
	return nil
}

// frozen stops a server: its connections stay open, and it sends nothing.
func (d *demo) frozen() error {
	var took time.Duration
	var out bool
	t, err := d.phase("B is frozen", d.times.freeze, func() error {
		err := d.fleet.freeze("B")
		took, out = d.until(patience, func() bool { return !d.uses("B") })
		_ = pause(d.ctx, d.times.freeze/3) // phase checks d.ctx
		d.why = d.load.clients[0].Explain(d.ctx, "Ledger.Read", nil)
		return err
	})
	if err != nil {
		return err
	}
	slow := t.slowShare("Ledger.Read")
	kept := t.errors["Ledger.Read"] == 0 && t.errors["Ledger.Book"] <= bookers && slow <= mostSlow+2*d.usual
	d.verdict.note(out && kept, "a frozen server is left out within 2 s", "%s; %.2f %% over 100 ms", brief(took), 100*slow)
	return nil
}

// mostSlow is the share of the idempotent calls that may be slow while a server is
// frozen, beside those that are slow anyway on a busy machine.
const mostSlow = 0.005

// explain prints a part of the explanation of a call while B was frozen. Its String is
// the whole.
func (d *demo) explain() {
	heading("Where a call would go, asked while B was frozen (cluster.Explain)")
	line("%s would go to %s; the list is from %s, %s old.", d.why.Method, d.why.Pick, d.why.Source, brief(d.why.Age))
	for _, k := range d.why.Candidates {
		quote(k.Instance.ID, k.Why)
	}
}

// thawed continues it.
func (d *demo) thawed() error {
	var took time.Duration
	var back bool
	t, err := d.phase("B is thawed", d.times.thaw, func() error {
		err := d.fleet.thaw("B")
		took, back = d.until(d.times.thaw, func() bool { return d.uses("B") })
		return err
	})
	if err != nil {
		return err
	}
	d.verdict.note(back && t.share("B") > 0 && t.errors["Ledger.Read"] == 0, "and is used again when it answers again", "after %s, then %.0f %%", brief(took), 100*t.share("B"))
	return nil
}

// drained ends a server as for an update.
func (d *demo) drained() error {
	var took time.Duration
	t, err := d.phase("C is drained", d.times.drain, func() (err error) {
		took, err = d.fleet.drain("C")
		return err
	})
	if err != nil {
		return err
	}
	d.verdict.note(t.failed() == 0, "a drained server loses no call", "%d of %s; gone in %s", t.failed(), count(t.all()), brief(took))
	return nil
}

// registryAway stops the registry. A server and a client start meanwhile.
func (d *demo) registryAway() error {
	var found string
	var late error
	t, err := d.phase("registry is stopped", d.times.away, func() error {
		d.fleet.registry.kill()
		if err := d.fleet.add("E"); err != nil {
			return err
		}
		found, late = d.lateClient()
		return nil
	})
	if err != nil {
		return err
	}
	d.verdict.note(t.failed() == 0, "calls go on without the registry", "%d of %s failed", t.failed(), count(t.all()))
	d.verdict.note(late == nil, "a client that starts then has the cache", "%s", found)
	return nil
}

// lateClient starts a client while the registry is stopped.
func (d *demo) lateClient() (found string, err error) {
	began := time.Now()
	c, err := d.newClient()
	if err != nil {
		return err.Error(), err
	}
	defer func() { _ = c.close() }() // the verdict is on its call
	request, err := benchmark.New()
	if err != nil {
		return err.Error(), err
	}
	reply, err := weft.Invoke[message](d.ctx, c, "Ledger.Read", request)
	if err == nil {
		err = benchmark.Check(reply)
	}
	if err != nil {
		return err.Error(), err
	}
	took := time.Since(began)
	if source := c.Explain(d.ctx, "Ledger.Read", nil).Source; !strings.HasPrefix(source, "cache") {
		return source, errors.New("the list is not from the cache")
	}
	return "answer after " + brief(took), nil
}

// registryBack starts the registry again, with its data.
func (d *demo) registryBack() error {
	var took time.Duration
	var seen bool
	early := d.load.answered("E")
	t, err := d.phase("registry is back", d.times.back, func() error {
		if err := d.fleet.startRegistry(); err != nil {
			return err
		}
		took, seen = d.until(seenWithin, d.answers("E"))
		return nil
	})
	if err != nil {
		return err
	}
	d.verdict.note(seen && !early && t.failed() == 0, "a server that started then is seen in 5 s", "%s after its return", brief(took))
	return nil
}

// noticed is how long clients have to notice that a server has become slow.
const noticed = 500 * time.Millisecond

// slowed makes the work of a server take ten times as long.
func (d *demo) slowed() error {
	t, err := d.phase("D is 10x slower", d.times.slow, func() error {
		if err := d.fleet.slow("D", 10); err != nil {
			return err
		}
		err := pause(d.ctx, noticed)
		d.load.next() // the tally begins when clients have noticed
		d.top = d.fleet.top()
		return err
	})
	if err != nil {
		return err
	}
	d.verdict.note(t.share("D") < 1.0/15 && t.errors["Ledger.Read"] == 0, "one 10 times slower has < 1/5 of its part",
		"%.1f %%, a third before", 100*t.share("D"))
	return nil
}

// settle ends all processes and compares the results of the calls with the journals.
func (d *demo) settle() error {
	began := time.Now()
	ended := errors.Join(d.load.close(), d.fleet.drainAll())
	took := time.Since(began)
	times, err := readJournals(d.fleet.journals())
	if err != nil {
		return err
	}
	all := d.load.total
	for _, method := range []string{"Ledger.Read", "Ledger.Book"} {
		if first := all.first[method]; first != nil {
			heading(fmt.Sprintf("The first error of %s (%s)", method, outcomeOf(first)))
			quote("", first.Error())
		}
	}
	a := compare(d.load.books, times)
	d.verdict.note(all.errors["Ledger.Read"] == 0, "an idempotent call never fails", "%d of %s failed",
		all.errors["Ledger.Read"], count(all.calls["Ledger.Read"]))
	d.verdict.note(a.twice == 0 && a.calls > 0, "an unmarked call never runs twice", "%d of %s ran twice", a.twice, count(a.calls))
	d.verdict.note(a.lost == 0 && a.denied == 0, "and its error says whether it ran", "%d wrong, %d \"may have run\"", a.lost+a.denied, a.unknown)
	if ended != nil {
		heading("What went wrong at the end")
		quote("", ended.Error())
	}
	d.verdict.note(ended == nil, "SIGTERM ends every process cleanly", "all in %s", brief(took))
	return nil
}
