package shell

import (
	"os"
	"runtime"
	"unicode/utf8"

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
	none := os.Getenv("NO_COLOR") != ""
	switch {
	case p.Settings.Color == "never", p.Settings.Color != "always" && (none || !p.Terminal || p.Dumb):
		return text
	}
	return string(c) + text + plain
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) (yes bool) {
	control(f, func(fd int) { yes = term.IsTerminal(fd) })
	return yes
}

// SizeOf is the size of the terminal that a file is, in characters; 0 where it is none.
func SizeOf(f *os.File) (width, height int) {
	control(f, func(fd int) {
		if w, h, err := term.GetSize(fd); err == nil {
			width, height = w, h
		}
	})
	return width, height
}

// control calls do with the descriptor of a file, which stays as it is: File.Fd would make it a blocking one.
func control(f *os.File, do func(fd int)) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { do(int(fd)) }) // the file may be closed
	}
}

// IsDumb reports whether terminals take no colours and no movements of the cursor, by $TERM. Those of Windows have no
// $TERM, and take both.
func IsDumb() bool {
	name := os.Getenv("TERM")
	return name == "dumb" || name == "" && runtime.GOOS != "windows"
}

// Fit is the beginning of a line that fits a terminal with so many columns, 0 for any.
func Fit(line string, width int) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}

// Steers reports whether Log is a terminal on which a line can be written anew.
func (p *Shell) Steers() bool { return p.LogTerminal && !p.Dumb }

// StatusLine is a text as a line of Status that can be written anew: it has no ends of lines, and is not broken by the
// terminal, which would leave all but its last part behind.
func (p *Shell) StatusLine(text string) string {
	width := 0
	if p.LogSize != nil {
		width, _ = p.LogSize()
	}
	return Fit(Printable(OneLine(text)), width-1) // in the last column the cursor would stand on the last character
}
