package rubyre

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// runeSet is pairs of first and last runes, in order and apart. A set of one rune
// may be a literal.
type runeSet []rune

// single returns the only rune of s, if there is one only.
func (s runeSet) single() (rune, bool) {
	if len(s) == 2 && s[0] == s[1] {
		return s[0], true
	}
	return 0, false
}

// text writes the set as the inside of a class.
func (s runeSet) text() string {
	var b strings.Builder
	for i := 0; i < len(s); i += 2 {
		fmt.Fprintf(&b, `\x{%x}`, s[i])
		if s[i] != s[i+1] {
			fmt.Fprintf(&b, `-\x{%x}`, s[i+1])
		}
	}
	return b.String()
}

// outside writes the set as an atom; an empty one matches nothing.
func (s runeSet) outside() string {
	// RE2 has no notation for an empty class, so this one leaves out every rune.
	if len(s) == 0 {
		return `[^\x{0}-\x{10ffff}]`
	}
	if r, ok := s.single(); ok {
		return fmt.Sprintf(`\x{%x}`, r)
	}
	return "[" + s.text() + "]"
}

// union sorts and joins.
func (s runeSet) union(o runeSet) runeSet {
	var pairs [][2]rune
	for _, set := range []runeSet{s, o} {
		for i := 0; i < len(set); i += 2 {
			pairs = append(pairs, [2]rune{set[i], set[i+1]})
		}
	}
	sorted.Func(pairs, func(a, b [2]rune) int { return int(a[0]) - int(b[0]) })
	var out runeSet
	// Neighbours are joined as well, which keeps the text of the class short.
	for _, p := range pairs {
		if n := len(out); n > 0 && p[0] <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p[1])
			continue
		}
		out = append(out, p[0], p[1])
	}
	return out
}

