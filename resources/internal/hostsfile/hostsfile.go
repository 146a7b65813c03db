package hostsfile

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Entry is what a line says.
type Entry struct {
	IP      netip.Addr
	Name    string   // the canonical name: the first one
	Aliases []string // the others, in their order; nil when there are none
	Comment string   // without the # and the blanks around it
}

// Equal reports whether both say the same.
func (e Entry) Equal(o Entry) bool {
	return e.IP == o.IP && e.Name == o.Name && e.Comment == o.Comment && slices.Equal(e.Aliases, o.Aliases)
}

// Family returns the family of the entry's address.
func (e Entry) Family() Family {
	if e.IP.Is4() {
		return IPv4
	}
	return IPv6
}

// Family is a set of addresses.
type Family uint8

// The families.
const (
	Any Family = iota
	IPv4
	IPv6
)

// Has reports whether the family has the other one in it.
func (f Family) Has(o Family) bool { return f == Any || f == o }

// File is a hosts file. The zero File is an empty one.
type File struct {
	lines []line
	index map[string][]int // the lines of a name, in lower case
}

type line struct {
	text  string // with its end
	entry *Entry // nil for what is foreign, and for what was removed
}

// Parse reads a file. It takes every text.
func Parse(text string) *File {
	f := &File{}
	for l := range strings.SplitAfterSeq(text, "\n") {
		if l == "" {
			continue
		}
		if e, ok := parseLine(l); ok {
			f.add(l, &e)
		} else {
			f.lines = append(f.lines, line{text: l})
		}
	}
	return f
}

func (f *File) add(text string, e *Entry) {
	if f.index == nil {
		f.index = map[string][]int{}
	}
	key := strings.ToLower(e.Name)
	f.index[key] = append(f.index[key], len(f.lines))
	f.lines = append(f.lines, line{text, e})
}

// String returns the file's text.
func (f *File) String() string {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// Entries returns all entries in the order of the file.
func (f *File) Entries() []Entry {
	var all []Entry
	for _, l := range f.lines {
		if l.entry != nil {
			all = append(all, *l.entry)
		}
	}
	return all
}

// Find returns the entries of a name and a family in the order of the file.
func (f *File) Find(name string, fam Family) []Entry {
	var found []Entry
	for _, i := range f.at(name, fam) {
		found = append(found, *f.lines[i].entry)
	}
	return found
}

// at returns the lines of a name and a family.
func (f *File) at(name string, fam Family) []int {
	var found []int
	for _, i := range f.index[strings.ToLower(name)] {
		if e := f.lines[i].entry; e != nil && fam.Has(e.Family()) {
			found = append(found, i)
		}
	}
	return found
}

// Put makes the entry the only one of its name and of the family, which has to have
// its address.
func (f *File) Put(fam Family, e Entry) error {
	text, err := render(e)
	if err != nil {
		return err
	}
	if !fam.Has(e.Family()) {
		return fmt.Errorf("the address %s is not of the family that was asked for", e.IP)
	}
	at := f.at(e.Name, fam)
	if len(at) == 0 {
		f.append(text, e)
		return nil
	}
	for _, i := range at[1:] {
		f.lines[i] = line{}
	}
	if first := &f.lines[at[0]]; !first.entry.Equal(e) {
		*first = line{text + ending(first.text), &e}
	}
	return nil
}

// append adds a line at the end.
func (f *File) append(text string, e Entry) {
	if n := len(f.lines); n > 0 {
		if last := &f.lines[n-1]; last.text != "" && !strings.HasSuffix(last.text, "\n") {
			last.text += "\n"
		}
	}
	f.add(text+"\n", &e)
}

// Remove removes all entries of a name and a family, and reports whether there were
// any.
func (f *File) Remove(name string, fam Family) bool {
	at := f.at(name, fam)
	for _, i := range at {
		f.lines[i] = line{}
	}
	return len(at) > 0
}

// ending returns how a line ends.
func ending(text string) string {
	switch {
	case strings.HasSuffix(text, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return ""
}

const blanks = " \t\r\n\v\f"

// parseLine reads one line; false means that it is no entry.
func parseLine(text string) (Entry, bool) {
	body, comment, _ := strings.Cut(text, "#")
	words := strings.FieldsFunc(body, func(r rune) bool { return strings.ContainsRune(blanks, r) })
	if len(words) < 2 || !plainText(comment) {
		return Entry{}, false
	}
	ip, err := netip.ParseAddr(words[0])
	if err != nil || slices.ContainsFunc(words[1:], func(w string) bool { return !isName(w) }) {
		return Entry{}, false
	}
	e := Entry{IP: ip, Name: words[1], Comment: strings.Trim(comment, blanks)}
	if len(words) > 2 {
		e.Aliases = words[2:]
	}
	return e, true
}

// isName reports whether a word can be a name: printable ASCII without blanks.
func isName(w string) bool {
	for i := range len(w) {
		if w[i] <= ' ' || w[i] > '~' || w[i] == '#' {
			return false
		}
	}
	return w != ""
}

// plainText reports whether a comment, which may have an end of line behind it, is without control
// characters, and valid UTF-8.
func plainText(s string) bool {
	s = strings.TrimRight(s, "\r\n")
	return strings.ToValidUTF8(s, "\x00") == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// render returns the line of an entry, without its end.
func render(e Entry) (string, error) {
	var b strings.Builder
	b.WriteString(e.IP.String() + "\t" + e.Name)
	for _, a := range e.Aliases {
		b.WriteString(" " + a)
	}
	if e.Comment != "" {
		b.WriteString("\t# " + e.Comment)
	}
	if got, ok := parseLine(b.String()); ok && got.Equal(e) {
		return b.String(), nil
	}
	return "", why(e)
}

// why says what of an entry can't be written.
func why(e Entry) error {
	if !e.IP.IsValid() {
		return errors.New("an entry needs an address")
	}
	for _, n := range append([]string{e.Name}, e.Aliases...) {
		if !isName(n) {
			return fmt.Errorf("%q can't be a name of a host: it has to be of printable ASCII characters without blanks and #", n)
		}
	}
	return fmt.Errorf("%q can't be a comment: it has to be one line without blanks around it", e.Comment)
}
