package puppet

import (
	"fmt"
	"strings"
)

// Row is one line of the table: the translation of one attribute. How is one of
// same, rename, convert, engine, ignored and refused.
type Row struct{ Type, Kind, Attribute, How, To, Note string }

// Table returns all rows, by type; those of the metaparameters have no type. A row
// without an attribute is about the type as a whole.
// It is made anew at each call, and belongs to the caller. Embedders make pages and checks of
// it.
func Table() []Row {
	list := rows(&kindType{attributes: metaparameters})
	for _, t := range types {
		list = append(list, Row{t.name, t.kind, "", string(t.how), t.kind, t.note})
		list = append(list, rows(t)...)
	}
	return list
}

// rows returns the lines of the reference about a type, in the order of the table.
func rows(t *kindType) (list []Row) {
	for _, a := range t.attributes {
		to := a.to
		if a.how == same {
			to = a.name
		}
		list = append(list, Row{t.name, t.kind, a.name, string(a.how), to, a.note})
	}
	return list
}

// Page returns the table as a page of the reference, in Markdown. The target docs of make
// writes it, and a test holds that the page in the tree is fresh.
func Page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	attributes := false
	for _, r := range Table() {
		switch {
		case r.Attribute == "":
			pageType(&b, r)
			attributes = false
			continue
		case !attributes:
			b.WriteString("\n| attribute | becomes | |\n| --- | --- | --- |\n")
			attributes = true
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Attribute, becomes(r), strings.ReplaceAll(r.Note, "|", `\|`))
	}
	return b.String()
}

// pageType writes the part of the reference about one type. The page is made from the same
// table as the translation, so they agree.
func pageType(b *strings.Builder, r Row) {
	fmt.Fprintf(b, "\n## %s\n\n", r.Type)
	switch {
	case r.Kind == "":
		fmt.Fprintf(b, "It is %s: %s.\n", r.How, r.Note)
	case r.Note == "":
		fmt.Fprintf(b, "It becomes the kind `%s`.\n", r.Kind)
	default:
		fmt.Fprintf(b, "It becomes the kind `%s`: %s.\n", r.Kind, r.Note)
	}
}

// becomes is the new form of an attribute in a word or two.
func becomes(r Row) string {
	switch {
	case r.How == string(ignored), r.How == string(refused):
		return r.How
	case r.To == "":
		return "-"
	default:
		return "`" + strings.ReplaceAll(r.To, ", ", "`, `") + "`"
	}
}

const pageHead = `# Puppet catalogs: how they are translated

A catalog is run by ` + "`mgmt run --puppet-catalog FILE`" + `; [the guide](../puppet-catalogs.md) says how. Here is what each attribute of
each type becomes. An *ignored* attribute makes no difference here. A *refused* attribute is an error with its line in the manifest,
or with ` + "`--lenient`" + ` a warning, and is left out. A kind that the program does not have, or one of its parameters, is
refused too.

A type that is not here, and whose name in lower case is a kind, is that kind, and its attributes are the parameters of that. All other
types are refused. Classes, defined types and stages are nothing by themselves: they hold their content together.

## All types
`
