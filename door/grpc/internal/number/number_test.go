package number

import (
	"math"
	"testing"
	"time"
)

func TestTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"1n": 1, "20u": 20 * time.Microsecond, "3m": 3 * time.Millisecond, "4S": 4 * time.Second,
		"5M": 5 * time.Minute, "6H": 6 * time.Hour, "99999999H": math.MaxInt64} {
		if d, ok := Timeout([]byte(text)); d != want || !ok {
			t.Errorf("%q is %v, %v", text, d, ok)
		}
	}
	for _, text := range []string{"", "n", "1", "1s", "-1S", "+1S", "1 S", "123456789S"} {
		if d, ok := Timeout([]byte(text)); ok {
			t.Errorf("%q is %v", text, d)
		}
	}
}

func TestAppendTimeout(t *testing.T) {
	for d, want := range map[time.Duration]string{-1: "1n", 0: "1n", 99999999: "99999999n", 100000001: "100001u", time.Hour: "3600000m"} {
		if got := string(AppendTimeout(nil, d)); got != want {
			t.Errorf("%v is written as %q, want %q", d, got, want)
		}
	}
	longest := AppendTimeout(nil, math.MaxInt64)
	if d, ok := Timeout(longest); d != math.MaxInt64 || !ok {
		t.Errorf("the longest timeout is written as %q, and read as %v", longest, d)
	}
}

func TestDecimal(t *testing.T) {
	if n, ok := Decimal([]byte("012")); n != 12 || !ok {
		t.Error(n, ok)
	}
	for _, text := range []string{"", "-1", "1a", "1234567890123456789"} {
		if n, ok := Decimal([]byte(text)); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
}
