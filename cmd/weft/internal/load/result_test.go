package load

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// measured is a summary of calls that take 1 to 1000 ms times slow from when they were due, one of them failed,
// and one of the warm-up.
func measured(slow float64) *summary {
	r := newResult("Arith.Mul", "tcp://127.0.0.1:1", &options{rate: 100, duration: 10 * time.Second})
	r.begin(time.Second)
	from := r.from
	r.add(from.Add(-time.Millisecond), from, from.Add(time.Hour), nil)
	for n := 1; n <= 1000; n++ {
		due := from.Add(time.Duration(n) * 9 * time.Millisecond)
		var err error
		if n == 1000 {
			err = weft.Unavailable
		}
		took := time.Duration(n*7919%1000+1) * time.Millisecond // in no order
		r.add(due, due.Add(time.Duration(n)*time.Microsecond), due.Add(time.Duration(slow*float64(took))), err)
	}
	return r.summary()
}

func TestSummary(t *testing.T) {
	s := measured(1)
	if s.Calls != 1000 || s.Failed != 1 || s.Codes["Unavailable"] != 1 || s.Longest != 1 || s.Lateness != 0.001 || math.Abs(s.Rate-100) > 10 {
		t.Errorf("the summary is %+v", s)
	}
	for _, q := range []struct{ got, want float64 }{{s.P50, 0.5}, {s.P90, 0.9}, {s.P99, 0.99}, {s.Mean, 0.5005}} {
		if q.got < q.want || q.got > 1.016*q.want {
			t.Errorf("a quantile is %g, want %g or at most 1.6 %% more", q.got, q.want)
		}
	}
	calls, failed := uint64(0), uint64(0)
	for _, i := range s.Intervals {
		calls, failed = calls+i.Calls, failed+i.Failed
	}
	if len(s.Intervals) != intervals || calls != 1000 || failed != 1 {
		t.Errorf("%d intervals have %d calls, %d failed", len(s.Intervals), calls, failed)
	}
}

// TestCompare compares with a run that is alike, and with one that was twice as fast.
func TestCompare(t *testing.T) {
	for _, test := range []struct {
		before  float64
		verdict string
		ratio   float64
		slower  bool
	}{{1, same, 1, false}, {0.5, worse, 2, true}, {2, better, 0.5, false}} {
		c := compare("old.json", measured(test.before), measured(1))
		for _, m := range c.Metrics[1:5] {
			if m.Verdict != test.verdict || math.Abs(m.Ratio/test.ratio-1) > 0.04 || m.Noise <= 0 || m.Noise > 0.3 {
				t.Errorf("against %v times: %+v, want %s and the ratio %v", test.before, m, test.verdict, test.ratio)
			}
		}
		if worst, name := c.slower(); worst > 1.1 != test.slower || test.slower != (name != "") {
			t.Errorf("against %v times it is %v times slower at %q", test.before, worst, name)
		}
	}
	few := measured(1)
	few.Intervals = few.Intervals[:3]
	if m := compare("old.json", few, measured(1)).Metrics[2]; m.Verdict != unknown || m.noise() != "-" {
		t.Errorf("with three intervals: %+v", m)
	}
	other := measured(1)
	other.Method, other.Failed = "Arith.Add", 0
	var b strings.Builder
	compare("old.json", other, measured(1)).text(&b)
	for _, want := range []string{"RATIO", "no difference", "the methods differ: Arith.Add before, Arith.Mul now", "calls failed: 0 of 1000 before, 1 of 1000 now"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, b.String())
		}
	}
}

// TestPage writes a page that needs nothing from elsewhere.
func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	s := measured(1)
	s.Method = "<Arith>.Mul"
	s.Comparison = compare("old.json", measured(0.5), s)
	if err := s.writePage(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, want := range []string{"&lt;Arith&gt;.Mul", "<svg", "99.9 %", "Unavailable", "old.json", "Times by share of the calls", "prefers-color-scheme"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, wrong := range []string{"<Arith>", "http://", "https://", "<script", "NaN", "Inf", "ZgotmplZ"} {
		if strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	if strings.Count(page, "<svg") != 3 {
		t.Errorf("the page has %d plots, want 3", strings.Count(page, "<svg"))
	}
	empty := newResult("Arith.Mul", "", &options{duration: time.Second}).summary()
	if err := empty.writePage(filepath.Join(t.TempDir(), "empty.html")); err != nil {
		t.Error(err)
	}
	if err := s.writePage(filepath.Join(path, "below")); err == nil {
		t.Error("a page is written into no folder")
	}
}

// TestEmptyPage writes the page of a measurement without calls, whose method has a name that is markup.
func TestEmptyPage(t *testing.T) {
	r := newResult("Shop.<script>alert(1)</script>", "tcp://127.0.0.1:1", &options{rate: 100, duration: time.Second})
	r.begin(0)
	r.end()
	s := r.summary()
	s.Comparison = compare(`<img src=x onerror=alert(1)>`, measured(1), s)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := s.writePage(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, unwanted := range []string{"<script", "<img", "NaN", "Inf"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the page has %q:\n%s", unwanted, text)
		}
	}
	for _, want := range []string{"Shop.&lt;script&gt;", "no call has ended", `<th scope="row">mean</th>`, `<th scope="col">verdict</th>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
