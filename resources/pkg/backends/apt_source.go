package backends

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// aptSet is what an entry of apt's sources stands for: each of its types with each of its addresses, releases and components. Of
// a release that ends in a slash the only component is the empty one.
// It is a value; its lists are never changed in place, since several sets may share them.
type aptSet struct{ types, uris, suites, comps []string }

// parts are the four in the order in which an entry is taken apart.
func (s *aptSet) parts() [4]*[]string { return [4]*[]string{&s.types, &s.uris, &s.suites, &s.comps} }

// take returns the common part of two sets, nil for none, and the rest of s.
// The rest is up to four sets: one for each part in which something was left over. Together with hit
// they are exactly s, and no two overlap.
func (s aptSet) take(ask aptSet) (hit *aptSet, rest []aptSet) {
	common, rem := s, s
	for i, part := range common.parts() {
		wanted := *ask.parts()[i]
		*part = slices.DeleteFunc(slices.Clone(*part), func(v string) bool {
			return !slices.ContainsFunc(wanted, func(w string) bool { return sameSource(v, w) })
		})
		if len(*part) == 0 {
			return nil, []aptSet{s}
		}
	}
	for i, part := range rem.parts() {
		taken := *common.parts()[i]
		left := slices.DeleteFunc(slices.Clone(*part), func(v string) bool { return slices.Contains(taken, v) })
		if len(left) > 0 {
			other := rem
			*other.parts()[i] = left
			rest = append(rest, other)
		}
		*part = taken
	}
	return &common, rest
}

// sameSource compares words of sources as apt does: an address is the same with and without a slash at its end.
func sameSource(a, b string) bool {
	if a == b {
		return true
	}
	return strings.Contains(a, ":") && strings.Contains(b, ":") && plainAddress(a) == plainAddress(b)
}

// plainAddress leaves parts out of an address that make no difference. They are a slash at the
// end, // before the path of a file, and a user with a password.
func plainAddress(s string) string {
	s = strings.TrimSuffix(withoutPassword(s), "/")
	return strings.Replace(s, "file:///", "file:/", 1)
}

// aptEntry is one entry of a file: a line of a .list, or a stanza of a .sources.
// An entry is immutable: with returns the text of another one.
type aptEntry interface {
	set() aptSet
	enabled() bool
	// with returns the text of an entry like this one, for a set, switched on or off.
	with(set aptSet, enabled bool, o aptOptions) string
}

// aptOptions are the other fields of an entry to alter; nil for a field that stays.
type aptOptions struct {
	Trusted *bool
	Key     *string
}

// aptPiece is a part of a file: an entry, or text that is none.
type aptPiece struct {
	text  string
	entry aptEntry // or nil
	at    int      // as apt counts: the number of the line, or of the stanza
}

