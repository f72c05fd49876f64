package wire_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weftrpc/weft/internal/wire"
)

func TestStatusRoundTrip(t *testing.T) {
	long := strings.Repeat("t", wire.MaxDetailType)
	for _, s := range []*wire.Status{
		{},
		{Message: "no such order", Reason: "NOT_FOUND"},
		{Details: []wire.Detail{{Type: "a.B", Value: []byte{0, 255}}, {}}},
		{Details: []wire.Detail{{Type: long, Value: make([]byte, 60000)}}},
		{Message: strings.Repeat("m", wire.MaxErrorMessage), Reason: strings.Repeat("R", wire.MaxErrorReason)},
	} {
		b := wire.AppendStatus([]byte("before"), s)[len("before"):]
		got := wire.Status{Code: 5, Outcome: wire.Refused, Details: []wire.Detail{{Type: "old"}}}
		if err := wire.ParseStatus(b, &got); err != nil || !sameStatus(&got, s) {
			t.Errorf("%.60v came back as %.60v, %v", s, got, err)
		}
		if got.Code != 5 || got.Outcome != wire.Refused {
			t.Errorf("code and outcome became %d, %d", got.Code, got.Outcome)
		}
		for i := range b {
			b[i] = 'x'
		}
		if !sameStatus(&got, s) {
			t.Error("the status shares memory with the frame")
		}
	}
}

func TestStatusTruncated(t *testing.T) {
	b := wire.AppendStatus(nil, &wire.Status{
		Message: "no", Reason: "R", Details: []wire.Detail{{Type: "t", Value: []byte("v")}, {Type: strings.Repeat("t", 255)}},
	})
	for n := range b {
		if err := wire.ParseStatus(b[:n:n], &wire.Status{}); err == nil {
			t.Errorf("cut to %d of %d bytes it was accepted", n, len(b))
		}
	}
}

// TestStatusBounds: an error can always be said, if shorter.
func TestStatusBounds(t *testing.T) {
	many := make([]wire.Detail, wire.MaxDetails+1)
	for _, c := range []struct {
		what    string
		s       wire.Status
		message int
		reason  int
		details int
	}{
		{"long texts", wire.Status{Message: strings.Repeat("m", 100000), Reason: strings.Repeat("r", 1000)}, wire.MaxErrorMessage, wire.MaxErrorReason, 0},
		{"cut in a character", wire.Status{Message: strings.Repeat("m", wire.MaxErrorMessage-1) + "ä"}, wire.MaxErrorMessage - 1, 0, 0},
		{"no character at all", wire.Status{Message: strings.Repeat("\x80", 100000)}, 0, 0, 0},
		{"many details", wire.Status{Details: many}, 0, 0, wire.MaxDetails},
		{"long type", wire.Status{Details: []wire.Detail{{Type: strings.Repeat("t", 256)}, {Type: "t"}}}, 0, 0, 1},
		{"too much in all", wire.Status{Details: []wire.Detail{{Value: make([]byte, 40000)}, {Value: make([]byte, 40000)}, {Value: make([]byte, 20000)}}}, 0, 0, 2},
		{"one byte too much", wire.Status{Details: []wire.Detail{{Value: make([]byte, wire.MaxStatus-4-5+1)}}}, 0, 0, 0},
		{"exactly enough", wire.Status{Details: []wire.Detail{{Value: make([]byte, wire.MaxStatus-4-5)}}}, 0, 0, 1},
	} {
		b := wire.AppendStatus([]byte("before"), &c.s)[len("before"):]
		var got wire.Status
		if err := wire.ParseStatus(b, &got); err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if len(got.Message) != c.message || len(got.Reason) != c.reason || len(got.Details) != c.details {
			t.Errorf("%s: %d bytes of message, %d of reason, %d details", c.what, len(got.Message), len(got.Reason), len(got.Details))
		}
		if len(b) > wire.MaxStatus || !utf8.ValidString(got.Message) {
			t.Errorf("%s: %d bytes", c.what, len(b))
		}
	}
	if wire.ParseStatus(make([]byte, wire.MaxStatus+1), &wire.Status{}) == nil {
		t.Error("a status that is too long was accepted")
	}
}

func FuzzStatus(f *testing.F) {
	f.Add(wire.AppendStatus(nil, &wire.Status{Message: "m", Reason: "R", Details: []wire.Detail{{Type: "t", Value: []byte("v")}}}))
	f.Add(wire.AppendStatus(nil, &wire.Status{}))
	f.Add([]byte{0, 0, 0, 1, 255, 'x'})
	f.Add([]byte{0, 0, 0, 1, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s wire.Status
		if wire.ParseStatus(b, &s) != nil {
			return
		}
		back := wire.AppendStatus(nil, &s)
		if len(s.Message) <= wire.MaxErrorMessage && !bytes.Equal(back, b) {
			t.Fatalf("% x became % x", b, back)
		}
		var again wire.Status
		if err := wire.ParseStatus(back, &again); err != nil || again.Reason != s.Reason {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

func BenchmarkParseStatus(b *testing.B) {
	p := wire.AppendStatus(nil, &wire.Status{Message: "no such order", Reason: "ORDER_NOT_FOUND"})
	b.ReportAllocs()
	for b.Loop() {
		var s wire.Status
		if err := wire.ParseStatus(p, &s); err != nil {
			b.Fatal(err)
		}
	}
}
