package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// lines is a plot of some series with names that have to be escaped.
func lines(x, y Scale, count int) Lines {
	l := Lines{
		ID: "plot", Title: "<b>a & \"b\"</b>", Desc: "d < e", XLabel: "x & y", X: x, Y: y,
		XText: Short, YText: Duration,
	}
	for i := range count {
		s := Series{Name: fmt.Sprintf("peer <%d>", i), Look: Look{Hue: i % Hues, Dash: i % 3, Marker: i, Strong: i == 0, Class: `p"<`}}
		for _, callers := range []float64{1, 100, 1000, 5000}[:1+i%4] {
			y, at := callers*float64(10+i), callers
			if x == Percentile {
				at = 100 - 100/(1+callers)
			}
			s.Points = append(s.Points, Point{at, y, y / 2, y * 2})
		}
		l.Series = append(l.Series, s)
	}
	return l
}

func bars(count int) Bars {
	b := Bars{ID: "bars", Title: "a & b", Desc: "<d>", Parts: []string{"client", "server"}, Text: Short}
	for i := range count {
		v := float64(i)
		b.Bars = append(b.Bars, Bar{Name: "<peer>", Look: Look{Hue: i % Hues, Marker: i}, Parts: []float64{v, 2 * v}, Low: v, High: 4 * v, Small: "2 ×"})
	}
	return b
}

// wellFormed parses an SVG and checks that no coordinate is missing.
func wellFormed(t *testing.T, name, svg string) {
	t.Helper()
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("%s has a coordinate that is no number", name)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	var titled, described bool
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s is not well-formed: %v", name, err)
			return
		}
		if start, ok := token.(xml.StartElement); ok {
			titled, described = titled || start.Name.Local == "title", described || start.Name.Local == "desc"
		}
	}
	if !titled || !described {
		t.Errorf("%s has no title or no description", name)
	}
}

func TestPlotsAreWellFormed(t *testing.T) {
	for _, alone := range []bool{false, true} {
		for _, count := range []int{0, 1, 7, 25} {
			for _, x := range []Scale{Log, Percentile, Linear} {
				for _, y := range []Scale{Linear, Log} {
					wellFormed(t, fmt.Sprintf("%d lines, scales %d and %d", count, x, y), lines(x, y, count).SVG(alone))
				}
			}
			wellFormed(t, fmt.Sprintf("%d bars", count), bars(count).SVG(alone))
		}
	}
}

// TestOnlyAFileCarriesItsStyle: a page has the style sheet once.
func TestOnlyAFileCarriesItsStyle(t *testing.T) {
	for _, alone := range []bool{false, true} {
		for name, svg := range map[string]string{"lines": lines(Log, Log, 3).SVG(alone), "bars": bars(3).SVG(alone)} {
			if strings.Contains(svg, "<style>") != alone || strings.Contains(svg, "xmlns=") != alone {
				t.Errorf("%s, alone %v: style sheet or namespace is wrong", name, alone)
			}
		}
	}
}

// TestNamesAreApart: names at the end of lines do not cover each other, and stay
// within the plot.
func TestNamesAreApart(t *testing.T) {
	tests := []struct {
		name string
		at   []float64
	}{
		{"one", []float64{100}},
		{"all at the same place", []float64{200, 200, 200, 200, 200}},
		{"at the top", []float64{0, 1, 2, 3}},
		{"at the bottom", []float64{lineHeight, lineHeight, lineHeight - 1}},
		{"two heaps that meet", []float64{100, 100, 101, 120, 121, 121}},
	}
	for _, tt := range tests {
		var all []placed
		for _, v := range tt.at {
			all = append(all, placed{name: v})
		}
		spread(all, labelApart)
		for i, p := range all {
			if p.name < 0 || p.name > lineHeight {
				t.Errorf("%s: name %d is at %v", tt.name, i, p.name)
			}
			if i > 0 && p.name-all[i-1].name < labelApart-0.001 {
				t.Errorf("%s: names %d and %d are %v apart", tt.name, i-1, i, p.name-all[i-1].name)
			}
		}
	}
}

func TestAxes(t *testing.T) {
	tests := []struct {
		name        string
		axis        axis
		value, want float64
		ticks       string
	}{
		{"from nothing", newAxis(Linear, 3, 97), 50, 0.5, "[0 20 40 60 80 100]"},
		{"no values", newAxis(Linear, 0, 0), 0, 0, "[0 1]"},
		{"tenfold steps", newAxis(Log, 10, 1000), 100, 0.5, "[10 20 50 100 200 500 1000]"},
		{"many tenfold steps", newAxis(Log, 1, 1e6), 1000, 0.5, "[1 10 100 1000 10000 100000 1e+06]"},
		{"one value", newAxis(Log, 7, 7), 5, 0, "[5 10]"},
		{"percentiles", newAxis(Percentile, 0, 99.99), 99, 0.5, "[0 50 90 99 99.9 99.99]"},
	}
	for _, tt := range tests {
		var ticks []string
		for _, v := range tt.axis.ticks {
			ticks = append(ticks, strconv.FormatFloat(v, 'g', 6, 64))
		}
		if got := "[" + strings.Join(ticks, " ") + "]"; got != tt.ticks {
			t.Errorf("%s: ticks %s, want %s", tt.name, got, tt.ticks)
		}
		if got := tt.axis.share(tt.value); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: %v lies at %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestTextsOfAxes(t *testing.T) {
	tests := []struct{ got, want string }{
		{Short(0), "0"}, {Short(500), "500"}, {Short(1500), "1.5k"}, {Short(2e6), "2M"},
		{Duration(0), "0"}, {Duration(0.5), "0.5 µs"}, {Duration(20000), "20 ms"}, {Duration(5e6), "5 s"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
