package derive

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// row is one parameter or one sent value, with the path at which it is written.
type row struct {
	path  string
	field *schema.Field
}

// rows yields the fields of a type and of the structs inside, parents first.
// A list of structs has the path key[].inner, a map has key.*.inner.
func rows(t *schema.Type, prefix string) iter.Seq[row] {
	return func(yield func(row) bool) {
		if t == nil || t.Kind != schema.KindStruct {
			return
		}
		for _, f := range t.Fields {
			path := prefix + f.Key
			if !yield(row{path, f}) {
				return
			}
			inner, suffix := leaf(f.Type)
			for r := range rows(inner, path+suffix+".") {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// leaf unwraps lists and maps, and returns the prefix of its elements.
// A list is [] and a map is .* in the path.
func leaf(t *schema.Type) (*schema.Type, string) {
	var suffix strings.Builder
	for t.Kind == schema.KindList || t.Kind == schema.KindMap {
		if t.Kind == schema.KindList {
			suffix.WriteString("[]")
		} else {
			suffix.WriteString(".*")
		}
		t = t.Elem
	}
	return t, suffix.String()
}

// Markdown returns the reference page of a kind.
// It is called for the reference and by the verb doc.
func Markdown(k Kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", k.Name)
	if doc := k.doc(); doc != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(doc))
	}
	if len(k.Abilities) > 0 {
		fmt.Fprintf(&b, "\nAbilities: %s.\n\n%s\n", strings.Join(k.Abilities, ", "), lends(k))
	}
	b.WriteString("\n## Parameters\n")
	table(&b, k.Type, "This kind has no parameters.")
	if k.Sends != nil {
		b.WriteString("\n## Sends\n")
		table(&b, k.Sends, "It sends nothing.")
	}
	if k.Example != "" {
		fmt.Fprintf(&b, "\n## Example\n\n```yaml\n%s\n```\n", strings.Trim(k.Example, "\n"))
	}
	return b.String()
}

// lends is the sentence about what another host may give. The rules are those of package engine/lend.
func lends(k Kind) string {
	if !slices.Contains(k.Abilities, "collectable") {
		return "Lends nothing to other hosts, unless `accept` says `" + k.Name + ".*`."
	}
	absence, word := k.Type.Absence()
	list := []string{"its name"}
	for _, f := range k.Type.Fields {
		text := "`" + f.Key + "`"
		switch {
		case f.Lend == schema.LendNone:
			continue
		case f.Lend == schema.LendName:
			text += " with names that fit as its own does"
		case f.Key == absence:
			text += " but not `" + word + "`"
		case f.Type.Kind == schema.KindMode:
			text += " up to 0777"
		}
		list = append(list, text)
	}
	return "Lends to other hosts that `accept` lets in: " + strings.Join(list, ", ") + "."
}

// table writes the parameters as a table, or a sentence where there are none.
// Fields of structs inside have rows of their own, below that of their parent.
func table(b *strings.Builder, t *schema.Type, none string) {
	if t == nil || len(t.Fields) == 0 {
		fmt.Fprintf(b, "\n%s\n", none)
		return
	}
	b.WriteString("\n| key | type | default | role | meaning |\n| --- | --- | --- | --- | --- |\n")
	for r := range rows(t, "") {
		f := r.field
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n",
			r.path, cell(TypeName(f.Type)), DefaultText(f), roleText(f), cell(DocText(f)))
	}
}

// DocText is the meaning of a field, and what else is to be known of it.
// Its sentences are in the order: the meaning, a deprecation, and whether a change makes
// the thing anew.
func DocText(f *schema.Field) string {
	var parts []string
	for _, part := range []string{f.Doc, deprecated(f), replaces(f)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// deprecated is the sentence about a key that should not be used any more.
func deprecated(f *schema.Field) string {
	if f.Deprecated == "" {
		return ""
	}
	return "Deprecated: " + strings.TrimSuffix(f.Deprecated, ".") + "."
}

// replaces is the sentence about a key whose change makes the thing anew.
func replaces(f *schema.Field) string {
	if !f.Replaces {
		return ""
	}
	return "Another value removes the thing and makes it again."
}

// cell makes text fit into one cell of a table.
// A line break would end the row of a table in Markdown.
func cell(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "|", `\|`)
	return strings.Join(strings.Fields(s), " ")
}

// code puts a text between backticks, as many as it needs.
// A text with a backtick in it needs two around it, by the rules of CommonMark.
func code(s string) string {
	if s == "" {
		return ""
	}
	fence := "`"
	if strings.Contains(s, "`") {
		fence = "``"
	}
	return fence + cell(s) + fence
}

// maxDefault bounds the default that a page shows.
const maxDefault = 40

// DefaultText writes the default of a field for a cell of a table; it is empty
// when there is none.
func DefaultText(f *schema.Field) string { return code(defaultText(f)) }

// defaultText writes a default as a graph would.
// It is cut after 40 characters.
func defaultText(f *schema.Field) string {
	if !f.HasDefault {
		return ""
	}
	text := fmt.Sprint(f.Default)
	switch v := f.Default.(type) {
	case time.Duration:
		text = schema.FormatDuration(v)
	case string, []any, map[string]any:
		if b, err := json.Marshal(jsonDefault(v)); err == nil {
			text = string(b)
		}
	}
	if r := []rune(text); len(r) > maxDefault {
		text = string(r[:maxDefault]) + "..."
	}
	return text
}

var roleNames = map[schema.Role]string{
	schema.RoleIdentity:  "identity",
	schema.RoleState:     "state",
	schema.RoleParam:     "parameter",
	schema.RoleInit:      "init only",
	schema.RoleReadOnly:  "read only",
	schema.RoleWriteOnly: "write only",
}

// roleText is the word for the use of a parameter.
func roleText(f *schema.Field) string {
	switch {
	case f.Required && f.Role == schema.RoleState:
		return "required"
	case f.Required:
		return roleNames[f.Role] + ", required"
	}
	return roleNames[f.Role]
}

var kindNames = map[schema.Kind]string{
	schema.KindAny:      "any",
	schema.KindBool:     "boolean",
	schema.KindInt:      "integer",
	schema.KindFloat:    "number",
	schema.KindString:   "text",
	schema.KindDuration: "duration",
	schema.KindSize:     "size",
	schema.KindMode:     "mode",
	schema.KindRef:      "reference",
	schema.KindList:     "list",
	schema.KindMap:      "map",
	schema.KindStruct:   "struct",
}

// TypeName names a type in a word or two, for a table: "list of text", "duration
// (ms)", "exists | absent".
// A type that refers to itself is named and not unfolded.
func TypeName(t *schema.Type) string {
	s := kindNames[t.Kind]
	switch {
	case len(t.Enum) > 0 && t.Kind != schema.KindMap:
		return strings.Join(t.Enum, " | ")
	case t.Format != "":
		s = t.Format
	case t.Secret:
		s = "secret"
	case t.Target != "":
		s += " to " + t.Target
	case t.Link != nil:
		return t.Link.Name + ", as above"
	case t.Kind == schema.KindDuration:
		s = fmt.Sprintf("duration (%s)", t.Unit)
	case t.Elem != nil:
		s += " of " + TypeName(t.Elem)
	}
	if len(t.Enum) > 0 {
		s += " by " + strings.Join(t.Enum, " | ")
	}
	if t.Pattern != "" {
		s += " like `" + t.Pattern + "`"
	}
	return s + limits(t)
}

// limits writes the bounds, but not a lower one of zero where nothing is below.
// Both ends belong to the range.
func limits(t *schema.Type) string {
	lo, hi := bound(t, t.Min), bound(t, t.Max)
	if t.Kind == schema.KindFloat {
		lo, hi = string(floatNumber(t.FloatMin)), string(floatNumber(t.FloatMax))
	}
	if t.Min != nil && *t.Min == 0 && t.Kind != schema.KindInt {
		lo = ""
	}
	if lo == "" && hi == "" {
		return ""
	}
	return fmt.Sprintf(" %s..%s", lo, hi)
}

// bound writes a bound in the unit of its type.
// Durations and sizes have units in it, other numbers have none.
func bound(t *schema.Type, n *int64) string {
	switch {
	case n == nil:
		return ""
	case t.Kind == schema.KindDuration:
		return schema.FormatDuration(time.Duration(*n))
	case t.Kind == schema.KindSize:
		return schema.Size(*n).String()
	}
	return fmt.Sprint(*n)
}
