package contract

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// of makes the distribution of some values.
func of(values ...int64) Distribution {
	var d Distribution
	for _, v := range values {
		d = d.Merge(Distribution{Count: 1, Sum: v, Min: v, Max: v, Histogram: [][2]int64{{v, 1}}})
	}
	return d
}

func TestMerge(t *testing.T) {
	tests := []struct {
		name    string
		a, b    Distribution
		want    [][2]int64
		min     int64
		max     int64
		sum     int64
		content int64
	}{
		{name: "nothing"},
		{name: "left only", a: of(3, 5), want: [][2]int64{{3, 1}, {5, 1}}, min: 3, max: 5, sum: 8, content: 2},
		{name: "right only", b: of(3, 5), want: [][2]int64{{3, 1}, {5, 1}}, min: 3, max: 5, sum: 8, content: 2},
		{name: "apart", a: of(7, 9), b: of(1, 2), want: [][2]int64{{1, 1}, {2, 1}, {7, 1}, {9, 1}}, min: 1, max: 9, sum: 19, content: 4},
		{name: "mixed, with equal values", a: of(1, 5, 5, 9), b: of(5, 7), want: [][2]int64{{1, 1}, {5, 3}, {7, 1}, {9, 1}}, min: 1, max: 9, sum: 32, content: 6},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.a.Merge(test.b)
			want := Distribution{Count: test.content, Sum: test.sum, Min: test.min, Max: test.max, Histogram: test.want}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMergeLeavesItsOperandsAlone(t *testing.T) {
	a, b := of(1, 3), of(1, 2)
	before := slices.Clone(a.Histogram)
	a.Merge(b)
	if !slices.Equal(a.Histogram, before) || b.Histogram[0][1] != 1 {
		t.Errorf("%v and %v after the merge", a.Histogram, b.Histogram)
	}
}

func TestQuantile(t *testing.T) {
	hundred := Distribution{}
	for v := range int64(100) {
		hundred = hundred.Merge(of(v + 1))
	}
	bucket := Distribution{Count: 1, Sum: 1000, Min: 1000, Max: 1000, Histogram: [][2]int64{{1003, 1}}}
	tests := []struct {
		name  string
		d     Distribution
		share float64
		want  int64
	}{
		{"of nothing", Distribution{}, 0.5, 0},
		{"least", hundred, 0, 1},
		{"median", hundred, 0.5, 50},
		{"p99", hundred, 0.99, 99},
		{"p99.9", hundred, 0.999, 100},
		{"greatest", hundred, 1, 100},
		{"of one value", of(7), 0.001, 7},
		{"no more than the maximum", bucket, 0.5, 1000},
		{"many in one value", of(1, 5, 5, 5, 5, 5, 5, 5, 5, 9), 0.9, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.d.Quantile(test.share); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// Merged parts must have the figures of the whole.
func TestQuantilesOfMergedParts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	values := make([]int64, 2000)
	var parts [4]Distribution
	for i := range values {
		values[i] = random.Int64N(500)
		parts[i%len(parts)] = parts[i%len(parts)].Merge(of(values[i]))
	}
	var whole Distribution
	for _, p := range parts {
		whole = whole.Merge(p)
	}
	slices.Sort(values)
	for _, percent := range []int{1, 10, 50, 90, 99, 100} {
		want := values[len(values)*percent/100-1]
		if got := whole.Quantile(float64(percent) / 100); got != want {
			t.Errorf("p%d is %d, want %d", percent, got, want)
		}
	}
	var sum int64
	for _, v := range values {
		sum += v
	}
	if want := float64(sum) / float64(len(values)); whole.Mean() != want {
		t.Errorf("mean %v, want %v", whole.Mean(), want)
	}
}

func TestCheckFindsWhatDoesNotFit(t *testing.T) {
	good := of(1, 5, 5, 9)
	tests := []struct {
		name   string
		change func(d *Distribution)
		want   string // of the error; "" for none
	}{
		{name: "nothing", change: func(d *Distribution) { *d = Distribution{} }},
		{name: "as it is", change: func(*Distribution) {}},
		{name: "count", change: func(d *Distribution) { d.Count = 5 }, want: "count says 5"},
		{name: "a count of none", change: func(d *Distribution) { d.Histogram[1][1] = 0 }, want: "histogram_ns[1]"},
		{name: "a negative count", change: func(d *Distribution) { d.Histogram[0][1] = -1 }, want: "histogram_ns[0]"},
		{name: "falling values", change: func(d *Distribution) { d.Histogram[2][0] = 2 }, want: "histogram_ns[2]"},
		{name: "a value twice", change: func(d *Distribution) { d.Histogram[2][0] = 5 }, want: "histogram_ns[2]"},
		{name: "least above greatest", change: func(d *Distribution) { d.Min = 10 }, want: "do not fit together"},
		{name: "negative", change: func(d *Distribution) { d.Min = -1 }, want: "do not fit together"},
		{name: "sum below the greatest", change: func(d *Distribution) { d.Sum = 8 }, want: "do not fit together"},
		{name: "values without a count", change: func(d *Distribution) { d.Count = 0 }, want: "count says 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := good
			d.Histogram = slices.Clone(good.Histogram)
			test.change(&d)
			err := d.Check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
