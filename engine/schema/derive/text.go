package derive

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// minWidth is the narrowest terminal that Text writes for.
const minWidth = 40

// indent is where the meaning of a parameter begins.
const indent = "        "

// Text returns the page of a kind for a terminal of that many columns.
// A width below 40 counts as 40. Lines of code are not wrapped.
func Text(k Kind, width int) string {
	width = max(width, minWidth)
	var b strings.Builder
	b.WriteString(k.Name + "\n")
	for par := range strings.SplitSeq(strings.TrimSpace(k.doc()), "\n\n") {
		paragraph(&b, par, width)
	}
	if len(k.Abilities) > 0 {
		b.WriteString("\n")
		wrap(&b, "Abilities: "+strings.Join(k.Abilities, ", ")+".", "  ", width)
		wrap(&b, lends(k), "  ", width)
	}
	section(&b, "Parameters", k.Type, width)
	section(&b, "Sends", k.Sends, width)
	if k.Example != "" {
		b.WriteString("\nExample\n\n")
		for line := range strings.Lines(strings.Trim(k.Example, "\n") + "\n") {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

// paragraph writes one paragraph of Markdown for a terminal: code stays as it is,
// a heading loses its marks.
// Four spaces or a tab begin code, as in Markdown.
func paragraph(b *strings.Builder, par string, width int) {
	par = strings.Trim(par, "\n")
	switch {
	case par == "":
	case strings.HasPrefix(par, "    "), strings.HasPrefix(par, "\t"):
		b.WriteString("\n")
		for line := range strings.Lines(par + "\n") {
			b.WriteString("  " + line)
		}
	case strings.HasPrefix(par, "#"):
		b.WriteString("\n")
		b.WriteString(strings.TrimSpace(strings.TrimLeft(par, "#")) + "\n")
	default:
		b.WriteString("\n")
		wrap(b, par, "  ", width)
	}
}

// section writes a list of parameters for a terminal of a width; without parameters it
// writes nothing.
// The role "state" is that of most parameters and is not named.
func section(b *strings.Builder, title string, t *schema.Type, width int) {
	if t == nil || len(t.Fields) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for r := range rows(t, "") {
		f := r.field
		fmt.Fprintf(b, "\n  %s  %s", r.path, TypeName(f.Type))
		if text := defaultText(f); text != "" {
			fmt.Fprintf(b, ", default %s", text)
		}
		if role := roleText(f); role != roleNames[schema.RoleState] {
			fmt.Fprintf(b, ", %s", role)
		}
		b.WriteString("\n")
		wrap(b, DocText(f), indent, width)
	}
}

// wrap writes words in lines of at most width columns; a longer word has a line
// of its own.
// Width counts characters, which is right for all but wide ones. Spaces and line breaks
// of the text are lost.
func wrap(b *strings.Builder, text, indent string, width int) {
	col := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		switch {
		case col == 0:
			b.WriteString(indent)
			col = len(indent)
		case col+1+n > width:
			b.WriteString("\n" + indent)
			col = len(indent)
		default:
			b.WriteString(" ")
			col++
		}
		b.WriteString(word)
		col += n
	}
	if col > 0 {
		b.WriteString("\n")
	}
}
