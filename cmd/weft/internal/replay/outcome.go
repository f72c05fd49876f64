package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/histogram"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/plugin/record"
)

// replayed is a replay and what has come of it.
type replayed struct {
	o          *options
	total      int             // calls in the recording
	first      string          // the method of the first call
	recorded   map[string]bool // all methods
	idempotent map[string]bool // nil: it does not matter

	mu      sync.Mutex
	methods map[string]*method
	changes int // calls that are left out, since their methods are not idempotent
	made    int
	differ  int
	out     outcome
}

// method are the calls of one method.
type method struct {
	calls, equal, different int
	before, now             histogram.Histogram
}

// outcome is a replay in JSON.
type outcome struct {
	Recording  string     `json:"recording"`
	Target     string     `json:"target"`
	Calls      int        `json:"calls"`
	Equal      int        `json:"equal"`
	Different  int        `json:"different"`
	LeftOut    int        `json:"left_out"`
	Changing   int        `json:"left_out_not_idempotent,omitempty"`
	Seconds    float64    `json:"seconds"`
	Late       float64    `json:"late_seconds,omitempty"`
	Methods    []figures  `json:"methods"`
	Mismatches []mismatch `json:"mismatches"`
	Damage     []string   `json:"damage,omitempty"`
}

// figures are those of a method.
type figures struct {
	Method    string  `json:"method"`
	Calls     int     `json:"calls"`
	Equal     int     `json:"equal"`
	Different int     `json:"different"`
	BeforeP50 float64 `json:"recorded_p50_seconds"`
	NowP50    float64 `json:"p50_seconds"`
	BeforeP99 float64 `json:"recorded_p99_seconds"`
	NowP99    float64 `json:"p99_seconds"`
}

// mismatch is an answer that differs.
type mismatch struct {
	Method      string       `json:"method"`
	Time        time.Time    `json:"time"` // of the recorded call
	Request     string       `json:"request,omitempty"`
	Recorded    string       `json:"recorded_code"`
	Now         string       `json:"code"`
	Error       string       `json:"error,omitempty"`
	Differences []difference `json:"differences,omitempty"`
}

type difference struct {
	Path     string `json:"path"`
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
}

// choose reports whether a call is made.
func (r *replayed) choose(c *record.Call) bool {
	if r.idempotent == nil || r.idempotent[c.Method] {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	return false
}

// longestRequest is how many bytes of a request are shown.
const longestRequest = 256

// each notes a call that was made.
func (r *replayed) each(result record.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := result.Call
	m := r.methods[c.Method]
	if m == nil {
		m = new(method)
		r.methods[c.Method] = m
	}
	r.made++
	m.calls++
	m.before.Add(c.Took)
	m.now.Add(result.Took)
	if result.Equal {
		m.equal++
		return
	}
	m.different++
	r.differ++
	if len(r.out.Mismatches) >= r.o.show {
		return
	}
	one := mismatch{Method: c.Method, Time: c.Time, Recorded: c.Code.String(), Now: weft.CodeOf(result.Err).String()}
	if result.Err != nil {
		one.Error = result.Err.Error()
	}
	if c.Request.Codec == "json" {
		one.Request = cut(string(c.Request.Body))
	}
	for _, d := range result.Differences {
		one.Differences = append(one.Differences, difference{d.Path, d.Recorded, d.Now})
	}
	r.out.Mismatches = append(r.out.Mismatches, one)
}

func cut(text string) string {
	if len(text) > longestRequest {
		text = strings.ToValidUTF8(text[:longestRequest], "") + "…"
	}
	return text
}

// progress is the line of a replay that goes on.
func (r *replayed) progress() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d of %d calls, %d differ", r.made, r.total, r.differ)
}

// finish fills in the outcome.
func (r *replayed) finish(stats *record.ReplayStats, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &r.out
	o.Calls, o.Equal, o.Different, o.LeftOut, o.Changing = stats.Calls, stats.Equal, stats.Different, stats.Skipped, r.changes
	o.Seconds, o.Late = took.Seconds(), stats.Late.Seconds()
	o.Methods = []figures{}
	if o.Mismatches == nil {
		o.Mismatches = []mismatch{}
	}
	for _, name := range slices.Sorted(maps.Keys(r.methods)) {
		m := r.methods[name]
		o.Methods = append(o.Methods, figures{
			name, m.calls, m.equal, m.different, m.before.Quantile(0.5).Seconds(), m.now.Quantile(0.5).Seconds(), m.before.Quantile(0.99).Seconds(), m.now.Quantile(0.99).Seconds(),
		})
	}
	for _, d := range stats.Damage {
		o.Damage = append(o.Damage, d.Error())
	}
}

