package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// The markers are lines of their own; the name of a block follows the first.
const (
	beginMarker = "<!-- figures:begin "
	beginEnd    = " -->"
	endMarker   = "<!-- figures:end -->"
)

// replace puts the blocks between their markers and leaves the rest of a
// document as it is.
func replace(document []byte, blocks map[string]string) ([]byte, error) {
	var out bytes.Buffer
	open, found := "", 0
	for line := range strings.Lines(string(document)) {
		text := strings.TrimSpace(line)
		name, begins := strings.CutPrefix(text, beginMarker)
		switch {
		case begins && open != "":
			return nil, fmt.Errorf("block %q begins inside block %q", strings.TrimSuffix(name, beginEnd), open)
		case begins:
			open = strings.TrimSuffix(name, beginEnd)
			block, ok := blocks[open]
			if !ok {
				return nil, fmt.Errorf("there is no block %q", open)
			}
			found++
			out.WriteString(line)
			out.WriteString(block)
		case text == endMarker && open == "":
			return nil, errors.New("a block ends that has not begun")
		case text == endMarker:
			open = ""
			out.WriteString(line)
		case open == "":
			out.WriteString(line)
		}
	}
	switch {
	case open != "":
		return nil, fmt.Errorf("block %q does not end: want a line %q", open, endMarker)
	case found == 0:
		return nil, fmt.Errorf("no block: want a line that begins with %q", beginMarker)
	}
	return out.Bytes(), nil
}
