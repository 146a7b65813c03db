package words

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
)

//go:embed table.txt
var source string

// Word is one word of other tools, at one place. It is immutable.
type Word struct {
	Tools  string // letters, a subset of "maps"
	Place  string // kind, each, meta, top, name, "absent KIND.KEY", "differs KIND.KEY", a kind, or KIND.KEY
	Theirs string
	Ours   string // our word, "-" for none, "!" where it is refused, "&" and the name of a function
	Note   string // why; may be empty, unless it is refused
}

// Set is a parameter that comes with a word.
type Set struct{ Key, Value string }

// Refused reports whether the word is an error.
func (w *Word) Refused() bool { return w.Ours == "!" }

// Dropped reports whether nothing is lost by leaving the word out.
func (w *Word) Dropped() bool { return w.Ours == "-" }

// Func returns the name of the function that converts the value; empty for none.
func (w *Word) Func() string {
	name, ok := strings.CutPrefix(w.Ours, "&")
	if !ok {
		return ""
	}
	return name
}

// Name returns our word alone.
func (w *Word) Name() string {
	name, _, _ := strings.Cut(w.Ours, " ")
	return name
}

// Sets returns the parameters that come with the word.
func (w *Word) Sets() []Set {
	_, rest, _ := strings.Cut(w.Ours, " ")
	var sets []Set
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, "=")
		sets = append(sets, Set{key, value})
	}
	return sets
}

// toolNames are what the letters stand for, in the order in which they are named.
var toolNames = []struct{ Letter, Name string }{
	{"m", "mgmt of purpleidea"}, {"a", "Ansible"}, {"p", "Puppet"}, {"s", "Salt"},
}

