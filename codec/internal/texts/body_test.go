package texts

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// TestBody takes strings from bodies of each size, some of which share one copy of the body.
func TestBody(t *testing.T) {
	for _, n := range []int{1, 100, chunk, chunk + 1, 3 * chunk} {
		body := []byte(strings.Repeat("0123456789abcdef", n/16+1)[:n])
		want := string(body)
		var copied, own Body
		copied.Expect(n / 4)
		own.Share(body)
		if copied.Whole(0) != "" || copied.Whole(n) != "" {
			t.Errorf("%d bytes: there is a whole body before the first string", n)
		}
		type part struct {
			from, to int
			text     string
			bytes    []byte
		}
		var parts []part
		for from, step := 0, 1; from < n; from, step = from+step, step*2 {
			to := min(n, from+step)
			parts = append(parts, part{from, to, copied.String(body, from, to), copied.Bytes(body, from, to)})
			if got := own.String(body, from, to); got != want[from:to] {
				t.Errorf("%d bytes: %d to %d is %.40q", n, from, to, got)
			}
		}
		if got := own.Whole(n); got != want {
			t.Errorf("%d bytes: the whole body is %.40q", n, got)
		}
		if got := copied.Whole(1); (got == "") != (n > chunk) {
			t.Errorf("%d bytes: the whole body begins with %q", n, got)
		}
		clear(body)
		for _, p := range parts { // nothing of the body, nor of other parts, is in them
			if p.text != want[p.from:p.to] || string(p.bytes) != want[p.from:p.to] {
				t.Errorf("%d bytes: %d to %d is %.40q and %.40q", n, p.from, p.to, p.text, p.bytes)
			}
			clear(p.bytes)
		}
		if copied.String(body, 0, 0) != "" {
			t.Errorf("%d bytes: no bytes are a string", n)
		}
	}
}

// TestApart takes two short strings from a body: they alone are copied, into memory for what may be texts.
func TestApart(t *testing.T) {
	for _, n := range []int{600, 2 * chunk} {
		body := []byte(strings.Repeat("0123456789", n/10))
		var apart Body
		apart.Expect(n / 3)
		apart.Apart()
		got := [3]string{apart.String(body, 2, 2), apart.String(body, 3, 5), apart.String(body, 15, 18)}
		if room := cap(apart.pieces.room); memory.Views && room > min(chunk, n-n/3) {
			t.Errorf("%d bytes: room for %d", n, room)
		}
		if whole := apart.Whole(n); memory.Views && whole != "" {
			t.Errorf("%d bytes: all are copied", n)
		}
		clear(body)
		if got != [3]string{"", "34", "567"} {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
}
