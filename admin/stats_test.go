package admin_test

import (
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/static"
)

// methodOf finds the statistics of a method.
func methodOf(st *admin.Stats, name string) *admin.MethodStats {
	for i := range st.Methods {
		if st.Methods[i].Method == name {
			return &st.Methods[i]
		}
	}
	return nil
}

func TestStats(t *testing.T) {
	r := start(t, nil, nil)
	c, a := r.dial("", nil), r.admin("")
	ctx := t.Context()
	for range 10 {
		if err := c.Call(ctx, "Arith.Mul", &Args{A: 7, B: 8}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Call(ctx, "Arith.Fail", &Args{A: int(weft.NotFound)}, nil); err == nil {
		t.Fatal("the call did not fail")
	}
	if err := c.Call(ctx, "Arith.None", &Args{}, nil); err == nil {
		t.Fatal("the call did not fail")
	}
	var st *admin.Stats
	polltest.True(t, 30*time.Second, "all calls are counted", func() (ok bool) {
		var err error
		if st, err = a.Stats(ctx, &admin.StatsRequest{Buckets: true}); err != nil {
			t.Fatal(err)
		}
		mul, fail := methodOf(st, "Arith.Mul"), methodOf(st, "Arith.Fail")
		return mul != nil && mul.Calls == 10 && fail != nil && fail.Codes["NotFound"] == 1 && fail.Failed == 1
	})
	if st.Connections != 2 || st.Accepted != 2 || st.Phase != "serving" || st.Refused[weft.ReasonNoMethod] != 1 || st.Uptime <= 0 ||
		st.Process.Goroutines == 0 || st.Process.Heap == 0 || math.Abs(time.Since(st.At).Hours()) > 1 {
		t.Errorf("%+v", st)
	}
	fail := methodOf(st, "Arith.Fail").Latency
	if fail.Count != 1 || len(fail.Buckets) != 1 || fail.Quantile(0.5) != fail.P50 || fail.P50 <= 0 {
		t.Errorf("%+v", fail)
	}
	only, err := a.Stats(ctx, &admin.StatsRequest{Method: "Arith.*"})
	if err != nil || len(only.Methods) != 2 || len(only.Methods[0].Latency.Buckets) != 0 {
		t.Errorf("%+v, %v", only, err)
	}
}

func TestSince(t *testing.T) {
	before := &admin.MethodStats{Method: "M", Calls: 10, Failed: 1, Codes: map[string]uint64{"Internal": 1},
		Latency: admin.Latency{Count: 10, Sum: 1, Buckets: []admin.Bucket{{Upper: 0.1, Count: 10}}}}
	after := &admin.MethodStats{Method: "M", Calls: 30, Failed: 3, Codes: map[string]uint64{"Internal": 1, "NotFound": 2},
		Latency: admin.Latency{Count: 30, Sum: 9, Buckets: []admin.Bucket{{Upper: 0.1, Count: 15}, {Upper: 0.4, Count: 15}}}}
	got := after.Since(before)
	if got.Calls != 20 || got.Failed != 2 || len(got.Codes) != 1 || got.Codes["NotFound"] != 2 ||
		got.Latency.Count != 20 || got.Latency.P50 != 0.4 || got.Latency.Quantile(0.25) != 0.1 || got.Latency.Sum != 8 {
		t.Errorf("%+v", got)
	}
	if anew := before.Since(after); anew.Calls != 10 {
		t.Errorf("after a restart: %+v", anew)
	}
	if first := after.Since(nil); first.Calls != 30 {
		t.Errorf("the first: %+v", first)
	}
	if none := new(admin.Latency).Quantile(0.5); none != 0 {
		t.Errorf("of none: %v", none)
	}
}

func TestStatsOfClusters(t *testing.T) {
	back := start(t, nil, nil)
	reg, err := static.New("tcp://" + back.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	cc, err := cluster.New(&cluster.Config{Registry: reg, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	front := start(t, nil, &admin.Config{Clusters: map[string]*cluster.Client{"back": cc}})
	if err := cc.Call(t.Context(), "Arith.Mul", &Args{}, nil); err != nil {
		t.Fatal(err)
	}
	st, err := front.admin("").Stats(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Clusters) != 1 || st.Clusters[0].Name != "back" || len(st.Clusters[0].Servers) != 1 || st.Clusters[0].Servers[0].State != "healthy" ||
		st.Clusters[0].Servers[0].RequestBytes == 0 || st.Clusters[0].Servers[0].ReplyBytes == 0 || st.Clusters[0].Methods[0].Calls.ReplyBytes == 0 ||
		len(st.Clusters[0].Methods) != 1 || st.Clusters[0].Methods[0].Calls.Calls != 1 || st.Clusters[0].Services[0].Instances["healthy"] != 1 {
		t.Errorf("%+v", st.Clusters)
	}
}
