package rubyre

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// translate turns a regular expression of Ruby into one of RE2 that is found in the
// same texts. The error completes "the regular expression /x/ ...".
func translate(source string) (string, error) {
	t := translator{src: source, atom: -1}
	// In Ruby ^ and $ are always about lines, and \A and \z about the text.
	t.out.WriteString("(?m)")
	for t.pos < len(t.src) {
		if err := t.step(); err != nil {
			return "", err
		}
	}
	t.endRests()
	return t.out.String(), nil
}

// translator goes through a source once. atom is where in out the last thing that
// can be repeated begins, -1 where there is none.
// It lives during one call of translate, on one goroutine.
type translator struct {
	// src and pos say what is read, and out what was written.
	src      string
	pos      int
	out      strings.Builder
	atom     int
	repeated bool     // the atom has a repeat already
	free     bool     // (?x): blanks and comments count nothing
	groups   []group  // that are open
	names    []string // of groups
}

// A group is open: start is where it begins in out, and free what (?x) was before it. A rest is the
// group of flags that hold to the end of the group around it.
type group struct {
	start      int
	free, rest bool
}

// rest is the source that is not read yet.
func (t *translator) rest() string { return t.src[t.pos:] }

// has reports whether the source goes on with a prefix.
func (t *translator) has(prefix string) bool { return strings.HasPrefix(t.rest(), prefix) }

// emit writes an atom that stands for n bytes of the source.
func (t *translator) emit(n int, text string) {
	t.atom, t.repeated = t.out.Len(), false
	t.out.WriteString(text)
	t.pos += n
}

// step translates the next element. Each step writes an atom, a repeat or a mark, so atom
// always points to the last repeatable part.
func (t *translator) step() error {
	switch c := t.src[t.pos]; c {
	case '\\':
		return t.escape()
	case '[':
		return t.class()
	case '(':
		return t.open()
	case ')':
		t.close()
	case '|':
		t.out.WriteByte('|')
		// An alternative begins anew: nothing can be repeated there.
		t.pos, t.atom = t.pos+1, -1
	case '*', '+', '?', '{':
		return t.repeat()
	// They count only without (?x), and then stand for themselves.
	case ' ', '\t', '\n', '\r', '\f', '\v', '#':
		t.blank(c)
	default:
		_, size := utf8.DecodeRuneInString(t.rest())
		t.emit(size, t.src[t.pos:t.pos+size])
	}
	return nil
}

// blank skips a blank or a comment under (?x).
func (t *translator) blank(c byte) {
	switch {
	case !t.free:
		t.emit(1, string(c))
	case c == '#':
		comment, _, _ := strings.Cut(t.rest(), "\n")
		t.pos += len(comment)
	default:
		t.pos++
	}
}

// close ends a group, which is an atom then; flags that were set inside end with it.
// The open groups are a stack. Their number is bounded by the length of the pattern.
func (t *translator) close() {
	t.endRests()
	start := t.out.Len()
	// A parenthesis too many is written all the same: RE2 then has the error, with its place.
	if n := len(t.groups); n > 0 {
		start, t.free = t.groups[n-1].start, t.groups[n-1].free
		t.groups = t.groups[:n-1]
	}
	t.out.WriteByte(')')
	t.pos++
	t.atom, t.repeated = start, false
}

// endRests closes the groups of flags in the innermost group of the source. That group says what (?x) is
// behind it.
func (t *translator) endRests() {
	for n := len(t.groups) - 1; n >= 0 && t.groups[n].rest; n-- {
		t.out.WriteByte(')')
		t.groups = t.groups[:n]
	}
}

// foreign are the groups that RE2 cannot do.
var foreign = []struct{ prefix, what string }{
	{"(?=", "look-ahead"}, {"(?!", "look-ahead"}, {"(?<=", "look-behind"}, {"(?<!", "look-behind"},
	{"(?>", "an atomic group"}, {"(?~", "an absence group"}, {"(?(", "a condition"},
}

// refused is the error for a feature of Ruby that RE2 lacks.
// The user who wrote the expression can write it without the feature. So no other engine is used
// for it, which would need a limit of time for each match.
func refused(what string) error {
	return fmt.Errorf("has %s, which RE2 cannot do; write it without", what)
}

// open reads the beginning of a group.
func (t *translator) open() error {
	for _, f := range foreign {
		if t.has(f.prefix) {
			return refused(f.what)
		}
	}
	switch {
	case t.has("(?#"):
		i := strings.IndexByte(t.rest(), ')')
		if i < 0 {
			return errors.New("has a comment without an end")
		}
		t.pos += i + 1
		return nil
	case t.has("(?<"), t.has("(?'"):
		return t.named()
	case t.has("(?:"):
		t.push(3, "(?:")
	case t.has("(?"):
		return t.flags()
	default:
		t.push(1, "(")
	}
	return nil
}

// push opens a group of n bytes of the source.
func (t *translator) push(n int, text string) {
	t.groups = append(t.groups, group{start: t.out.Len(), free: t.free})
	t.out.WriteString(text)
	t.pos, t.atom = t.pos+n, -1
}

