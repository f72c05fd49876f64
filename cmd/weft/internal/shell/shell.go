// Package shell is what the commands of weft have in common: the flags that all of them have, contexts, the
// forms of the output, and exit codes.
package shell

import "io"

// Shell is what the commands read and write, and what the flags that all of them have say.
type Shell struct {
	In       io.Reader
	Out, Log io.Writer
	Terminal bool // Out is one
	// LogTerminal says that Log is a terminal, on which progress is shown.
	LogTerminal bool
	InTerminal  bool // In is one
	Dumb        bool // terminals take no colours and no movements of the cursor
	// Size and LogSize are those of the terminals of Out and Log, in characters; 0 is not known. nil: neither is.
	Size, LogSize func() (width, height int)

	screen, status io.Writer // Out and Log before Guard

	Settings Settings
	Running  bool // the arguments are right, and the command runs
	Resolved bool // the settings are right too
}

// Checked keeps the first error of a writer.
type Checked struct {
	To  io.Writer
	Err error
}

func (c *Checked) Write(b []byte) (int, error) {
	n, err := c.To.Write(b)
	if err != nil && c.Err == nil {
		c.Err = err
	}
	return n, err
}
