package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/plot"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/recordstest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func written(t *testing.T, c *comparison.Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// small is a run of a peer, of which nothing is known but its rate.
func small(peer string, rate float64) runner.Record {
	return runner.Record{
		Workload: contract.Echo, Peer: peer, Codec: "google", Callers: 100, Servers: 1, Clients: 1,
		Network: runner.Loopback, Round: 1, Calls: 1000, CallsPerSec: rate, Seconds: 3,
	}
}

func of(runs ...runner.Record) *comparison.Comparison {
	return comparison.New(&records.File{Runs: runs})
}

// TestPage looks at the page of a full comparison.
func TestPage(t *testing.T) {
	html := written(t, comparison.New(recordstest.File()))
	t.Run("stands alone", func(t *testing.T) { standsAlone(t, html) })
	t.Run("references", func(t *testing.T) { references(t, html) })
	t.Run("closed", func(t *testing.T) { closed(t, html) })
}

// standsAlone: nothing is loaded from anywhere, and no link leaves the page.
func standsAlone(t *testing.T, html string) {
	if i := strings.Index(html, "://"); i >= 0 {
		t.Errorf("a URL: %q", html[max(i-60, 0):i+40])
	}
	for _, m := range regexp.MustCompile(`(?:\s(?:href|src)=|url\()["']?([^"'\s>)]*)`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("the page refers to %q", m[1])
		}
	}
	for _, want := range []string{"@media print", "prefers-color-scheme: dark", `name="viewport"`, `lang="en"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// references: every link and every label leads to one element.
func references(t *testing.T, html string) {
	seen := make(map[string]bool)
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			t.Errorf("the page has the id %q twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:href="#|aria-labelledby=")([^"]+)"`).FindAllStringSubmatch(html, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !seen[id] {
				t.Errorf("there is no element %q", id)
			}
		}
	}
	if tables, captions := strings.Count(html, "<table"), strings.Count(html, "<caption"); tables != captions || tables < 30 {
		t.Errorf("%d tables and %d captions", tables, captions)
	}
}

// closed: what is opened is closed, in order.
func closed(t *testing.T, html string) {
	void := []string{"meta", "input", "br", "hr", "link", "img"}
	decoder := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>|<!DOCTYPE html>`).ReplaceAllString(html, "")))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, void, xml.HTMLEntity
	var open []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %v: %v", open, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
		case xml.EndElement:
			if open[len(open)-1] != e.Name.Local {
				t.Fatalf("%v ends with %s", open, e.Name.Local)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
}

// TestNamesAreEscaped: a peer from outside may call itself anything.
func TestNamesAreEscaped(t *testing.T) {
	const evil = `<img src=x onerror="alert(1)">`
	stranger := small(evil, 5)
	stranger.Version, stranger.Settings, stranger.CPU = evil, evil, evil
	failed := small(evil, 0)
	failed.Calls, failed.FirstError = 0, evil
	c := of(small("weft", 10), stranger, failed)
	html := written(t, c)
	if strings.Contains(html, "<img") || strings.Contains(html, "{<") {
		t.Error("a name has become an element")
	}
	if !strings.Contains(html, "&lt;img src=x") {
		t.Error("the name is not shown at all")
	}
	for _, p := range Plots(c) {
		if strings.Contains(p.SVG(), "<img") {
			t.Errorf("%s: a name has become an element", p.Name)
		}
	}
	if class := peerClass(evil); !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(class) {
		t.Errorf("class %q", class)
	}
}

func TestPicture(t *testing.T) {
	svg := Picture(comparison.New(recordstest.File())).SVG()
	for _, want := range []string{"<style>", "1,000 callers", ">weft<", ">grpc-go<", ">floor<", " µs<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	if none := Picture(comparison.New(&records.File{})).SVG(); !strings.HasPrefix(none, "<svg ") {
		t.Errorf("the picture of no records begins with %.40q", none)
	}
}

func TestPlotsAreFiles(t *testing.T) {
	plots := Plots(comparison.New(recordstest.File()))
	var names []string
	for _, p := range plots {
		names = append(names, p.Name)
		decoder := xml.NewDecoder(strings.NewReader(p.SVG()))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is not well-formed: %v", p.Name, err)
			}
		}
	}
	for _, want := range []string{"throughput", "mean", "p50", "p99", "p999", "max", "cpu-1000", "memory-1000", "latency-1000"} {
		for _, view := range []string{"same", "best"} {
			if !slices.Contains(names, want+"-"+view) {
				t.Errorf("there is no plot %s-%s", want, view)
			}
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(plots) {
		t.Errorf("two plots have the same name: %v", names)
	}
}

// TestNoNumberIsMissing: what was not measured is not shown as a number.
func TestNoNumberIsMissing(t *testing.T) {
	c := of(small("weft", 10), small("drpc", 5))
	body, _, _ := strings.Cut(written(t, c), "<script>")
	if found := regexp.MustCompile(`.{0,60}(NaN|[+-]Inf).{0,20}`).FindString(body); found != "" {
		t.Errorf("the page shows what is no number: %q", found)
	}
}

// TestLittleData: a page can be made of anything that was measured.
func TestLittleData(t *testing.T) {
	failed := small("weft", 0)
	failed.Calls, failed.FirstError = 0, "gone"
	tests := []struct {
		name string
		file records.File
		want string
	}{
		{"one run", records.File{Runs: records.Runs{small("weft", 10)}}, "compare weft with no other peer"},
		{"no weft", records.File{Runs: records.Runs{small("drpc", 10)}}, "compare weft with no other peer"},
		{"nothing succeeded", records.File{Runs: records.Runs{failed}}, "gone"},
		{"codecs only", records.File{Codecs: []records.Codec{{Codec: "gob", Operation: "encode", NsPerOp: 5}}}, "gob"},
	}
	for _, tt := range tests {
		if html := written(t, comparison.New(&tt.file)); !strings.Contains(html, tt.want) {
			t.Errorf("%s: the page does not say %q", tt.name, tt.want)
		}
	}
}

// TestLooks: no two peers of a plot look the same.
func TestLooks(t *testing.T) {
	seen := make(map[plot.Look]string)
	for peer, look := range looks(comparison.New(recordstest.File())) {
		look.Class = ""
		if other, twice := seen[look]; twice {
			t.Errorf("%s and %s look the same: %+v", peer, other, look)
		}
		seen[look] = peer
	}
}

func TestArticles(t *testing.T) {
	all, err := Articles()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range all {
		if a.Year < 2000 || a.Hardware == "" || a.Setup == "" || (len(a.Rows) == 0) == (len(a.Words) == 0) {
			t.Errorf("%q: want a year, hardware, setup, and either rows or words", a.Title)
		}
		if caption := a.Table(i).Caption; !strings.Contains(caption, a.Hardware) {
			t.Errorf("%q does not tell the hardware", caption)
		}
	}
}
