package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBench measures a method in both loops.
func TestBench(t *testing.T) {
	s := begin(t)
	for _, loop := range [][]string{{"--callers", "2"}, {"--rate", "100"}} {
		code, out, log := run(t, "", append([]string{"bench", s.address, "Arith.Mul", `{"A":6,"B":7}`, "--duration", "300ms", "--warm-up", "50ms", "-o", "json"}, loop...)...)
		var got struct {
			Calls uint64
			Codes map[string]uint64
			Rate  float64 `json:"calls_per_second"`
			P99   float64 `json:"p99_seconds"`
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Calls == 0 || got.Codes["OK"] != got.Calls || got.Rate <= 0 || got.P99 <= 0 {
			t.Errorf("bench %v returns %d, error %v:\n%s%s", loop, code, err, out, log)
		}
	}
	expect(t, 0, "99 %", "", "", "bench", "http://"+s.at, "Arith.Mul", "--duration", "200ms", "--warm-up", "0s")
	expect(t, 3, "", "the shop is closed", "", "bench", s.address, "Shop.Fail", "--duration", "200ms")
	for _, share := range []string{"1", "0.5"} {
		code, out, log := run(t, "", "bench", s.address, "Shop.Fail", "--duration", "200ms", "--warm-up", "0s", "--max-errors", share)
		want := 0
		if share != "1" {
			want = 3
		}
		if code != want || !strings.Contains(out, "FailedPrecondition ") || !strings.Contains(out, "99 %") {
			t.Errorf("bench --max-errors %s returns %d, want %d and the codes in:\n%s%s", share, code, want, out, log)
		}
	}
	expect(t, 3, "", "'weft list' names the methods", "", "bench", s.address, "Shop.Nothing", "--max-errors", "1")
	expect(t, 2, "", "--rate", "", "bench", s.address, "Arith.Mul", "--rate", "-1")
	expect(t, 2, "", "is no JSON", "", "bench", s.address, "Arith.Mul", "{")
	expect(t, 2, "", "carries no JSON", "", "bench", "netrpc://"+s.at, "Arith.Mul")
}
