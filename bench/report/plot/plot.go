// Package plot draws the plots of the report as SVG: lines over the number of
// callers, curves over percentiles, and bars. It uses no script and nothing from
// outside; colours come from the classes of [Style], light or dark as the reader
// has it, and every series differs by marker and dash as well.
package plot

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Style is the style sheet that the plots need. A page has it once; a plot of
// its own carries it.
//
//go:embed plot.css
var Style string

// Look is what makes a series look different from others.
type Look struct {
	Hue    int // 0 to Hues-1: the framework
	Dash   int // 0 to 2: solid, dashed, dotted
	Marker int // 0 to Markers-1
	Strong bool
	Faint  bool
	Class  string // a further class for the page, or ""
}

// How many hues and markers there are.
const (
	Hues    = 11
	Markers = 8
)

// Point of a series. Low and High are the whisker; both 0 for none.
type Point struct{ X, Y, Low, High float64 }

// Series is one line, with its points in order of X.
type Series struct {
	Name string
	Look
	Points []Point
}

// text escapes what stands between tags or in an attribute.
func text(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// at is a coordinate, to a tenth.
func at(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// canvas collects the elements of one plot.
type canvas struct {
	strings.Builder
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.Builder, format+"\n", args...) }

// document is the whole SVG: with a title and a description for screen readers,
// and with the style sheet if it is to stand alone.
func document(id, title, desc string, width, height float64, body string, alone bool) string {
	var b strings.Builder
	namespace := "" // a page has no need of it
	if alone {
		namespace = `xmlns="http://www.w3.org/2000/svg" `
	}
	fmt.Fprintf(&b, `<svg %sclass="plot" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d">`+"\n",
		namespace, at(width), at(height), id, id)
	fmt.Fprintf(&b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`+"\n", id, text(title), id, text(desc))
	if alone {
		fmt.Fprintf(&b, "<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n", text(Style))
	}
	b.WriteString(body)
	b.WriteString("</svg>\n")
	return b.String()
}

// classes of the elements of a series.
func (l Look) classes() string {
	s := fmt.Sprintf("s h%d d%d", l.Hue, l.Dash)
	if l.Strong {
		s += " strong"
	}
	if l.Faint {
		s += " faint"
	}
	if l.Class != "" {
		s += " " + text(l.Class)
	}
	return s
}

// marker is a shape around a point.
func (l Look) marker(x, y float64) string {
	r := 3.4
	if l.Strong {
		r = 4.6
	}
	p := func(dx, dy float64) string { return at(x+dx*r) + "," + at(y+dy*r) }
	switch l.Marker % Markers {
	case 0:
		return fmt.Sprintf(`<circle class="m" cx="%s" cy="%s" r="%s"/>`, at(x), at(y), at(r))
	case 1:
		return fmt.Sprintf(`<path class="m" d="M%s L%s L%s L%s Z"/>`, p(-.9, -.9), p(.9, -.9), p(.9, .9), p(-.9, .9))
	case 2:
		return fmt.Sprintf(`<path class="m" d="M%s L%s L%s Z"/>`, p(0, -1.2), p(1.1, .9), p(-1.1, .9))
	case 3:
		return fmt.Sprintf(`<path class="m" d="M%s L%s L%s L%s Z"/>`, p(0, -1.3), p(1.3, 0), p(0, 1.3), p(-1.3, 0))
	case 4:
		return fmt.Sprintf(`<path class="m" d="M%s L%s L%s Z"/>`, p(0, 1.2), p(1.1, -.9), p(-1.1, -.9))
	case 5:
		return fmt.Sprintf(`<path class="x" d="M%s L%s M%s L%s"/>`, p(-1, -1), p(1, 1), p(-1, 1), p(1, -1))
	case 6:
		return fmt.Sprintf(`<path class="x" d="M%s L%s M%s L%s"/>`, p(-1.2, 0), p(1.2, 0), p(0, -1.2), p(0, 1.2))
	default:
		return fmt.Sprintf(`<circle class="o" cx="%s" cy="%s" r="%s"/>`, at(x), at(y), at(r))
	}
}

// Short writes a figure for an axis: 1500 is 1.5k.
func Short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1e6:
		return trimmed(v/1e6) + "M"
	case v >= 1e3:
		return trimmed(v/1e3) + "k"
	}
	return trimmed(v)
}

func trimmed(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// Duration writes microseconds for an axis: 1500 is 1.5 ms.
func Duration(us float64) string {
	switch {
	case us == 0:
		return "0"
	case us >= 1e6:
		return trimmed(us/1e6) + " s"
	case us >= 1e3:
		return trimmed(us/1e3) + " ms"
	}
	return trimmed(us) + " µs"
}