// why says why no call was made.
func (r *replayed) why() string {
	switch {
	case r.out.Changing > 0:
		return fmt.Sprintf("the servers describe none of the methods as idempotent: --all makes the calls of all (%s)", strings.Join(slices.Sorted(maps.Keys(r.recorded)), ", "))
	case len(r.o.methods) > 0:
		return "--method leaves all out: the recording has " + strings.Join(slices.Sorted(maps.Keys(r.recorded)), ", ")
	}
	return "the recording has no requests: record without --no-bodies"
}

// write writes the outcome.
func (r *replayed) write(p *shell.Shell) error {
	o := &r.out
	if !p.ForPeople() {
		var names []string
		for _, m := range o.Methods {
			if m.Different > 0 {
				names = append(names, m.Method)
			}
		}
		return p.Write(&shell.Listing{Names: names, Value: o})
	}
	var b strings.Builder
	if len(o.Methods) > 0 {
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "METHOD\tCALLS\tEQUAL\tDIFFERENT\tP50 RECORDED\tNOW\tP99 RECORDED\tNOW")
		for _, m := range o.Methods {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%v\t%v\t%v\t%v\n", m.Method, m.Calls, m.Equal, m.Different, shell.Seconds(m.BeforeP50), shell.Seconds(m.NowP50), shell.Seconds(m.BeforeP99), shell.Seconds(m.NowP99))
		}
		_ = w.Flush() // to memory
		b.WriteString("\n")
	}
	for _, m := range o.Mismatches {
		m.text(&b)
	}
	if more := o.Different - len(o.Mismatches); more > 0 && r.o.show > 0 {
		fmt.Fprintf(&b, "%s differ; --show shows more\n\n", shell.Plural(more, "more answer"))
	}
	for _, text := range o.Damage {
		fmt.Fprintf(&b, "damaged: %s\n", text)
	}
	fmt.Fprintf(&b, "%s in %v: %d equal, %s\n", shell.Plural(o.Calls, "call"), shell.Seconds(o.Seconds).Round(time.Millisecond), o.Equal, p.Paint(colourOf(o.Different), fmt.Sprintf("%d different", o.Different)))
	if o.Changing > 0 {
		fmt.Fprintf(&b, "%s left out, since their methods are not idempotent: --all makes them\n", shell.Plural(o.Changing, "call"))
	}
	if other := o.LeftOut - o.Changing; other > 0 {
		fmt.Fprintf(&b, "%s left out: of other methods, one-way or without a request\n", shell.Plural(other, "call"))
	}
	if o.Late > 0.1 {
		fmt.Fprintf(&b, "calls were made up to %v late: the servers or this machine are slower than the recording\n", shell.Seconds(o.Late).Round(time.Millisecond))
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}

func colourOf(different int) shell.Colour {
	if different > 0 {
		return shell.Red
	}
	return shell.Green
}

// text is the mismatch for people.
func (m *mismatch) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s of %s\n", m.Method, m.Time.UTC().Format("2006-01-02T15:04:05.000Z"))
	if m.Request != "" {
		fmt.Fprintf(b, "  request   %s\n", m.Request)
	}
	if m.Recorded != m.Now {
		fmt.Fprintf(b, "  code      %s was recorded, now %s\n", m.Recorded, m.Now)
		if m.Error != "" {
			fmt.Fprintf(b, "            %s\n", m.Error)
		}
	}
	for _, d := range m.Differences {
		if d.Recorded == "" && d.Now == "" {
			fmt.Fprintf(b, "  the bytes of the reply differ\n")
			continue
		}
		fmt.Fprintf(b, "  %-9s %s was recorded, now %s\n", cmp.Or(d.Path, "reply"), cmp.Or(d.Recorded, "nothing"), cmp.Or(d.Now, "nothing"))
	}
	b.WriteString("\n")
}
