package render

import (
	"strings"
	"testing"
)

// TestTable: the columns are aligned, also where cells are empty, an empty row parts the columns, and no cell controls the terminal.
func TestTable(t *testing.T) {
	table := Table{{"HOST", "NUMBER"}}
	table.Row("web1.example.org", 12)
	table.Row("", "\x1b[2J")
	table.Row()
	table.Row("A", "B")
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "HOST              NUMBER\nweb1.example.org  12\n                  \\x1b[2J\n\nA  B\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
