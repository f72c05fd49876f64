package shell

import (
	"os"

	"golang.org/x/term"
)

// Colour is how a terminal is told a colour.
type Colour string

// The colours.
const (
	Red    Colour = "\x1b[31m"
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Bold   Colour = "\x1b[1m"
)

const plain = "\x1b[0m"

// Paint gives a text a colour, if the output has colours.
func (p *Shell) Paint(c Colour, text string) string {
	_, none := os.LookupEnv("NO_COLOR")
	switch {
	case p.Settings.Color == "never", p.Settings.Color != "always" && (none || !p.Terminal):
		return text
	}
	return string(c) + text + plain
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// SizeOf is the size of the terminal that a file is, in characters; 0 where it is none.
func SizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}
