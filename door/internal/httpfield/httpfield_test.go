package httpfield_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/door/internal/httpfield"
)

func TestAccepts(t *testing.T) {
	for field, want := range map[string]string{
		"": "", "gzip": "gzip", "GZIP , br;q=0.5": "gzip br", "gzip;q=0": "", "gzip; q=0.0, br": "br", "gzip;q=0.01": "gzip", "text/html;level=1,*/*;q=0.1": "text/html */*",
	} {
		var got []string
		httpfield.Accepts([]string{field}, func(part string) bool {
			got = append(got, part)
			return false
		})
		if strings.TrimSpace(strings.Join(got, " ")) != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
	if !httpfield.Accepts([]string{"a", "b, c"}, func(part string) bool { return part == "b" }) {
		t.Error("b is not accepted")
	}
}

func TestIsToken(t *testing.T) {
	keys := []string{"", "a", "A", "a-b_c.9", "a b", "ä", "a:b"}
	got := slices.DeleteFunc(keys, func(key string) bool { return !httpfield.IsToken(key) })
	if want := []string{"a", "a-b_c.9"}; !slices.Equal(got, want) {
		t.Errorf("%q are tokens, want %q", got, want)
	}
}

func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for d, want := range map[time.Duration]string{-time.Second: "1", 1: "1", time.Millisecond: "1", 1500 * time.Microsecond: "2", time.Minute: "60000", 2000 * time.Hour: "3600000000"} {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			if got := httpfield.Left(ctx); got != want {
				t.Errorf("%v: %s, want %s", d, got, want)
			}
			cancel()
		}
		if got := httpfield.Left(t.Context()); got != "" {
			t.Errorf("without a deadline: %s", got)
		}
	})
}

func TestClip(t *testing.T) {
	if got := httpfield.Clip(strings.Repeat("x", 1000)); len(got) > 80 || httpfield.Clip("short") != "short" {
		t.Errorf("%q", got)
	}
}
