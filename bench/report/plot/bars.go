package plot

import "fmt"

// Bars is a plot of one bar for each of some names, from the left.
type Bars struct {
	ID, Title, Desc string
	Parts           []string             // what the parts of a bar are, at most two
	Text            func(float64) string // writes a value
	Bars            []Bar
}

// Bar is one line of the plot.
type Bar struct {
	Name string
	Look
	Parts     []float64 // as many as the plot has
	Low, High float64   // the whisker around their sum; both 0 for none
	Small     string    // behind the value, such as a ratio
}

// The measures of a plot of bars, in its own units.
const (
	barWidth          = 540.0
	barLeft, barRight = 152.0, 112.0
	barTop, barApart  = 58.0, 23.0
	barHigh           = 14.0
	barWide           = barWidth - barLeft - barRight
	barBottom         = 30.0
)

// SVG draws the plot; one that stands alone carries its style sheet.
func (p Bars) SVG(alone bool) string {
	var c canvas
	most := 0.0
	for _, b := range p.Bars {
		most = max(most, b.sum(), b.High)
	}
	x := newAxis(Linear, 0, most)
	// The last step of the axis may be mostly empty: end where the bars end.
	x.top = max(most*1.01, 1e-9)
	px := func(v float64) float64 { return barLeft + x.share(v)*barWide }
	height := barTop + barApart*float64(len(p.Bars)) + barBottom
	c.add(`<text class="title" x="8" y="20">%s</text>`, text(p.Title))
	p.legend(&c)
	for _, v := range x.ticks {
		if v <= x.top {
			c.add(`<path class="grid" d="M%s %s V%s"/>`, at(px(v)), at(barTop-6), at(height-barBottom+2))
			c.add(`<text class="tick" x="%s" y="%s" text-anchor="middle">%s</text>`, at(px(v)), at(height-barBottom+17), Short(v))
		}
	}
	for i, b := range p.Bars {
		p.draw(&c, b, barTop+float64(i)*barApart, px)
	}
	c.add(`<path class="axis" d="M%s %s V%s"/>`, at(barLeft), at(barTop-6), at(height-barBottom+2))
	return document(p.ID, p.Title, p.Desc, barWidth, height, c.String(), alone)
}

func (b Bar) sum() float64 {
	total := 0.0
	for _, v := range b.Parts {
		total += v
	}
	return total
}

// legend explains the two tones of a bar.
func (p Bars) legend(c *canvas) {
	if len(p.Parts) < 2 {
		return
	}
	x := barLeft
	for i, name := range p.Parts {
		c.add(`<g class="s h10"><rect class="%s" x="%s" y="33" width="11" height="11" rx="2"/></g>`, tone(i), at(x))
		c.add(`<text class="tick" x="%s" y="43">%s</text>`, at(x+16), text(name))
		x += 30 + 7*float64(len(name))
	}
}

func tone(part int) string {
	if part == 0 {
		return "bar"
	}
	return "bar2"
}

func (p Bars) draw(c *canvas, b Bar, y float64, px func(float64) float64) {
	middle := y + barHigh/2
	c.add(`<g class="%s">`, b.classes())
	c.add(`<text class="name" x="%s" y="%s" text-anchor="end">%s</text>`, at(barLeft-9), at(middle+4), text(b.Name))
	from := 0.0
	for i, v := range b.Parts {
		c.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, tone(i), at(px(from)), at(y), at(max(px(from+v)-px(from), 0.5)), at(barHigh))
		from += v
	}
	end := px(from)
	if b.High > b.Low {
		end = max(end, px(b.High))
		c.add(`<path class="range" d="M%s %s H%s M%s %s v8 M%s %s v8"/>`,
			at(px(b.Low)), at(middle), at(px(b.High)), at(px(b.Low)), at(middle-4), at(px(b.High)), at(middle-4))
	}
	value := fmt.Sprintf(`<tspan class="value">%s</tspan>`, text(p.Text(from)))
	if b.Small != "" {
		value += fmt.Sprintf(`<tspan class="small" dx="6">%s</tspan>`, text(b.Small))
	}
	c.add(`<text x="%s" y="%s">%s</text>`, at(end+7), at(middle+4), value)
	c.add(`</g>`)
}
