package prometheus

import (
	"maps"
	"math"
	"slices"

	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/weftrpc/weft/plugin/internal/figures"
)

// schema is that of native histograms: each bucket is 2^(1/8) times as wide as the one
// before, 1.09.
const schema = 3

// zeroThreshold is the width of the bucket around zero: the smallest of weft's.
const zeroThreshold = 1e-6

// histogram is a distribution as a metric, classic and native at once.
type histogram struct {
	c      *Collector
	desc   *client.Desc
	labels []*dto.LabelPair
	of     *figures.Distribution
}

// Desc implements prometheus.Metric.
func (h *histogram) Desc() *client.Desc { return h.desc }

// Write implements prometheus.Metric.
func (h *histogram) Write(out *dto.Metric) error {
	out.Label = h.labels
	d := &dto.Histogram{SampleCount: new(h.of.Count), SampleSum: new(h.of.Sum)}
	for i, n := range h.of.Fold(h.c.bounds) {
		d.Bucket = append(d.Bucket, &dto.Bucket{UpperBound: new(h.c.bounds[i]), CumulativeCount: new(n)})
	}
	if h.c.native {
		writeNative(d, h.of)
	}
	out.Histogram = d
	return nil
}

// writeNative adds the sparse buckets. A bucket of weft's goes to the one that has its middle.
func writeNative(d *dto.Histogram, of *figures.Distribution) {
	var zeros uint64
	counts := make(map[int32]int64)
	for _, b := range of.Buckets {
		if b.Upper <= zeroThreshold {
			zeros += b.Count
			continue
		}
		middle := math.Sqrt(max(b.Lower, zeroThreshold) * b.Upper)
		counts[int32(math.Ceil(math.Log2(middle)*(1<<schema)))] += int64(b.Count)
	}
	d.Schema, d.ZeroThreshold, d.ZeroCount = new(int32(schema)), new(zeroThreshold), new(zeros)
	var next int32 // the index behind the last bucket
	var last int64
	for i, index := range slices.Sorted(maps.Keys(counts)) {
		if i == 0 || index != next {
			gap := index
			if i > 0 {
				gap = index - next
			}
			d.PositiveSpan = append(d.PositiveSpan, &dto.BucketSpan{Offset: new(gap), Length: new(uint32(0))})
		}
		*d.PositiveSpan[len(d.PositiveSpan)-1].Length++
		d.PositiveDelta = append(d.PositiveDelta, counts[index]-last)
		last, next = counts[index], index+1
	}
	if len(d.PositiveSpan) == 0 {
		// Without a span the histogram would not be a native one.
		d.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(0))}}
	}
}
