// Package table is a table of figures that can be shown as Markdown and, by a
// template, as HTML. The text of a cell is plain; its reader escapes it.
package table

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a caption, a head and rows with as many cells as the head.
type Table struct {
	ID      string // unique on a page
	Caption string
	Note    string // how to read it, or ""
	Head    []Column
	Rows    []Row
}

// Column is the head of a column.
type Column struct {
	Title string
	Unit  string // a second, smaller line, or ""
	Left  bool   // text, aligned to the left; figures are aligned to the right
}

// Text is a column of text.
func Text(title string) Column { return Column{Title: title, Left: true} }

// Figures is a column of figures with their unit.
func Figures(title, unit string) Column { return Column{Title: title, Unit: unit} }

// Row is a line of the table.
type Row struct {
	Peer  string // whose row it is, or ""
	Class string // how it is to be shown, such as "ours" or "mark"
	Cells []Cell
}

// Cell is one figure or text.
type Cell struct {
	Text  string
	Small string  // a second, smaller line, such as the spread
	Class string  // how it is to be shown, or ""
	Sort  float64 // by what rows are sorted, where it is not the text
}

// Plain is a cell with nothing but text.
func Plain(text string) Cell { return Cell{Text: text} }

// Markdown is the table without its caption and note; small lines stand behind
// the text. Weft's rows are bold, and the names of marks in italics.
func (t Table) Markdown() string {
	var b strings.Builder
	rule := "|"
	for _, c := range t.Head {
		title := c.Title
		if c.Unit != "" {
			title += " " + c.Unit
		}
		fmt.Fprintf(&b, "| %s ", escaped(title))
		if c.Left {
			rule += "---|"
		} else {
			rule += "---:|"
		}
	}
	b.WriteString("|\n" + rule + "\n")
	for _, row := range t.Rows {
		for i, c := range row.Cells {
			text := c.Text
			switch {
			case row.Class == Ours && text != "":
				text = "**" + text + "**"
			case row.Class == Mark && i == 0:
				text = "*" + text + "*"
			}
			if c.Small != "" {
				text += " " + c.Small
			}
			fmt.Fprintf(&b, "| %s ", escaped(text))
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// Ours is the class of weft's rows, and Mark that of rows which are no
// competitor but a mark to come near.
const (
	Ours = "ours"
	Mark = "mark"
)

// Print writes the table as a terminal shows it, its caption above: text is aligned
// to the left, figures to the right.
func (t Table) Print(w io.Writer) error {
	lines := [][]string{nil}
	for _, c := range t.Head {
		lines[0] = append(lines[0], oneLine(c.Title, c.Unit))
	}
	for _, row := range t.Rows {
		var line []string
		for _, c := range row.Cells {
			line = append(line, oneLine(c.Text, c.Small))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(t.Head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, t.Caption)
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			if width := widths[i]; t.Head[i].Left {
				text += fmt.Sprintf("  %-*s", width, cell)
			} else {
				text += fmt.Sprintf("  %*s", width, cell)
			}
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// oneLine is the text of a cell without an end of line.
func oneLine(text, small string) string {
	return strings.Join(strings.Fields(text+" "+small), " ")
}

// escaped keeps a text from ending its cell or its line.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