// aptPieces takes a file apart. An unreadable part is kept as text: apt reports its fault.
func aptPieces(path, text string) []aptPiece {
	if strings.HasSuffix(path, ".sources") {
		return stanzaPieces(text)
	}
	var pieces []aptPiece
	n := 0
	for line := range strings.Lines(text) {
		n++
		p := aptPiece{text: line, at: n}
		if e, ok := parseSourceLine(line); ok {
			p.entry = e
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// sourceLine is a line of a .list.
type sourceLine struct {
	text    string
	off     bool
	kind    string
	options []string // without the brackets
	rest    []string // the address, the release, the components
	comment string   // with the sign before it
}

var sourceWord = lazyregexp.New(`^(?:\[[^\]]*\]|"[^"]*"|[^\s\[\]]+|\[[^\]]*)+`)

// parseSourceLine reads a line, also a commented one.
func parseSourceLine(line string) (sourceLine, bool) {
	body := strings.TrimSpace(line)
	l := sourceLine{text: line}
	if bare := strings.TrimLeft(body, "# \t"); strings.HasPrefix(body, "#") {
		l.off, body = true, bare
	}
	for first := true; body != ""; first = false {
		if strings.HasPrefix(body, "#") {
			l.comment = body
			break
		}
		word := sourceWord.FindString(body)
		if word == "" {
			return l, false
		}
		body = strings.TrimSpace(body[len(word):])
		switch {
		case first:
			l.kind = word
		case len(l.rest) == 0 && l.options == nil && strings.HasPrefix(word, "["):
			l.options = strings.Fields(strings.Trim(word, "[]"))
		default:
			l.rest = append(l.rest, word)
		}
	}
	if l.kind != "deb" && l.kind != "deb-src" || len(l.rest) < 2 || !strings.Contains(l.rest[0], ":") {
		return l, false
	}
	return l, strings.HasSuffix(l.rest[1], "/") == (len(l.rest) == 2)
}

// set has one type, address and release, as a line can have no more.
func (l sourceLine) set() aptSet {
	s := aptSet{[]string{l.kind}, l.rest[:1], l.rest[1:2], l.rest[2:]}
	if len(s.comps) == 0 {
		s.comps = []string{""}
	}
	return s
}

// enabled is false for a line that is commented out.
func (l sourceLine) enabled() bool { return !l.off }

// with returns the line itself where nothing differs, so that its blanks and tabs stay.
func (l sourceLine) with(set aptSet, enabled bool, o aptOptions) string {
	options := l.options
	if o.Trusted != nil {
		options = setOption(options, "trusted", yesNo(*o.Trusted))
	}
	if o.Key != nil {
		options = setOption(options, "signed-by", *o.Key)
	}
	if enabled != l.off && slices.Equal(options, l.options) && slices.Equal(set.comps, l.set().comps) {
		return l.text
	}
	l.options = options
	var out strings.Builder
	words := []string{l.kind}
	if len(l.options) > 0 {
		words = append(words, "["+strings.Join(l.options, " ")+"]")
	}
	words = append(words, l.rest[:2]...)
	words = append(words, set.comps...)
	if !enabled {
		out.WriteString("# ")
	}
	out.WriteString(strings.TrimRight(strings.Join(words, " "), " "))
	if l.comment != "" {
		out.WriteString(" " + l.comment)
	}
	return out.String() + "\n"
}

// setOption gives an option of a line a value.
// It keeps the other options and their order, and writes into a copy.
func setOption(options []string, name, value string) []string {
	at := slices.IndexFunc(options, func(o string) bool {
		key, _, _ := strings.Cut(strings.ToLower(o), "=")
		return strings.TrimRight(key, "+-") == name
	})
	if at < 0 {
		return append(slices.Clone(options), name+"="+value)
	}
	options = slices.Clone(options)
	options[at] = name + "=" + value
	return options
}

// yesNo is the word of apt for a switch.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// stanzaPieces takes a file of stanzas apart. Apt does not count those of comments only.
func stanzaPieces(text string) []aptPiece {
	var pieces []aptPiece
	var lines []string
	n := 0
	end := func() {
		if len(lines) == 0 {
			return
		}
		p := aptPiece{text: strings.Join(lines, "")}
		if slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "#") }) {
			n++
			p.at = n
			if s := (stanza{lines}); s.complete() {
				p.entry = s
			}
		}
		pieces, lines = append(pieces, p), nil
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			end()
			pieces = append(pieces, aptPiece{text: line})
			continue
		}
		lines = append(lines, line)
	}
	end()
	return pieces
}

// stanza is one of a .sources, as lines with their ends.
type stanza struct{ lines []string }

