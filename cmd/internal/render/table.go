package render

import (
	"strings"
)

// OneLine writes the ends of lines as blanks.
// It also joins several blanks, so that a value takes little room in a table.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Cell is a text of the store as it is shown: one line, without a rune that a terminal obeys.
func Cell(text string) string { return Visible(OneLine(text)) }

// Cells are several texts in one line.
func Cells(texts []string) string { return Cell(strings.Join(texts, " ")) }

// TableCell escapes the mark that would end a cell of a table in Markdown.
func TableCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
