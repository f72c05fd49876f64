// Package section replaces a part of a document: that between the marks <!-- name:begin --> and <!-- name:end -->, where
// programs that measure put their figures.
package section

import (
	"fmt"
	"os"
	"strings"
)

// Replace puts text between the marks of name in a file. The file must have both, in this order.
func Replace(file, name, text string) error {
	first, last := "<!-- "+name+":begin -->", "<!-- "+name+":end -->"
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(old), first)
	_, tail, closed := strings.Cut(rest, last)
	if !found || !closed {
		return fmt.Errorf("%s has no marks %s and %s around the figures", file, first, last)
	}
	return os.WriteFile(file, []byte(head+first+"\n"+text+last+tail), 0o644)
}
