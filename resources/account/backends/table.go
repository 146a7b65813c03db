package backends

import (
	"iter"
	"slices"
	"strings"
)

// table is the text of a database: lines of fields, separated by colons; the first is
// the name. Unchanged lines stay as they are, byte for byte: comments, lines of
// other services, and damaged lines. A table belongs to one goroutine.
type table struct {
	lines []string       // with their ends
	at    map[string]int // the first line of each name
}

// parseTable reads a text of any quality: a damaged line is a line.
func parseTable(text string) *table {
	t := &table{lines: slices.Collect(strings.Lines(text))}
	t.index()
	return t
}

// index finds the lines of all names. It has to follow each change of their places.
func (t *table) index() {
	t.at = make(map[string]int, len(t.lines))
	for i, line := range t.lines {
		name := nameOf(line)
		if _, twice := t.at[name]; name != "" && !twice {
			t.at[name] = i
		}
	}
}

// nameOf returns the name of a line; nothing if it is none of a user or a group.
// Lines of other services begin with + or -, comments with #.
// It is empty for a line that is damaged before its first colon.
func nameOf(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsRune("#+-", rune(name[0])) {
		return ""
	}
	return name
}

// get returns the fields of a name; nil if it is not there. The slice is new, so the
// caller may alter it.
func (t *table) get(name string) []string {
	if i, ok := t.at[name]; ok {
		return fieldsOf(t.lines[i])
	}
	return nil
}

// fieldsOf parts a line at its colons. A line without one has one field.
func fieldsOf(line string) []string { return strings.Split(strings.TrimRight(line, "\r\n"), ":") }

// rows yields the fields of each name, in the order of the lines. A name that stands
// twice is yielded once, with its first line, as the C library finds it. A row may
// be put while the loop goes on.
func (t *table) rows() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i, line := range t.lines {
			if name := nameOf(line); name != "" && t.at[name] == i && !yield(fieldsOf(line)) {
				return
			}
		}
	}
}

// put sets the fields of a name. A new one comes last, but before the lines of other
// services, such as + and the lines after it. The line keeps its place and its end.
func (t *table) put(fields []string) {
	line := strings.Join(fields, ":") + "\n"
	if i, ok := t.at[fields[0]]; ok {
		if !strings.HasSuffix(t.lines[i], "\n") {
			line = strings.TrimSuffix(line, "\n")
		}
		t.lines[i] = line
		return
	}
	end := len(t.lines)
	for end > 0 && strings.ContainsRune("+-", rune(t.lines[end-1][0])) {
		end--
	}
	if end > 0 && !strings.HasSuffix(t.lines[end-1], "\n") {
		t.lines[end-1] += "\n"
	}
	t.lines = slices.Insert(t.lines, end, line)
	t.index()
}

// remove removes all lines of a name. A second line of the name would bring the user
// back, so it goes too.
func (t *table) remove(name string) {
	if _, ok := t.at[name]; !ok {
		return
	}
	t.lines = slices.DeleteFunc(t.lines, func(line string) bool { return nameOf(line) == name })
	t.index()
}

// rename gives a name another one. A missing one is nothing to rename.
// The line keeps its place.
func (t *table) rename(name, to string) {
	fields := t.get(name)
	if fields == nil {
		return
	}
	i := t.at[name]
	fields[0] = to
	t.at[to] = i
	delete(t.at, name)
	t.put(fields)
}

// String returns the text.
// Without a change it is the text that was parsed, byte for byte.
func (t *table) String() string { return strings.Join(t.lines, "") }
