package load

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// plot is lines over a number, drawn as SVG. Its colours come from the style of the page.
type plot struct {
	title  string
	x      []tick
	xLabel string
	y      func(float64) string // writes a value
	lines  []line
	logY   bool
}

// tick is a mark of the horizontal axis.
type tick struct {
	at   float64
	text string
}

// line is one line of a plot.
type line struct {
	name   string
	class  string
	points [][2]float64
}

// The measures of a plot.
const (
	plotWidth, plotHeight = 720.0, 300.0
	plotLeft, plotRight   = 64.0, 110.0
	plotTop, plotBottom   = 34.0, 44.0
)

// svg draws the plot.
func (p *plot) svg() template.HTML {
	minX, maxX, minY, maxY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range p.lines {
		for _, at := range l.points {
			minX, maxX, minY, maxY = min(minX, at[0]), max(maxX, at[0]), min(minY, at[1]), max(maxY, at[1])
		}
	}
	for _, t := range p.x {
		minX, maxX = min(minX, t.at), max(maxX, t.at)
	}
	if math.IsInf(minY, 0) {
		minY, maxY = 0.001, 1
	}
	steps := p.steps(minY, maxY)
	minY, maxY = min(minY, steps[0]), max(maxY, steps[len(steps)-1])
	x := func(v float64) float64 {
		return plotLeft + share(v, minX, maxX)*(plotWidth-plotLeft-plotRight)
	}
	y := func(v float64) float64 {
		of := share(v, minY, maxY)
		if p.logY {
			of = share(math.Log(v), math.Log(minY), math.Log(maxY))
		}
		return plotHeight - plotBottom - of*(plotHeight-plotTop-plotBottom)
	}
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	add(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, plotWidth, plotHeight, template.HTMLEscapeString(p.title))
	add(`<text class="title" x="8" y="20">%s</text>`, template.HTMLEscapeString(p.title))
	for _, v := range steps {
		add(`<path class="grid" d="M%s %s H%s"/>`, number(plotLeft), number(y(v)), number(plotWidth-plotRight))
		add(`<text x="%s" y="%s" text-anchor="end">%s</text>`, number(plotLeft-6), number(y(v)+4), template.HTMLEscapeString(p.y(v)))
	}
	for _, t := range p.x {
		add(`<path class="grid" d="M%s %s V%s"/>`, number(x(t.at)), number(plotTop), number(plotHeight-plotBottom+4))
		add(`<text x="%s" y="%s" text-anchor="middle">%s</text>`, number(x(t.at)), number(plotHeight-plotBottom+18), template.HTMLEscapeString(t.text))
	}
	add(`<text x="%s" y="%s" text-anchor="middle">%s</text>`, number((plotLeft+plotWidth-plotRight)/2), number(plotHeight-6), template.HTMLEscapeString(p.xLabel))
	last := math.Inf(-1)
	for _, l := range p.lines {
		if len(l.points) == 0 {
			continue
		}
		var path strings.Builder
		for n, at := range l.points {
			command := "L"
			if n == 0 {
				command = "M"
			}
			path.WriteString(command + number(x(at[0])) + " " + number(y(at[1])))
		}
		end := l.points[len(l.points)-1]
		name := y(end[1]) + 4
		if math.Abs(name-last) < 14 {
			name = last - 14
		}
		last = name
		add(`<g class="%s"><path class="line" d="%s"/><text class="name" x="%s" y="%s">%s</text></g>`, l.class, path.String(),
			number(x(end[0])+6), number(name), template.HTMLEscapeString(l.name))
	}
	add(`</svg>`)
	return template.HTML(b.String()) // all texts in it are escaped
}

// share is where a value is between two others, from 0 to 1.
func share(v, low, high float64) float64 {
	if high <= low {
		return 0.5
	}
	return (v - low) / (high - low)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// steps are the marks of the vertical axis: powers of ten and their halves, or a few multiples of a round number
// from 0 on.
func (p *plot) steps(low, high float64) []float64 {
	var all []float64
	if p.logY {
		for power := math.Floor(math.Log10(max(low, 1e-9))); ; power++ {
			for _, of := range []float64{1, 2, 5} {
				v := of * math.Pow(10, power)
				if v <= low {
					all = all[:0]
				}
				if all = append(all, v); v >= high {
					return all
				}
			}
		}
	}
	unit := math.Pow(10, math.Floor(math.Log10(max(high, 1e-9))))
	for _, of := range []float64{2, 1, 0.5, 0.2} {
		if high/(unit*of) >= 4 || of == 0.2 {
			unit *= of
			break
		}
	}
	for v := 0.0; ; v += unit {
		if all = append(all, v); v >= high {
			return all
		}
	}
}
