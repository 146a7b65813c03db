package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table is a table for people, row by row. The first row may be a head.
type Table [][]string

// Row adds a row. The cells are written as fmt.Sprint writes them.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	*t = append(*t, row)
}

// Write writes the rows in columns. No cell controls the terminal.
// The rows go out at the end, since the width of a column depends on all of them.
func (t Table) Write(w io.Writer) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = Visible(text)
		}
		if _, err := fmt.Fprintln(columns, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return columns.Flush()
}

// OneLine writes the ends of lines as blanks.
// It also joins several blanks, so that a value takes little room in a table.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Cell is a text of the store as it is shown: one line, without a rune that a terminal obeys.
func Cell(text string) string { return Visible(OneLine(text)) }

// Cells are several texts in one line.
func Cells(texts []string) string { return Cell(strings.Join(texts, " ")) }

// TableCell escapes the mark that would end a cell of a table in Markdown.
func TableCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