// Origin names the tools that have the word.
func (w *Word) Origin() string {
	var names []string
	for _, t := range toolNames {
		if strings.Contains(w.Tools, t.Letter) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}

// table is the rows by place and word, in lower case.
type table struct {
	rows   []*Word
	places map[string]map[string]*Word
	begins map[string][]*Word // rows whose word ends in *, by place
}

// loaded is the table, after the first use. A variable that a function makes at the start would keep the table in programs
// that never use it.
var loaded struct {
	sync.Once
	table *table
}

func load() *table {
	loaded.Do(func() {
		t, err := parse(source, "")
		if err != nil {
			panic(err) // the table is a part of the program, and tested
		}
		loaded.table = t
	})
	return loaded.table
}

// All returns all words, in the order of the table. The slice is the caller's.
func All() []*Word { return append([]*Word(nil), load().rows...) }

// parse reads the rows that have a part.
func parse(text, part string) (*table, error) {
	t := &table{places: map[string]map[string]*Word{}, begins: map[string][]*Word{}}
	i := 0
	for line := range strings.SplitSeq(text, "\n") {
		i++
		if !strings.Contains(line, part) || strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		w, err := parseRow(line)
		if err == nil {
			err = t.add(w)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %s", i, err, line)
		}
	}
	return t, nil
}

func parseRow(line string) (*Word, error) {
	cells := strings.SplitN(line, "|", 5)
	if len(cells) != 5 {
		return nil, fmt.Errorf("a row has five cells")
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	w := &Word{cells[0], cells[1], cells[2], cells[3], cells[4]}
	switch {
	case w.Tools == "" || strings.Trim(w.Tools, "maps") != "":
		return nil, fmt.Errorf("there are the tools m, a, p and s")
	case w.Ours == "":
		return nil, fmt.Errorf("our word is missing")
	case w.Refused() && w.Note == "":
		return nil, fmt.Errorf("what is refused needs a note")
	}
	return w, nil
}

// add adds a row; an existing row gets the other tools.
func (t *table) add(w *Word) error {
	at := t.places[w.Place]
	if at == nil {
		at = map[string]*Word{}
		t.places[w.Place] = at
	}
	key := folded(w.Place, w.Theirs)
	if first := at[key]; first != nil {
		if first.Ours != w.Ours {
			return fmt.Errorf("the word stands there with another meaning: %q", first.Ours)
		}
		first.Tools = merged(first.Tools, w.Tools)
		return nil
	}
	at[key] = w
	t.rows = append(t.rows, w)
	if prefix, ok := strings.CutSuffix(key, "*"); ok && prefix != "" {
		t.begins[w.Place] = append(t.begins[w.Place], w)
	}
	return nil
}

// folded is a word as it is looked up: kinds are the same in capitals.
func folded(place, word string) string {
	if place == "kind" {
		return strings.ToLower(word)
	}
	return word
}

func merged(a, b string) string {
	var out strings.Builder
	for _, t := range toolNames {
		if strings.Contains(a+b, t.Letter) {
			out.WriteString(t.Letter)
		}
	}
	return out.String()
}

// find returns the row of a word, nil where there is none.
func (t *table) find(place, word string) *Word {
	if w := t.places[place][word]; w != nil {
		return w
	}
	for _, w := range t.begins[place] {
		if strings.HasPrefix(word, strings.TrimSuffix(folded(place, w.Theirs), "*")) {
			return w
		}
	}
	return nil
}

// collections are the collections of Ansible, whose modules have short names too.
var collections = []string{"ansible.builtin.", "ansible.legacy."}

// Kind returns the row of a kind of another tool, nil where there is none.
func Kind(word string) *Word {
	word = strings.ToLower(word)
	for _, c := range collections {
		if short, ok := strings.CutPrefix(word, c); ok {
			word = short
		}
	}
	return load().find("kind", word)
}

// Qualified returns the kind without the collection of Ansible that it comes with.
func Qualified(word string) string {
	word = strings.ToLower(word)
	for _, c := range collections {
		word = strings.TrimPrefix(word, c)
	}
	return word
}

// Param returns the row of a parameter of one of our kinds, or of a key of every resource.
func Param(kind, word string) *Word {
	if w := load().find(kind, word); w != nil {
		return w
	}
	return load().find("each", word)
}

// Top returns the row of a key at the top of a graph.
func Top(word string) *Word { return load().find("top", word) }

// Meta returns the row of a metaparameter.
func Meta(word string) *Word { return load().find("meta", word) }

// HasValues reports whether there are rows about values of a parameter; its place is
// KIND.KEY, or meta.KEY.
// It searches the text of the table, since every graph asks for its parameters and few have a word of another tool.
func HasValues(place string) bool { return strings.Contains(source, "| "+place+" |") }

// Value returns the row of a value, nil where there is none. Its place is KIND.KEY, or
// meta.KEY.
func Value(place string, n *schema.Node) *Word {
	t := load()
	if t.places[place] == nil || n == nil {
		return nil
	}
	switch {
	case n.Kind == schema.NodeList:
		return t.places[place]["[]"]
	case n.Kind == schema.NodeMap:
		return t.places[place]["{}"]
	case n.Text == "" || n.Kind == schema.NodeNull:
		return t.places[place]["~"]
	}
	if w := t.find(place, n.Text); w != nil {
		return w
	}
	return t.places[place]["~text"]
}

// Named returns the row of how a name begins, nil where there is none.
func Named(name string) *Word {
	if len(name) > 1 && name[0] == '@' && name[1] == '@' {
		return load().places["name"]["@@"]
	}
	return nil
}

// Absent is a difference between tools in what nothing means.
type Absent struct {
	*Word
	Keys  []string // the parameters of which one is absent
	Quiet bool     // told only where it is asked for, or where the graph has words of that tool
}

// With returns the parameter with which the difference counts; empty where it always does.
func (a Absent) With() string { return a.Theirs }

// AbsentOf returns the differences of a kind. It parses only the rows of that kind: every graph asks for the kinds
// that it has, and most graphs have no word of another tool.
func AbsentOf(kind string) []Absent {
	t, err := parse(source, " "+kind+".")
	if err != nil {
		panic(err) // the table is a part of the program, and tested
	}
	var list []Absent
	for _, w := range t.rows {
		for _, sort := range []string{"absent", "differs"} {
			if keys, ok := strings.CutPrefix(w.Place, sort+" "+kind+"."); ok {
				list = append(list, Absent{w, strings.Split(keys, "+"), sort == "differs"})
			}
		}
	}
	return list
}
