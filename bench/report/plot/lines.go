package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Lines is a plot of series over a number.
type Lines struct {
	ID     string // unique on a page, and a file name
	Title  string
	Desc   string // what is shown, for screen readers
	XLabel string
	X, Y   Scale
	Ticks  []float64            // along X; nil for those of the scale
	XText  func(float64) string // writes a value at X
	YText  func(float64) string
	Series []Series
}

// The measures of a plot of lines, in its own units.
const (
	lineWidth, lineHeight = 540.0, 340.0
	lineLeft, lineRight   = 54.0, 150.0
	lineTop, lineBottom   = 40.0, 44.0
	lineHigh              = lineHeight - lineTop - lineBottom
	lineWide              = lineWidth - lineLeft - lineRight
	labelApart            = 13.5 // between the names at the end of lines
)

// SVG draws the plot; one that stands alone carries its style sheet.
func (l Lines) SVG(alone bool) string {
	var c canvas
	x, y := l.axes()
	px := func(v float64) float64 { return lineLeft + x.share(v)*lineWide }
	py := func(v float64) float64 { return lineTop + (1-y.share(v))*lineHigh }
	c.add(`<text class="title" x="8" y="20">%s</text>`, text(l.Title))
	for _, v := range y.ticks {
		c.add(`<path class="grid" d="M%s %s H%s"/>`, at(lineLeft), at(py(v)), at(lineLeft+lineWide))
		c.add(`<text class="tick" x="%s" y="%s" text-anchor="end">%s</text>`, at(lineLeft-7), at(py(v)+4), text(l.YText(v)))
	}
	for _, v := range x.ticks {
		c.add(`<path class="grid" d="M%s %s V%s"/>`, at(px(v)), at(lineTop), at(lineTop+lineHigh+4))
		c.add(`<text class="tick" x="%s" y="%s" text-anchor="middle">%s</text>`, at(px(v)), at(lineTop+lineHigh+17), text(l.XText(v)))
	}
	c.add(`<path class="axis" d="M%s %s H%s"/>`, at(lineLeft), at(lineTop+lineHigh), at(lineLeft+lineWide))
	c.add(`<text x="%s" y="%s" text-anchor="middle">%s</text>`, at(lineLeft+lineWide/2), at(lineHeight-8), text(l.XLabel))
	for _, s := range l.order() {
		l.draw(&c, s, px, py)
	}
	return document(l.ID, l.Title, l.Desc, lineWidth, lineHeight, c.String(), alone)
}

// axes span all points and whiskers.
func (l Lines) axes() (x, y axis) {
	var xs, ys []float64
	for _, s := range l.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.High > 0 {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	if len(xs) == 0 {
		xs, ys = []float64{1}, []float64{1}
	}
	x = newAxis(l.X, slices.Min(xs), slices.Max(xs))
	if l.X == Log {
		x.low, x.top = slices.Min(xs), slices.Max(xs)
	}
	if l.Ticks != nil {
		x.ticks = l.Ticks
	}
	return x, newAxis(l.Y, slices.Min(ys), slices.Max(ys))
}

// placed is a series with the height of its name.
type placed struct {
	Series
	name  float64
	early bool // whether the line ends so early that its name stands beside it
}

// endsEarly is the share of the width before which a line ends early.
const endsEarly = 0.75

// order is the series as they are drawn, the strong ones last and so on top.
// Their names stand to the right of the plot, moved apart.
func (l Lines) order() []placed {
	x, y := l.axes()
	var all []placed
	var early []placed
	for _, s := range l.Series {
		if len(s.Points) == 0 {
			continue
		}
		last := s.Points[len(s.Points)-1]
		p := placed{s, lineTop + (1-y.share(last.Y))*lineHigh, l.X != Percentile && x.share(last.X) < endsEarly}
		if p.early {
			early = append(early, p)
		} else {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.name, b.name) })
	apart := min(labelApart, (lineHigh+30)/math.Max(float64(len(all)), 1))
	spread(all, apart)
	all = append(all, early...)
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

func rank(s placed) int {
	switch {
	case s.Strong:
		return 2
	case s.Faint:
		return 0
	}
	return 1
}

// spread moves names that are nearer than apart: neighbours that touch become a
// block whose middle is the mean of where its members want to be, within the plot.
func spread(all []placed, apart float64) {
	type block struct {
		first, count int
		middle       float64
	}
	const low, high = lineTop - 6, lineTop + lineHigh + 24
	top := func(b block) float64 {
		length := float64(b.count-1) * apart
		return min(max(b.middle-length/2, low), high-length)
	}
	var blocks []block
	for i, p := range all {
		b := block{i, 1, p.name}
		for len(blocks) > 0 {
			above := blocks[len(blocks)-1]
			if top(above)+float64(above.count)*apart <= top(b) {
				break
			}
			count := above.count + b.count
			b = block{above.first, count, (above.middle*float64(above.count) + b.middle*float64(b.count)) / float64(count)}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		for i := range b.count {
			all[b.first+i].name = top(b) + float64(i)*apart
		}
	}
}

// draw one series: its line, its whiskers and markers, its name.
func (l Lines) draw(c *canvas, s placed, px, py func(float64) float64) {
	c.add(`<g class="%s">`, s.classes())
	var path []string
	for i, p := range s.Points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		path = append(path, command+at(px(p.X))+" "+at(py(p.Y)))
	}
	c.add(`<path class="line" d="%s"/>`, strings.Join(path, " "))
	for _, p := range s.Points {
		if p.High > p.Low {
			c.add(`<path class="whisker" d="M%s %s V%s"/>`, at(px(p.X)), at(py(p.Low)), at(py(p.High)))
		}
		if l.X != Percentile || slices.Contains(named(), p.X) {
			c.add("%s", s.marker(px(p.X), py(p.Y)))
		}
	}
	last := s.Points[len(s.Points)-1]
	endX, endY, nameX := px(last.X), py(last.Y), lineLeft+lineWide+22
	if s.early {
		c.add(`<text class="name beside" x="%s" y="%s">%s</text></g>`, at(endX+9), at(endY+4), text(s.Name))
		return
	}
	c.add(`<path class="leader" d="M%s %s L%s %s"/>`, at(endX+6), at(endY), at(nameX-12), at(s.name))
	c.add("%s", s.marker(nameX-6, s.name))
	c.add(`<text class="name" x="%s" y="%s">%s</text>`, at(nameX+2), at(s.name+4), text(s.Name))
	c.add(`</g>`)
}
