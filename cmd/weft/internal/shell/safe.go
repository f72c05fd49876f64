package shell

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// safe writes to a terminal. Names and messages come from servers, callers and registries: a control character in one of
// them could move the cursor, clear lines or turn the text around, so it is written as an escape such as \u001b, or \x9b
// where it is a single byte that is not UTF-8. The ends of lines, tabs and the colours of Paint stay.
type safe struct{ to io.Writer }

// Write implements io.Writer.
func (s *safe) Write(b []byte) (int, error) {
	if _, err := s.to.Write(printable(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// printable is a text without what steers a terminal; b itself if there is nothing of that.
func printable(b []byte) []byte {
	var out []byte
	from := 0 // what is not in out yet
	for i := 0; i < len(b); {
		n := colourAt(b[i:])
		r := rune(-1)
		if n == 0 {
			r, n = utf8.DecodeRune(b[i:])
		}
		switch {
		case steers(r):
			out = fmt.Appendf(append(out, b[from:i]...), `\u%04x`, r)
			from = i + n
		case r == utf8.RuneError && n == 1 && b[i] < 0xa0:
			// Not UTF-8: a terminal that takes single bytes reads a control character.
			out = fmt.Appendf(append(out, b[from:i]...), `\x%02x`, b[i])
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// colourAt is how many bytes of a colour a text begins with.
func colourAt(b []byte) int {
	if b[0] == '\x1b' {
		for _, c := range []Colour{Red, Green, Yellow, Bold, plain} {
			if bytes.HasPrefix(b, []byte(c)) {
				return len(c)
			}
		}
	}
	return 0
}

// steers reports whether a character changes how others are shown: a control character, or one that turns the direction of
// the text around.
func steers(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= 0 && r < ' ', r >= 0x7f && r < 0xa0:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Printable is a text without what steers a terminal.
func Printable(text string) string { return string(printable([]byte(text))) }

// OneLine is a text that is to be a part of a line: the ends of lines and tabs in it are written as escapes.
func OneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\v", `\v`, "\f", `\f`).Replace(text)
}

// Guard has Out and Log written safely where they are terminals. Screen and Status are what they were.
func (p *Shell) Guard() {
	p.screen, p.status = p.Out, p.Log
	if p.Terminal {
		p.Out = &safe{p.Out}
	}
	if p.LogTerminal {
		p.Log = &safe{p.Log}
	}
}

// Screen is Out for what steers the terminal. Text of others must be Printable.
func (p *Shell) Screen() io.Writer {
	if p.screen == nil {
		return p.Out
	}
	return p.screen
}

// Status is the same of Log.
func (p *Shell) Status() io.Writer {
	if p.status == nil {
		return p.Log
	}
	return p.status
}

// Guarded is a writer to Status that is as safe as Log.
func (p *Shell) Guarded(to io.Writer) io.Writer {
	if p.LogTerminal {
		return &safe{to}
	}
	return to
}
