package virtual

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// Page writes a module as a part of a reference, in Markdown: its functions, the stated needs
// of a resource of its kind, its backends, and which backend has which function.
func Page(i *Interface, backends []*Backend, kind engine.Res) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", i.Module, i.Doc)
	b.WriteString("| function | returns | what it does |\n| --- | --- | --- |\n")
	for n := range i.Functions {
		f := &i.Functions[n]
		fmt.Fprintf(&b, "| `%s%s` | %s | %s |\n", f.Name, f.Signature(), cell(returnsText(f)), cell(f.Doc+f.notes()))
	}
	b.WriteString("\n")
	if r, ok := kind.(UsingRes); ok {
		b.WriteString(usesTable(r.Uses()))
	}
	if len(backends) == 0 {
		b.WriteString("It has no backend yet.\n")
		return b.String()
	}
	b.WriteString("| backend | chosen where | needs | sees changes by |\n| --- | --- | --- | --- |\n")
	for _, k := range backends {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", k.Name, cell(k.where()), cell(strings.Join(k.Needs, ", ")), k.Watch)
	}
	b.WriteString("\n" + Matrix(i, backends))
	return b.String()
}

// usesTable says what a resource needs by how it is declared. A function with a point has to know the
// parameter behind it.
func usesTable(uses []Use) string {
	var b strings.Builder
	b.WriteString("| a resource with | needs |\n| --- | --- |\n")
	for _, u := range uses {
		words := make([]string, len(u.Functions))
		for i, need := range u.Functions {
			f, param, with := strings.Cut(need, ".")
			if words[i] = "`" + f + "`"; with {
				words[i] += " with `" + param + "`"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", u.Declared, strings.Join(words, ", "))
	}
	return b.String() + "\n"
}

// notes says what is special about the function.
func (f *Function) notes() string {
	notes := ""
	if f.Alone {
		notes += " A call about one gives its value alone."
	}
	if f.Extra {
		notes += " Few backends have it."
	}
	if f.Deprecated != "" {
		notes += " Deprecated: " + f.Deprecated + "."
	}
	if len(f.Supported) > 0 {
		notes += " Only where " + f.Supported.String() + "."
	}
	if len(f.NotApplicable) > 0 {
		notes += " Not applicable where " + f.NotApplicable.String() + "."
	}
	return notes
}

func returnsText(f *Function) string {
	if f.Returns == nil {
		return ""
	}
	return shapeText(f.Returns)
}

// shapeText writes a type with the keys of its records; those with a question mark may be missing.
func shapeText(t *schema.Type) string {
	switch t.Kind {
	case schema.KindList:
		return "list of " + shapeText(t.Elem)
	case schema.KindMap:
		return "map of " + shapeText(t.Elem)
	case schema.KindStruct:
		keys := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			if keys[i] = f.Key; f.Type.Optional {
				keys[i] += "?"
			}
			if kind := f.Type.Kind; kind != schema.KindString {
				keys[i] += ": " + shapeText(f.Type)
			}
		}
		return "{" + strings.Join(keys, ", ") + "}"
	}
	return derive.TypeName(t)
}

// where says on which machines the backend can be chosen.
func (b *Backend) where() string {
	text := b.When.String()
	if text == "" {
		text = "everywhere"
	}
	if len(b.Unless) > 0 {
		text += ", but not where " + b.Unless.String()
	}
	return text
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}

// marks are what the matrix shows for a status; the others are their own words.
var marks = map[Status]string{Implemented: "yes", NotImplemented: "no", NotSupported: "–", NotApplicable: "not applicable", SignatureMismatch: "mismatch", Deprecated: "deprecated"}

// Matrix writes which backend has which function, as a table in Markdown. Each
// backend is checked on a machine for which it is made.
func Matrix(i *Interface, backends []*Backend) string {
	var b strings.Builder
	head, line := "| function |", "| --- |"
	columns := make([][]Verdict, len(backends))
	for n, k := range backends {
		head += " " + k.Name + " |"
		line += " --- |"
		columns[n] = Check(i, k, k.Typical())
	}
	b.WriteString(head + "\n" + line + "\n")
	for n := range i.Functions {
		fmt.Fprintf(&b, "| %s |", i.Functions[n].Name)
		for _, column := range columns {
			fmt.Fprintf(&b, " %s |", column[n].mark())
		}
		b.WriteString("\n")
	}
	for n, k := range backends {
		if names := deprecatedOf(columns[n]); names != "" {
			fmt.Fprintf(&b, "\nDeprecated functions of %s, which the interface does not have: %s.\n", k.Name, names)
		}
	}
	return b.String()
}

// mark is the status, and the parameters that the backend lacks.
func (v *Verdict) mark() string {
	text := marks[v.Status]
	if (len(v.Lacks()) > 0 || v.Misfit() != "") && v.Status == Implemented {
		text = "refused"
	}
	var without []string
	for _, d := range v.Differences {
		if d.Kind == Missing && v.Status == Implemented {
			without = append(without, d.Param)
		}
	}
	if len(without) > 0 {
		text += ", without " + strings.Join(without, ", ")
	}
	return text
}

func deprecatedOf(verdicts []Verdict) string {
	var names []string
	for _, v := range verdicts {
		if v.Status == Deprecated && v.want == nil {
			names = append(names, v.Function)
		}
	}
	return strings.Join(names, ", ")
}

// Typical returns facts of a machine for which the backend is made.
func (b *Backend) Typical() Facts {
	facts := Facts{}
	for key, values := range b.When {
		if len(values) > 0 {
			facts[key] = values[0]
		}
	}
	return facts
}
