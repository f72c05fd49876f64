package plot

import "math"

// Scale is how values lie along an axis.
type Scale int

// The scales.
const (
	Linear     Scale = iota // from 0
	Log                     // a tenfold step is as long everywhere
	Percentile              // in percent; a tenfold step nearer to 100 is as long everywhere, as in the plots of HdrHistogram
)

// axis maps values to a length along which they lie.
type axis struct {
	scale    Scale
	low, top float64 // the ends, in values
	ticks    []float64
}

// newAxis spans some values.
func newAxis(s Scale, least, most float64) axis {
	switch s {
	case Percentile:
		a := axis{scale: s, top: max(most, 90), ticks: []float64{0}}
		for _, p := range named() {
			if a.top >= p {
				a.ticks = append(a.ticks, p)
			}
		}
		return a
	case Log:
		return logAxis(least, most)
	}
	step := niceStep(most)
	a := axis{scale: s, top: math.Max(math.Ceil(most/step), 1) * step}
	for v := 0.0; v <= a.top*1.0001; v += step {
		a.ticks = append(a.ticks, v)
	}
	return a
}

// named are the percentiles that have a tick of their own.
func named() []float64 { return []float64{50, 90, 99, 99.9, 99.99, 99.999} }

// niceStep cuts a length into four to eight steps of 1, 2 or 5 times a power of
// ten.
func niceStep(most float64) float64 {
	if most <= 0 {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, times := range []float64{1, 2, 5, 10} {
		if most/(step*times) <= 6 {
			return step * times
		}
	}
	return step * 10
}

// logAxis ends at 1, 2 or 5 times a power of ten. It has ticks at all of these,
// or at the powers alone when they are many.
func logAxis(least, most float64) axis {
	least, most = max(least, 1e-3), max(most, 1e-3)
	var all []float64
	for power := math.Floor(math.Log10(least)); power <= math.Ceil(math.Log10(most)); power++ {
		for _, times := range []float64{1, 2, 5} {
			all = append(all, times*math.Pow(10, power))
		}
	}
	first, last := 0, len(all)-1
	for first+1 < len(all) && all[first+1] <= least*1.0001 {
		first++
	}
	for last > 0 && all[last-1] >= most*0.9999 {
		last--
	}
	if last <= first {
		last = min(first+1, len(all)-1)
	}
	a := axis{scale: Log, low: all[first], top: all[last]}
	const many = 9
	for i, v := range all[first : last+1] {
		if last-first+1 <= many || (first+i)%3 == 0 {
			a.ticks = append(a.ticks, v)
		}
	}
	return a
}

// share is where a value lies between the ends, from 0 to 1.
func (a axis) share(v float64) float64 {
	length := func(v float64) float64 {
		switch a.scale {
		case Log:
			return math.Log10(max(v, a.low/10))
		case Percentile:
			return -math.Log10(1 - min(v, 99.9999)/100)
		}
		return v
	}
	low, top := length(a.low), length(a.top)
	if top == low {
		return 0.5
	}
	return (length(v) - low) / (top - low)
}