// named reads (?<name> or (?'name'. A name that is given twice is left out.
func (t *translator) named() error {
	end := ">"
	if t.has("(?'") {
		end = "'"
	}
	name, _, ok := strings.Cut(t.rest()[3:], end)
	if !ok || name == "" {
		return errors.New("has a group whose name has no end")
	}
	// Both notations of the name are of the same length.
	length := len("(?<") + len(name) + 1
	// Ruby knows several groups of one name, and names with letters of all languages. RE2 does
	// not. The group matches the same without its name.
	if slices.Contains(t.names, name) || strings.ContainsFunc(name, func(r rune) bool { return !isWord(r) }) {
		t.push(length, "(")
		return nil
	}
	t.names = append(t.names, name)
	t.push(length, "(?P<"+name+">")
	return nil
}

// flags reads (?imx-imx) and (?imx-imx:. Ruby's m is RE2's s.
func (t *translator) flags() error {
	letters := t.rest()[2:]
	n := strings.IndexAny(letters, ":)")
	if n < 0 || strings.Trim(letters[:n], "imx-") != "" || strings.Count(letters[:n], "-") > 1 {
		return errors.New("has a group of an unknown sort")
	}
	on, off, _ := strings.Cut(letters[:n], "-")
	switch flags := "(?" + flagText(on, off); {
	case letters[n] == ':' || t.atom >= 0:
		t.push(n+3, flags+":")
		// Flags without a colon hold to the end of the group, and so do the alternatives there: in Ruby a(?i)b|c is
		// a(?i:b|c), and in RE2 it is not.
		t.groups[len(t.groups)-1].rest = letters[n] == ')'
	case flags != "(?":
		t.out.WriteString(flags + ")")
		fallthrough
	default:
		t.pos, t.atom = t.pos+n+3, -1
	}
	switch {
	// The end of the group brings the former one back.
	case strings.Contains(on, "x"):
		t.free = true
	case strings.Contains(off, "x"):
		t.free = false
	}
	return nil
}

// flagText writes flags as RE2 knows them: Ruby's m, under which a dot takes a line break,
// is s there. The flag x is done by the translation itself.
func flagText(on, off string) string {
	ours := func(s string) string {
		text := ""
		if strings.Contains(s, "i") {
			text += "i"
		}
		if strings.Contains(s, "m") {
			text += "s"
		}
		return text
	}
	if off := ours(off); off != "" {
		return ours(on) + "-" + off
	}
	return ours(on)
}

// repeat reads *, +, ?, {n,m} and what makes them lazy or possessive.
func (t *translator) repeat() error {
	// A brace that begins no repeat is a character, in both notations.
	text, length := t.src[t.pos:t.pos+1], 1
	braces := text == "{"
	if braces {
		if text, length = t.braces(); length == 0 {
			t.emit(1, `\{`)
			return nil
		}
	}
	if t.atom < 0 {
		return fmt.Errorf("repeats nothing at %q", shorten(t.rest()))
	}
	t.pos += length
	switch {
	case !braces && t.has("+"):
		return refused("a possessive repeat")
	case t.has("?") && (!braces || strings.Contains(text, ",")): // {n}? is a repeat that may be missing
		text += "?"
		t.pos++
	}
	// RE2 refuses a repeat of a repeat, such as a{2}{3}; in a group it is the same.
	if t.repeated {
		t.group()
	}
	t.out.WriteString(text)
	t.repeated = true
	return nil
}

// group puts the last atom into a group, so that it can be repeated again.
func (t *translator) group() {
	text := t.out.String()
	t.out.Reset()
	t.out.WriteString(text[:t.atom] + "(?:" + text[t.atom:] + ")")
}

// braces reads {n}, {n,}, {,m} or {n,m}; a length of 0 says that it is none.
func (t *translator) braces() (text string, length int) {
	inner, _, ok := strings.Cut(t.rest()[1:], "}")
	low, high, comma := strings.Cut(inner, ",")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if !ok || !digits(low) || !digits(high) || low == "" && high == "" {
		return "", 0
	}
	if low == "" {
		low = "0"
	}
	if comma {
		low += ","
	}
	return "{" + low + high + "}", len(inner) + 2
}

// escape reads a backslash outside of a class.
func (t *translator) escape() error {
	if t.pos+1 == len(t.src) {
		return errors.New("ends with a backslash")
	}
	switch c := t.src[t.pos+1]; {
	case '1' <= c && c <= '9' && !octal(t.rest()), c == 'k':
		return refused("a back-reference")
	case c == 'g':
		return refused("a call of a group")
	case c == 'X' || c == 'G':
		return refused(`\` + string(c))
	case anchors[c] != "":
		t.emit(2, anchors[c])
		return nil
	// \K only moves the beginning of a found text. Here it only counts whether a text is found.
	case c == 'K':
		t.pos += 2
		return nil
	case c == 'R':
		t.emit(2, `(?:\r\n|[\n-\r\x{85}\x{2028}\x{2029}])`)
		return nil
	}
	set, length, err := escaped(t.rest())
	if err != nil {
		return err
	}
	t.emit(length, set.outside())
	return nil
}

// octal reports whether an escape by number has two octal digits: such a number is
// of a character, not of a group.
// Ruby takes a number of one digit for a group, as here. It decides by the number of groups for
// longer ones.
func octal(s string) bool {
	return len(s) > 2 && '0' <= s[1] && s[1] <= '7' && '0' <= s[2] && s[2] <= '7'
}

// anchors are the escapes that stand for a place.
// \Z is before a last line break too; RE2 knows only \z.
var anchors = map[byte]string{'A': `\A`, 'z': `\z`, 'Z': `(?:\n?\z)`, 'b': `\b`, 'B': `\B`}

// isWord reports whether a group of RE2 may have the character in its name.
// RE2 allows letters of ASCII only.
func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
