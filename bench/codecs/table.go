package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/weftrpc/weft/bench/report/records"
)

// column is a figure of a record, which tables show as the median of its rounds.
type column struct {
	head  string
	value func(records.Codec) float64
}

// writeTables writes a table for each kind of operation, the fastest codec first.
func writeTables(w io.Writer, all []records.Codec) error {
	columns := []column{
		{"ns/op", func(r records.Codec) float64 { return r.NsPerOp }},
		{"B/op", func(r records.Codec) float64 { return r.BytesPerOp }},
		{"allocs/op", func(r records.Codec) float64 { return r.AllocsPerOp }},
		{"size B", func(r records.Codec) float64 {
			if r.Size == 0 { // nobody can tell
				return math.NaN()
			}
			return r.Size
		}},
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, kind := range []string{encode, decode, call} {
		fmt.Fprintf(table, "%s\t", kind)
		for _, c := range columns {
			fmt.Fprintf(table, "%s\t", c.head)
		}
		fmt.Fprintln(table)
		for _, row := range rowsOf(all, kind) {
			fmt.Fprintf(table, "%s\t", name(row[0]))
			for _, c := range columns {
				fmt.Fprintf(table, "%s\t", medianOf(row, c.value).Short())
			}
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// name is what a row is about: the codec, and in a call the framework.
func name(r records.Codec) string {
	if r.Peer == "" {
		return r.Codec
	}
	return r.Peer + " " + r.Codec
}

// rowsOf are the records of one kind, the rounds of an operation together.
func rowsOf(all []records.Codec, kind string) [][]records.Codec {
	var rows [][]records.Codec
	for _, r := range all {
		if r.Operation != kind {
			continue
		}
		i := slices.IndexFunc(rows, func(row []records.Codec) bool { return name(row[0]) == name(r) })
		if i < 0 {
			i = len(rows)
			rows = append(rows, nil)
		}
		rows[i] = append(rows[i], r)
	}
	time := func(row []records.Codec) float64 {
		return medianOf(row, func(r records.Codec) float64 { return r.NsPerOp }).Median
	}
	slices.SortStableFunc(rows, func(a, b []records.Codec) int { return cmp.Compare(time(a), time(b)) })
	return rows
}

func medianOf(row []records.Codec, value func(records.Codec) float64) records.Figure {
	values := make([]float64, len(row))
	for i, r := range row {
		values[i] = value(r)
	}
	return records.FigureOf(values)
}
