package keyed

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

func TestConfig(t *testing.T) {
	c := Config{Plugin: "quota", List: "Quotas", Entries: 1}
	for _, tt := range []struct {
		entries, keys, want int
		err                 string
	}{{1, 0, DefaultMaxKeys, ""}, {1, 7, 7, ""}, {0, 0, 0, "quota: Config.Quotas is empty"}, {1, -1, 0, "quota: Config.MaxKeys is -1"}} {
		c.Entries, c.MaxKeys = tt.entries, tt.keys
		got, err := c.Keys()
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && (!errors.Is(err, weft.InvalidArgument) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%+v: %d, %v", tt, got, err)
		}
	}
	for _, tt := range []struct {
		by      By
		methods []string
		err     string
	}{{"planet", nil, `quota: Config.Quotas[3]: By is "planet"`}, {Server, []string{"x"}, `quota: Config.Quotas[3]: Methods: the method "x"`}} {
		if _, err := c.Scope(3, tt.by, tt.methods); !errors.Is(err, weft.InvalidArgument) || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// Calls of the services that weft registers count where they are named, or OwnServices is set.
func TestScope(t *testing.T) {
	for _, tt := range []struct {
		own     bool
		methods []string
		want    string // of Arith.Mul, grpc.health.v1.Health.Check and weft.Admin.Stats
	}{
		{false, nil, "yes no no"}, {false, []string{"*"}, "yes no no"}, {false, []string{"weft.Admin.*"}, "no no yes"},
		{false, []string{"*", "grpc.health.v1.Health.Check"}, "yes yes no"}, {true, nil, "yes yes yes"}, {true, []string{"Arith.*"}, "yes no no"},
	} {
		s, err := Config{OwnServices: tt.own}.Scope(0, Server, tt.methods)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, method := range []string{"Arith.Mul", "grpc.health.v1.Health.Check", "weft.Admin.Stats"} {
			got = append(got, map[bool]string{true: "yes", false: "no"}[s.Has(method)])
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestWait(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Nanosecond: "1ms", 20 * time.Millisecond: "20ms", 999_500 * time.Microsecond: "1s", 1001 * time.Millisecond: "2s", 5 * time.Hour: "5h0m0s"} {
		if got := Wait(d).String(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
