package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/weftrpc/weft/bench/internal/hist"
	"github.com/weftrpc/weft/bench/internal/msg"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

// The parent sends a child one line with a task, then lines with an order each;
// the child answers with lines of events. The end of the child's standard input
// means that it is no longer wanted, so children die with their parent.

// Task is what a child is to do.
type Task struct {
	Peer     string        `json:"peer"`
	Codec    msg.Codec     `json:"codec"`
	Workload Workload      `json:"workload"`
	Callers  int           `json:"callers"`
	Conns    int           `json:"conns"`
	Warmup   time.Duration `json:"warmup"`
	Measure  time.Duration `json:"measure"`
	Calls    int64         `json:"calls"`          // measure this many calls instead of a time; 0 means a time
	Addr     string        `json:"addr,omitempty"` // where the client finds the server
}

// dialTime bounds how long a client may take to open its connections.
const dialTime = 60 * time.Second

// lifetime is after what time a child that nobody ended ends itself.
func (t Task) lifetime() time.Duration {
	return dialTime + warmupLimit*t.Warmup + t.bound() + 2*drainTime
}

// bound is the longest that the measured phase may take. A number of calls is
// bounded as well, so that a peer that hangs does not hang the comparison.
func (t Task) bound() time.Duration {
	if t.Calls > 0 {
		return max(t.Measure, 2*time.Minute)
	}
	return t.Measure
}

type order struct {
	Order string `json:"order"`
}

// The orders.
const (
	orderUsage = "usage" // to the server: report what you have used
	orderGo    = "go"    // to the client: begin the measured phase
)

type event struct {
	Event  string          `json:"event"`
	Addr   string          `json:"addr,omitempty"`
	Usage  *procstat.Usage `json:"usage,omitempty"`
	Result *Result         `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// The events.
const (
	eventReady  = "ready"  // the server listens on Addr
	eventUsage  = "usage"  // the server's Usage so far
	eventWarm   = "warm"   // the client is warm, connected and idle
	eventResult = "result" // the client's Result
	eventFailed = "failed" // the child cannot go on, because of Error
)

// Result is what the client child measured.
type Result struct {
	Conns      int              `json:"conns"`
	Window     time.Duration    `json:"window"`   // the measured time
	InWindow   int64            `json:"inWindow"` // main calls that ended well within the window
	Main       hist.Summary     `json:"main"`
	Side       hist.Summary     `json:"side"`
	Failures   int64            `json:"failures"`
	FirstError string           `json:"firstError"`
	Warmup     time.Duration    `json:"warmup"`
	Usage      procstat.Usage   `json:"usage"` // of the client, over all calls
	Machine    procstat.Machine `json:"machine"`
	GOMAXPROCS int              `json:"gomaxprocs"`
}

// lines is one end of the protocol. Each direction belongs to one goroutine.
type lines struct {
	in  *bufio.Reader
	out *json.Encoder
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReader(in), out: json.NewEncoder(out)}
}

func (l *lines) send(v any) error { return l.out.Encode(v) }

// receive reads one line into v. It returns io.EOF when the other end is gone.
func (l *lines) receive(v any) error {
	line, err := l.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("read the line %.200q: %w", line, err)
	}
	return nil
}