// negated returns all other runes, up to the last one of Unicode.
// The set has to be in order, as union leaves it.
func (s runeSet) negated() runeSet {
	var out runeSet
	next := rune(0)
	for i := 0; i < len(s); i += 2 {
		if s[i] > next {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

// intersect returns the runes in both sets, by the law of De Morgan: it needs no second
// algorithm.
func (s runeSet) intersect(o runeSet) runeSet {
	return s.negated().union(o.negated()).negated()
}

// setOf returns the runes of a class in the notation of RE2.
func setOf(class string) (runeSet, error) {
	// The package regexp/syntax knows the tables of Unicode. Its parser makes the set, and no
	// second table is kept here.
	re, err := syntax.Parse(class, syntax.Perl&^syntax.FoldCase)
	switch {
	case err != nil:
		return nil, plainReason(err)
	case re.Op == syntax.OpLiteral && len(re.Rune) == 1:
		return runeSet{re.Rune[0], re.Rune[0]}, nil
	case re.Op == syntax.OpCharClass:
		return runeSet(re.Rune), nil
	// A class of all runes is simplified to this by the parser.
	case re.Op == syntax.OpAnyChar:
		return runeSet{0, unicode.MaxRune}, nil
	}
	return nil, fmt.Errorf("%s is no class of characters", class)
}

// shorthands are the escapes that stand for a class.
// They are those of ASCII, as in Ruby without (?u).
var shorthands = map[byte]string{
	'd': `[0-9]`, 'D': `[^0-9]`, 'w': `[0-9A-Za-z_]`, 'W': `[^0-9A-Za-z_]`, 's': `[\t-\r ]`, 'S': `[^\t-\r ]`,
	'h': `[0-9A-Fa-f]`, 'H': `[^0-9A-Fa-f]`,
}

// controls are the escapes that stand for one character.
// \b is not among them: only in a class it is a backspace.
var controls = map[byte]rune{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1b}

// posix are the classes that Ruby knows by name, in the notation of the inside of a class.
// They follow the documentation of Ruby, and what Ruby finds.
var posix = map[string]string{
	"alpha": `\p{L}\p{Nl}`, "digit": `\p{Nd}`, "alnum": `\p{L}\p{Nl}\p{Nd}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`,
	"space": `\t-\r \x{85}\p{Z}`, "blank": `\t\p{Zs}`, "punct": "\\p{P}$+<=>^`|~", "cntrl": `\p{Cc}`, "xdigit": `0-9A-Fa-f`,
	"word": `\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}`, "graph": `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}`, "print": `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\p{Cf}\p{Co}`,
	"ascii": `\x00-\x7f`,
}

// more are the runes of a class by name that Unicode lists one by one, beside its categories. RE2 has no name for them.
var more = map[string]*unicode.RangeTable{
	"alpha": unicode.Other_Alphabetic, "alnum": unicode.Other_Alphabetic, "word": unicode.Other_Alphabetic,
	"upper": unicode.Other_Uppercase, "lower": unicode.Other_Lowercase,
}

// namedSet returns the runes of a class of posix.
func namedSet(name string) (runeSet, error) {
	set, err := setOf("[" + posix[name] + "]")
	if table := more[name]; table != nil {
		set = set.union(tableSet(table))
	}
	return set, err
}

// tableSet returns the runes of a table of Unicode.
func tableSet(table *unicode.RangeTable) (set runeSet) {
	add := func(lo, hi, stride rune) {
		for r := lo; r <= hi; r += stride {
			set = append(set, r, r)
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return set
}

// escaped reads an escape at the front of s that stands for characters.
func escaped(s string) (set runeSet, length int, err error) {
	if len(s) < 2 {
		return nil, 0, errors.New("ends with a backslash")
	}
	c := s[1]
	switch {
	case shorthands[c] != "":
		set, err = setOf(shorthands[c])
		return set, 2, err
	case c == 'p' || c == 'P':
		return property(s)
	}
	r, length, err := escapedRune(s)
	return runeSet{r, r}, length, err
}

// escapedRune reads an escape that stands for one character.
func escapedRune(s string) (r rune, length int, err error) {
	c := s[1]
	switch {
	case controls[c] != 0:
		return controls[c], 2, nil
	case c == 'x':
		return digits(s, 2, 2, 16)
	// Ruby allows several characters between the braces. Definitions have one.
	case c == 'u' && strings.HasPrefix(s[2:], "{"):
		inner, _, _ := strings.Cut(s[3:], "}")
		r, n, err := digits(s, 3, 6, 16)
		if err == nil && n != 3+len(inner) {
			err = errors.New(`has a \u{} that is not one character`)
		}
		return r, n + 1, err
	case c == 'u':
		return digits(s, 2, 4, 16)
	case '0' <= c && c <= '7':
		return digits(s, 1, 3, 8)
	// A control character is the letter without its upper three bits.
	case c == 'c' && len(s) > 2:
		return rune(s[2] & 0x1f), 3, nil
	case c == 'C' || c == 'M':
		return 0, 0, refused(`\` + string(c))
	}
	// Any other character after a backslash stands for itself.
	r, size := utf8.DecodeRuneInString(s[1:])
	return r, 1 + size, nil
}

// digits reads up to most digits from s[start:].
// The first digit has to be there; fewer than most are enough.
func digits(s string, start, most, base int) (r rune, length int, err error) {
	end := start
	for end < len(s) && end-start < most {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(s[start:end], base, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, 0, fmt.Errorf("has a character by number that is none: %q", s[:end])
	}
	return rune(n), end, nil
}

// property reads \p{Name}, \P{Name} or \p{^Name}.
// Names of scripts and categories are those of Unicode. The names of POSIX are tried first, as in
// Ruby.
func property(s string) (runeSet, int, error) {
	name, _, ok := strings.Cut(strings.TrimPrefix(s[2:], "{"), "}")
	if !strings.HasPrefix(s[2:], "{") || !ok {
		return nil, 0, errors.New(`has a \p without a name in {}`)
	}
	bareName, inverted := strings.CutPrefix(name, "^")
	set, err := propertySet(bareName)
	if inverted != (s[1] == 'P') {
		set = set.negated()
	}
	// The length has the backslash, the letter and the two braces.
	return set, 4 + len(name), err
}

// propertySet returns the runes of a property. Punct is the one name that means less than in brackets.
func propertySet(name string) (runeSet, error) {
	switch lower := strings.ToLower(name); {
	case lower == "punct":
		name = "P"
	case posix[lower] != "":
		return namedSet(lower)
	}
	return setOf(`[\p{` + name + `}]`)
}

// class reads a class in brackets.
func (t *translator) class() error {
	set, length, inverted, err := readClass(t.rest(), 0)
	if err != nil {
		return err
	}
	switch {
	case !inverted || len(set) == 0:
		if inverted {
			set = set.negated()
		}
		t.emit(length, set.outside())
	default: // kept as it is, so that (?i) sees what is excluded
		t.emit(length, "[^"+set.text()+"]")
	}
	return nil
}

// readClass reads [...] at the front of s, with nested classes and &&.
func readClass(s string, depth int) (set runeSet, length int, inverted bool, err error) {
	if depth > maxDepth {
		return nil, 0, false, errors.New("nests classes too deeply")
	}
	c := classReader{s: s, pos: 1, depth: depth}
	if strings.HasPrefix(s[1:], "^") {
		inverted = true
		c.pos++
	}
	if err := c.read(); err != nil {
		return nil, 0, false, err
	}
	return c.result(), c.pos, inverted, nil
}

// classReader collects the content of a class; left are the sets before each &&.
// It lives during one class. A nested class has a reader of its own.
type classReader struct {
	s     string
	pos   int
	depth int
	set   runeSet
	left  []runeSet
}

// result is the class that was read: the intersection of all parts between &&.
func (c *classReader) result() runeSet {
	set := c.set
	for _, l := range c.left {
		set = set.intersect(l)
	}
	return set
}

// read reads to the closing bracket. A bracket in the first place is a character, as in
// Ruby.
func (c *classReader) read() error {
	for first := true; c.pos < len(c.s); first = false {
		// A dash in the first or the last place is a character, and so is one before a nested
		// class or before &&.
		rest := c.s[c.pos:]
		switch {
		case rest[0] == ']' && !first:
			c.pos++
			return nil
		case strings.HasPrefix(rest, "&&"):
			c.left, c.set = append(c.left, c.set), nil
			c.pos += 2
		case strings.HasPrefix(rest, "[:") && strings.Contains(rest, ":]"):
			if err := c.posix(rest); err != nil {
				return err
			}
		case rest[0] == '[':
			if err := c.nested(rest); err != nil {
				return err
			}
		default:
			if err := c.item(); err != nil {
				return err
			}
		}
	}
	// The error completes a sentence that begins with the expression.
	return errors.New("has a class without ]")
}

// nested reads a class in a class and joins it.
func (c *classReader) nested(rest string) error {
	set, length, inverted, err := readClass(rest, c.depth+1)
	if inverted {
		set = set.negated()
	}
	c.set = c.set.union(set)
	c.pos += length
	return err
}

// posix reads a class by name. Ruby's names are about Unicode, so they are more than those
// of ASCII.
func (c *classReader) posix(rest string) error {
	name, _, _ := strings.Cut(rest[2:], ":]")
	bareName, inverted := strings.CutPrefix(name, "^")
	if posix[bareName] == "" {
		return fmt.Errorf("has an unknown class [:%s:]", name)
	}
	set, err := namedSet(bareName)
	if inverted {
		set = set.negated()
	}
	c.set = c.set.union(set)
	c.pos += len(name) + 4
	return err
}

// item reads a character, an escape or a range.
func (c *classReader) item() error {
	set, err := c.one()
	if err != nil {
		return err
	}
	low, single := set.single()
	rest := c.s[c.pos:]
	if single && len(rest) > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '[' && !strings.HasPrefix(rest, "-&&") {
		c.pos++
		end, err := c.one()
		if err != nil {
			return err
		}
		high, ok := end.single()
		if !ok || high < low {
			return fmt.Errorf("has a range upside down in a class: %q", shorten(c.s))
		}
		set = runeSet{low, high}
	}
	c.set = c.set.union(set)
	return nil
}

// one reads a character or an escape. A \b is a backspace here and a border of a word
// outside.
func (c *classReader) one() (runeSet, error) {
	rest := c.s[c.pos:]
	if rest[0] != '\\' {
		r, size := utf8.DecodeRuneInString(rest)
		c.pos += size
		return runeSet{r, r}, nil
	}
	if strings.HasPrefix(rest, `\b`) {
		c.pos += 2
		return runeSet{'\b', '\b'}, nil
	}
	set, length, err := escaped(rest)
	c.pos += length
	return set, err
}
