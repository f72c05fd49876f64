package journal_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/internal/journal"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// paper is a journal and what it has written since it was read. Lines about what was left out are written by goroutines of their own.
type paper struct {
	*journal.Journal
	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer.
func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func newPaper() *paper {
	p := &paper{}
	p.Journal = journal.New(slog.New(slog.NewTextHandler(p, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	return p
}

func (p *paper) read() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.TrimSuffix(p.out.String(), "\n")
	p.out.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (p *paper) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := p.read(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", lines) {
		t.Errorf("it has written\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

// A breaker is told of when it opens and when it closes, and not between.
func TestBreakers(t *testing.T) {
	p := newPaper()
	listed := map[string]bool{"tcp://a": true, "tcp://b": true}
	is := func(address string) bool { return listed[address] }
	a, b := journal.Breaker{Address: "tcp://a", Method: "A.M", Why: "10 calls in a row failed"}, journal.Breaker{Address: "tcp://b", Method: "A.M"}
	p.Breakers(nil, is)
	p.want(t)
	p.Breakers([]journal.Breaker{a, b}, is)
	p.want(t, `level=WARN msg="breaker opened" addr=tcp://a method=A.M why="10 calls in a row failed"`, `level=WARN msg="breaker opened" addr=tcp://b method=A.M why=""`)
	p.Breakers([]journal.Breaker{a, b}, is)
	p.want(t)
	delete(listed, "tcp://b")
	p.Breakers([]journal.Breaker{a}, is)
	p.want(t)
	p.Breakers(nil, is)
	p.want(t, `level=INFO msg="breaker closed" addr=tcp://a method=A.M`)
	p.Breakers(nil, is)
	p.want(t)
}

// A wave of breakers is some lines.
func TestBreakersAreBounded(t *testing.T) {
	p := newPaper()
	var all []journal.Breaker
	for i := range 1000 {
		all = append(all, journal.Breaker{Address: "tcp://a", Method: fmt.Sprint("A.M", i)})
	}
	listed := func(string) bool { return true }
	p.Breakers(all, listed)
	if lines := p.read(); len(lines) != 11 || lines[10] != `level=WARN msg="breaker opened: more breakers" times=990` {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	p.Breakers(nil, listed)
	if lines := p.read(); len(lines) != 11 || lines[10] != `level=INFO msg="breaker closed: more breakers" times=990` {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// One call in a second is told of in full, and the others are counted.
func TestGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaper()
		down := &weft.Error{Code: weft.Unavailable, Reason: "DOWN", Peer: "mem://a", Message: "it is private"}
		p.GaveUp("A.M", "mem://a", 1, down)
		p.GaveUp("A.M", "mem://a", 3, weft.Errorf(weft.Canceled, "the caller has gone"))
		p.want(t)
		for range 100 {
			p.GaveUp("A.M", "mem://a", 3, down)
			p.Unpaid("A.M", "mem://a", down)
		}
		p.want(t, `level=WARN msg="retries exhausted" method=A.M attempts=3 code=Unavailable reason=DOWN addr=mem://a`,
			`level=WARN msg="retry budget exhausted" method=A.M code=Unavailable reason=DOWN addr=mem://a`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		lines := p.read()
		if text := strings.Join(lines, "\n"); len(lines) != 2 || !strings.Contains(text, `msg="retries exhausted: more calls" times=99`) || !strings.Contains(text, `msg="retry budget exhausted: more calls" times=99`) {
			t.Error(text)
		}
	})
}

// The share of the calls that are hedged is told when it is high.
func TestHedges(t *testing.T) {
	p := newPaper()
	p.Hedges([]journal.Method{{Name: "A.M", Calls: 1000, Hedges: 50}, {Name: "A.Few", Calls: 10, Hedges: 9}})
	p.want(t)
	p.Hedges([]journal.Method{{Name: "A.M", Calls: 2000, Hedges: 350}})
	p.want(t, `level=WARN msg="many calls are hedged" method=A.M calls=1000 hedges=300 in=1m0s`)
	p.Hedges([]journal.Method{{Name: "A.M", Calls: 3000, Hedges: 400}})
	p.want(t)
}

func TestDue(t *testing.T) {
	j := journal.New(slog.New(slog.DiscardHandler))
	due, hedges := 0, 0
	for now := time.Duration(0); now < 10*time.Minute; now += 250 * time.Millisecond {
		if j.Due(now) {
			due++
		}
		if j.HedgesDue(now) {
			hedges++
		}
	}
	if due != 599 || hedges != 9 {
		t.Errorf("%d and %d looks in ten minutes", due, hedges)
	}
}

// When much happens to many servers some are told of, and the others are counted: news and trouble apart.
func TestServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaper()
		for range 100 {
			p.Server(slog.LevelInfo, "server found", "addr", "tcp://a")
		}
		if lines := p.read(); len(lines) != 10 || lines[0] != `level=INFO msg="server found" addr=tcp://a` {
			t.Errorf("%d lines: %q", len(lines), lines)
		}
		p.Server(slog.LevelWarn, "server lost", "addr", "tcp://a")
		p.Server(slog.LevelDebug, "is not logged")
		p.want(t, `level=WARN msg="server lost" addr=tcp://a`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.want(t, `level=INFO msg="more news of servers" times=90`)
		p.Server(slog.LevelInfo, "server found", "addr", "tcp://b")
		p.want(t, `level=INFO msg="server found" addr=tcp://b`)
	})
}
