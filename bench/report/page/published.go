package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/table"
)

//go:embed published.json
var publishedJSON []byte

// Article is what another comparison has published: a table, or words where it
// showed plots only. It was measured on other machines, years ago.
type Article struct {
	Title    string     `json:"title"`
	Year     int        `json:"year"`
	About    bool       `json:"about"` // whether the year is a guess
	Hardware string     `json:"hardware"`
	Setup    string     `json:"setup"`
	Head     []string   `json:"head"`
	Rows     [][]string `json:"rows"`
	Words    []string   `json:"words"`
}

// Articles are all that are known.
func Articles() ([]Article, error) {
	var all []Article
	if err := json.Unmarshal(publishedJSON, &all); err != nil {
		return nil, fmt.Errorf("published.json: %w", err)
	}
	for _, a := range all {
		for i, row := range a.Rows {
			if len(row) != len(a.Head) {
				return nil, fmt.Errorf("published.json: %s: row %d has %d cells, want %d", a.Title, i+1, len(row), len(a.Head))
			}
		}
	}
	return all, nil
}

// Label is the year and the hardware.
func (a Article) Label() string {
	year := strconv.Itoa(a.Year)
	if a.About {
		year = "about " + year
	}
	return year + "; hardware: " + a.Hardware
}

// Table is the published one.
func (a Article) Table(n int) table.Table {
	t := table.Table{ID: fmt.Sprintf("published-%d", n), Caption: a.Title + " (" + a.Label() + ")", Note: a.Setup}
	for _, title := range a.Head {
		if title == "system" || title == "system and codec" {
			t.Head = append(t.Head, table.Text(title))
		} else {
			t.Head = append(t.Head, table.Figures(title, ""))
		}
	}
	for _, row := range a.Rows {
		var cells []table.Cell
		for _, text := range row {
			cell := table.Plain(text)
			if v, err := strconv.Atoi(text); err == nil {
				cell = table.Cell{Text: records.Count(v), Sort: float64(v)}
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, table.Row{Cells: cells})
	}
	return t
}
