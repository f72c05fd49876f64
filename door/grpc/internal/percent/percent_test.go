package percent

import (
	"math"
	"testing"
)

func Test(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain text": "plain text", "100%": "100%25", "明\n": "%E6%98%8E%0A"} {
		if got := EncodeMost(text, math.MaxInt); got != want {
			t.Errorf("%q is encoded as %q, want %q", text, got, want)
		}
		if got := Decode(want); got != text {
			t.Errorf("%q is decoded as %q, want %q", want, got, text)
		}
	}
	for _, wrong := range []string{"%", "%4", "a%zzb"} {
		if got := Decode(wrong); got != wrong {
			t.Errorf("%q is decoded as %q", wrong, got)
		}
	}
}

// TestMost encodes what has room, and no part of a character.
func TestMost(t *testing.T) {
	for _, x := range []struct {
		text string
		most int
		want string
	}{
		{"plain", 5, "plain"}, {"plain", 4, "plai"}, {"plain", 0, ""}, {"plain", -1, ""}, {"", -1, ""},
		{"a%b", 4, "a%25"}, {"a%b", 3, "a"}, {"明天", 18, "%E6%98%8E%E5%A4%A9"}, {"明天", 17, "%E6%98%8E"}, {"a明", 9, "a"},
		{"\xff\xffa", 7, "%FF%FFa"}, {"\xff\xffa", 6, "%FF%FF"},
	} {
		if got := EncodeMost(x.text, x.most); got != x.want {
			t.Errorf("%q is encoded as %q in %d bytes, want %q", x.text, got, x.most, x.want)
		}
	}
}
