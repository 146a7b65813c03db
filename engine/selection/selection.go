package selection

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Selection says which resources are meant. The zero value selects nothing. It is immutable.
type Selection struct {
	any []all
}

type (
	// all are terms that must all fit.
	all []term
	// glob are the texts between the stars of a pattern. One text is an exact word; nil fits everything.
	glob []string
)

// term is one condition.
type term struct {
	word string // of words; empty for a kind with a name
	head glob   // the kind, the instance, the key of the label, or the state
	tail glob   // the name, or the value of the label
}

// words are what may stand before the colon of a term.
var words = []string{wordLabel, wordModule, wordState}

const (
	wordLabel  = "label"
	wordModule = "module"
	wordState  = "state"
)

// Item is what a selection knows of a resource.
type Item struct {
	Kind, Name string
	Module     string // the instance and those around it, the outermost first: web.tls
	Labels     map[string]string
	Rest       string // the state at rest; empty where it is not known
	State      string // that of this moment
}

// Items returns what a vertex of a graph gives: the resource, and the members of its group. The states are not known here.
func Items(id string, v *resgraph.Vertex) []Item {
	s := v.Special()
	meta := s.Alone
	if meta == nil {
		meta = engine.MetaOf(v.Res)
	}
	items := make([]Item, 0, 1+len(s.Group))
	items = append(items, itemOf(id, meta))
	for _, m := range s.Group {
		items = append(items, itemOf(m.Res.String(), engine.MetaOf(m.Res)))
	}
	return items
}

func itemOf(id string, m *engine.MetaParams) Item {
	i := Named(id)
	if m != nil {
		i.Module, i.Labels = m.Module, m.Labels
	}
	return i
}

// Terms returns what selects i and others with it: its kind, its module and those around it, and its labels.
func (i Item) Terms() (list []string) {
	add := func(t term) { list = append(list, Selection{[]all{{t}}}.String()) }
	add(term{head: glob{i.Kind}})
	for end := range len(i.Module) + 1 {
		if i.Module != "" && (end == len(i.Module) || i.Module[end] == '.') {
			add(term{word: wordModule, head: glob{i.Module[:end]}})
		}
	}
	for key, value := range i.Labels {
		add(term{word: wordLabel, head: glob{key}, tail: glob{value}})
	}
	return list
}

// Named returns an item of which the id alone is known.
func Named(id string) Item {
	kind, name, _ := strings.Cut(id, "[")
	return Item{Kind: kind, Name: strings.TrimSuffix(name, "]")}
}

// Exact returns the selection of one resource by its id, kind[name].
func Exact(id string) Selection {
	i := Named(id)
	return Selection{[]all{{{head: glob{i.Kind}, tail: glob{i.Name}}}}}
}

// ID returns the id of the one resource that s can select, and false where s may select several.
func (s Selection) ID() (id string, ok bool) {
	if len(s.any) != 1 || len(s.any[0]) != 1 {
		return "", false
	}
	t := s.any[0][0]
	if t.word != "" || len(t.head) != 1 || len(t.tail) != 1 {
		return "", false
	}
	return t.head[0] + "[" + t.tail[0] + "]", true
}

// Match reports whether a resource is selected.
func (s Selection) Match(i Item) bool {
	return slices.ContainsFunc(s.any, func(a all) bool {
		return !slices.ContainsFunc(a, func(t term) bool { return !t.match(i) })
	})
}

// Asks reports whether s has a term with one of the words module, label and state. Without it, kinds and names decide alone.
func (s Selection) Asks(among ...string) bool {
	return slices.ContainsFunc(s.any, func(a all) bool {
		return slices.ContainsFunc(a, func(t term) bool { return slices.Contains(among, t.word) })
	})
}

func (t term) match(i Item) bool {
	switch t.word {
	case wordModule:
		return t.head.fitsPath(i.Module)
	case wordLabel:
		for key, value := range i.Labels {
			if t.head.fits(key) && t.tail.fits(value) {
				return true
			}
		}
		return false
	case wordState:
		return t.head.fits(i.Rest) || t.head.fits(i.State)
	default:
		return t.head.fits(i.Kind) && t.tail.fits(i.Name)
	}
}

// fitsPath reports whether g fits an instance or one around it.
func (g glob) fitsPath(path string) bool {
	for end := range len(path) + 1 {
		if path != "" && (end == len(path) || path[end] == '.') && g.fits(path[:end]) {
			return true
		}
	}
	return false
}

func (g glob) fits(text string) bool { return g == nil || Like(g, text) }

// Like reports whether a text has some parts in their order, with any characters between two of them, and none before the first and after
// the last. It is what a pattern means whose stars have parted it.
func Like(parts []string, text string) bool {
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || last == 0 {
		return ok && rest == ""
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// String returns s as Parse reads it.
func (s Selection) String() string {
	var b strings.Builder
	for i, a := range s.any {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, t := range a {
			if j > 0 {
				b.WriteByte('&')
			}
			t.write(&b)
		}
	}
	return b.String()
}

func (t term) write(b *strings.Builder) {
	if t.word != "" {
		b.WriteString(t.word + ":")
		t.head.write(b, `\*,&=`)
		if t.tail != nil {
			b.WriteByte('=')
			t.tail.write(b, `\*,&`)
		}
		return
	}
	t.head.write(b, `\*,&[:=`)
	if t.tail != nil {
		b.WriteByte('[')
		t.tail.write(b, `\*]`)
		b.WriteByte(']')
	}
}

// write writes a pattern. Spaces get a backslash too, since those at its ends would not count.
func (g glob) write(b *strings.Builder, special string) {
	for i, part := range g {
		if i > 0 {
			b.WriteByte('*')
		}
		for j := range len(part) {
			if c := part[j]; strings.IndexByte(special, c) >= 0 || isSpace(c) && !strings.Contains(special, "]") {
				b.WriteByte('\\')
			}
			b.WriteByte(part[j])
		}
	}
}
