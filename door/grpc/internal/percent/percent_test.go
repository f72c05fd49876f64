package percent

import "testing"

func Test(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain text": "plain text", "100%": "100%25", "明\n": "%E6%98%8E%0A"} {
		if got := Encode(text); got != want {
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