// field returns the words of a field, and the lines that it has: from the first to before the last.
// Names of fields are compared without regard to case, as in deb822(5). A line that begins with a
// blank goes on with the field before.
func (s stanza) field(name string) (words []string, from, to int) {
	from = -1
	for i, line := range s.lines {
		switch {
		case strings.HasPrefix(line, "#"):
		case from >= 0 && (line[0] == ' ' || line[0] == '\t'):
			words, to = append(words, strings.Fields(line)...), i+1
		case from >= 0:
			return words, from, to
		default:
			key, value, ok := strings.Cut(line, ":")
			if ok && strings.EqualFold(strings.TrimSpace(key), name) {
				words, from, to = strings.Fields(value), i, i+1
			}
		}
	}
	return words, from, to
}

// put returns a stanza with another value of a field; an empty one removes it. Comments in the field stay.
// The stanza itself is not changed, since another set may still need it.
func (s stanza) put(name, value string) stanza {
	words, from, to := s.field(name)
	if from >= 0 && slices.Equal(words, strings.Fields(value)) {
		return s
	}
	line := name + ": " + value + "\n"
	if from < 0 {
		out := slices.Clone(s.lines)
		if last := len(out) - 1; !strings.HasSuffix(out[last], "\n") {
			out[last] += "\n"
		}
		return stanza{append(out, line)}
	}
	kept := slices.DeleteFunc(slices.Clone(s.lines[from+1:to]), func(l string) bool { return !strings.HasPrefix(l, "#") })
	if value != "" {
		kept = slices.Insert(kept, 0, line)
	}
	return stanza{slices.Concat(s.lines[:from], kept, s.lines[to:])}
}

// complete reports whether apt would use the stanza: a type, an address and a release are the least.
func (s stanza) complete() bool {
	set := s.set()
	return len(set.types) > 0 && len(set.uris) > 0 && len(set.suites) > 0
}

// set reads the four fields. A stanza without components is of a release that ends in a slash.
func (s stanza) set() aptSet {
	var set aptSet
	for i, name := range aptFields {
		*set.parts()[i], _, _ = s.field(name)
	}
	if len(set.comps) == 0 {
		set.comps = []string{""}
	}
	return set
}

// aptFields are the names of the four parts, in the order of aptSet.parts.
var aptFields = [4]string{"Types", "URIs", "Suites", "Components"}

// enabled reads the words that apt takes for no; any other word, and none, means yes.
func (s stanza) enabled() bool {
	words, from, _ := s.field("Enabled")
	return from < 0 || len(words) == 0 || !slices.Contains([]string{"no", "false", "without", "off", "disable"}, strings.ToLower(words[0]))
}

// with puts only the fields that differ, so comments and other fields keep their places.
func (s stanza) with(set aptSet, enabled bool, o aptOptions) string {
	now := s.set()
	for i, name := range aptFields {
		if want := *set.parts()[i]; !slices.Equal(want, *now.parts()[i]) {
			s = s.put(name, strings.Join(want, " "))
		}
	}
	if enabled != s.enabled() {
		s = s.put("Enabled", yesNo(enabled))
	}
	if o.Trusted != nil {
		s = s.put("Trusted", yesNo(*o.Trusted))
	}
	if o.Key != nil {
		s = s.put("Signed-By", *o.Key)
	}
	return strings.Join(s.lines, "")
}

// parseAptRepo reads the name of a repository: as list_repos gives it, perhaps behind deb or deb-src, and with one component or more.
func parseAptRepo(name string) (aptSet, error) {
	wrong := fmt.Errorf("%q is no repository of apt: write the address, the release and the components, as in https://example.com/debian/ stable main, or a release that ends in a slash, as ./", name)
	if strings.ContainsAny(name, "\n\r#[]\"") {
		return aptSet{}, wrong
	}
	words := strings.Fields(name)
	kind := "deb"
	if len(words) > 0 && (words[0] == "deb" || words[0] == "deb-src") {
		kind, words = words[0], words[1:]
	}
	l := sourceLine{kind: kind, rest: words}
	if len(words) < 2 || strings.HasSuffix(words[1], "/") != (len(words) == 2) {
		return aptSet{}, wrong
	}
	return l.set(), checkAddress(words[0], words[0])
}
