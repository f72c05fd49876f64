package route_test

import (
	"testing"

	"github.com/weftrpc/weft/cluster/route"
)

func TestMethod(t *testing.T) {
	rules := parse(t, `{"methods":{
		"*":       {"timeout":"5s","attempts":2,"idempotent":false},
		"Get*":    {"idempotent":true,"attempts":3},
		"Get*All": {"timeout":"30s"},
		"Say":     {"rate":10,"idempotent":true}}}`)
	for _, test := range []struct {
		name   string
		method string
		want   string
	}{
		{"named, the rest from *", "G.Say", "timeout 5s, 2 attempts, idempotent, 10 calls/s"},
		{"without its service", "Say", "timeout 5s, 2 attempts, idempotent, 10 calls/s"},
		{"the longer pattern first", "G.GetUser", "timeout 5s, 3 attempts, idempotent"},
		{"three patterns", "G.GetUserAll", "timeout 30s, 3 attempts, idempotent"},
		{"only *", "G.Put", "timeout 5s, 2 attempts, not idempotent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := rules.Method(test.method).String(); got != test.want {
				t.Errorf("%s: %s, want %s", test.method, got, test.want)
			}
		})
	}
	if got := parse(t, `{"methods":{"Say":{"attempts":1}}}`).Method("G.Get").String(); got != "as configured" {
		t.Errorf("a method without rules: %s", got)
	}
	if got := (route.Method{Attempts: 1, FailMode: "failfast"}).String(); got != "1 attempt, failfast" {
		t.Error(got)
	}
}
