// Package table is a table of figures that can be shown as Markdown and, by a
// template, as HTML. The text of a cell is plain; its reader escapes it.
package table

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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

// Print writes the table as a terminal shows it, its caption above.
func (t Table) Print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n", t.Caption); err != nil {
		return err
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range t.Head {
		fmt.Fprintf(lines, "%s\t", strings.TrimSpace(c.Title+" "+c.Unit))
	}
	fmt.Fprintln(lines)
	for _, row := range t.Rows {
		for _, c := range row.Cells {
			fmt.Fprintf(lines, "%s\t", oneLine(strings.TrimSpace(c.Text+" "+c.Small)))
		}
		fmt.Fprintln(lines)
	}
	return lines.Flush()
}

// oneLine keeps a text from ending its cell or its line in a terminal.
func oneLine(text string) string { return strings.NewReplacer("\t", " ", "\n", " ").Replace(text) }

// escaped keeps a text from ending its cell or its line.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
