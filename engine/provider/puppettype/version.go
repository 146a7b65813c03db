package puppettype

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is a semantic version. It is comparable; Compare orders it, Build counts
// nothing there. The zero value is 0.0.0, a valid version.
type Version struct {
	Major, Minor, Patch uint64
	Pre, Build          string
}

// ParseVersion reads 1.2.3, 1.2.3-rc.1 and 1.2.3+build. Each of the three numbers has
// at most 63 bits.
func ParseVersion(s string) (Version, error) {
	rest, build, _ := strings.Cut(s, "+")
	core, pre, hasPre := strings.Cut(rest, "-")
	v := Version{Pre: pre, Build: build}
	parts := strings.Split(core, ".")
	ok := len(parts) == 3 && (!hasPre || labels(pre)) && (rest == s || labels(build))
	for i, into := range []*uint64{&v.Major, &v.Minor, &v.Patch} {
		ok = ok && number(parts[i], into)
	}
	if !ok {
		return Version{}, fmt.Errorf("%s is not a version; write it as 1.2.3", quote(shorten(s)))
	}
	return v, nil
}

// number reads a number of a version, of 63 bits as in Puppet. A leading zero or plus is
// refused.
func number(s string, into *uint64) bool {
	n, err := strconv.ParseUint(s, 10, 63)
	*into = n
	return err == nil && s[0] != '+' && (s == "0" || s[0] != '0')
}

// labels reports whether s is made of dotted words.
func labels(s string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r > 'z' || r != '-' && (!isWord(byte(r)) || r == '_') }) {
			return false
		}
	}
	return true
}

// String writes the version.
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	if v.Build != "" {
		s += "+" + v.Build
	}
	return s
}

// Compare orders versions; one with a Pre comes before the one without. That is the
// precedence of semver.org, section 11.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch), comparePre(v.Pre, o.Pre))
}

// comparePre orders prereleases label by label; the version without one is the last.
func comparePre(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), compareLabel)
}

// compareLabel orders numbers before words, and each among themselves: beta.2 comes before
// beta.11.
func compareLabel(a, b string) int {
	n, errA := strconv.ParseUint(a, 10, 64)
	m, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(n, m)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// edge is a bound between versions: before at, or behind it.
type edge struct {
	at     Version
	behind bool
}

// compare orders edges: the one before a version comes first.
func (e edge) compare(o edge) int {
	b2i := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(e.at.Compare(o.at), cmp.Compare(b2i(e.behind), b2i(o.behind)))
}

// stretch is the versions between two edges; a nil to is without end.
type stretch struct {
	from edge
	to   *edge
}

// has reports whether v lies between the edges.
func (s stretch) has(v Version) bool {
	return s.from.compare(edge{v, true}) < 0 && (s.to == nil || edge{v, false}.compare(*s.to) < 0)
}

// covers reports whether all versions of o lie in s.
func (s stretch) covers(o stretch) bool {
	return s.from.compare(o.from) <= 0 && (s.to == nil || o.to != nil && o.to.compare(*s.to) <= 0)
}

// with is the stretch that s and o have in common; it may be empty.
func (s stretch) with(o stretch) stretch {
	if o.from.compare(s.from) > 0 {
		s.from = o.from
	}
	if s.to == nil || o.to != nil && o.to.compare(*s.to) < 0 {
		s.to = o.to
	}
	return s
}

// empty reports whether no version can lie in s.
func (s stretch) empty() bool { return s.to != nil && s.to.compare(s.from) <= 0 }

// zero is before every version.
var zero = edge{at: Version{Pre: "0"}}

// VersionRange is a set of versions. It is immutable.
type VersionRange struct {
	text  string
	parts []stretch
}

// ParseVersionRange reads 1.2.3, >=1.0.0 <2.0.0, 1.x, ~1.2, ^1.2, 1.0.0 - 2.0.0, and
// several with || between. A part that no version can be in is dropped; a range without
// parts has no version.
func ParseVersionRange(s string) (*VersionRange, error) {
	r := &VersionRange{text: s}
	for part := range strings.SplitSeq(s, "||") {
		st, ok := parseStretch(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("%s is not a range of versions; write it as '>=1.0.0 <2.0.0', '1.x' or '^1.2'", quote(shorten(s)))
		}
		if !st.empty() {
			r.parts = append(r.parts, st)
		}
	}
	return r, nil
}

// exactRange is the range of one version.
func exactRange(v Version) *VersionRange {
	return &VersionRange{text: v.String() + " - " + v.String(), parts: []stretch{{edge{v, false}, &edge{v, true}}}}
}

// parseStretch reads comparators with blanks between, all of which must hold. An operator
// may stand apart from its version.
func parseStretch(s string) (stretch, bool) {
	if low, high, ok := strings.Cut(s, " - "); ok {
		a, okA := parsePartial(strings.TrimSpace(low))
		b, okB := parsePartial(strings.TrimSpace(high))
		return stretch{a.from, b.to}, okA && okB
	}
	whole := stretch{from: zero}
	fields := strings.Fields(s)
	for i := 0; i < len(fields); i++ {
		word := fields[i]
		if strings.Trim(word, "<>=~^") == "" && i+1 < len(fields) {
			i++
			word += fields[i]
		}
		st, ok := parseComparator(word)
		if !ok {
			return whole, false
		}
		whole = whole.with(st)
	}
	return whole, len(fields) > 0
}

// parseComparator reads an operator and a version that may end early. Behind an incomplete
// version, > means behind all versions that begin so.
func parseComparator(s string) (stretch, bool) {
	rest := strings.TrimLeft(s, "<>=~^")
	p, ok := parsePartial(rest)
	switch s[:len(s)-len(rest)] {
	case "", "=":
	case ">":
		if p.to == nil {
			return p, false
		}
		p = stretch{from: *p.to}
	case ">=":
		p.to = nil
	case "<":
		p = stretch{zero, new(p.from)}
	case "<=":
		p.from = zero
	case "~", "~>":
		p.to = p.tilde(strings.Count(rest, "."))
	case "^":
		p.to = p.caret()
	default:
		return p, false
	}
	return p, ok
}

// tilde ends where the minor number changes, or the major one where only that is
// written. So ~1 ends before 2.0.0, and ~1.2 and ~1.2.3 end before 1.3.0.
func (s stretch) tilde(dots int) *edge {
	v := s.from.at
	if s.to == nil {
		return nil
	}
	if dots == 0 {
		return before(Version{Major: v.Major + 1})
	}
	return before(Version{Major: v.Major, Minor: v.Minor + 1})
}

// caret ends where the first number that is not 0 changes. So ^1.2 ends before 2.0.0,
// and ^0.2 before 0.3.0. Where the first two are 0, it ends with the version as it is
// written.
func (s stretch) caret() *edge {
	v := s.from.at
	switch {
	case s.to == nil:
		return nil
	case v.Major > 0:
		return before(Version{Major: v.Major + 1})
	case v.Minor > 0:
		return before(Version{Minor: v.Minor + 1})
	}
	return s.to
}

// before is the edge below v and its prereleases. The prerelease 0 is the least of all,
// so 2.0.0-rc.1 is not in a range that ends before 2.0.0.
func before(v Version) *edge {
	v.Pre = "0"
	return &edge{at: v}
}

// parsePartial reads a version that may end early or in x: 1, 1.2, 1.x.
func parsePartial(s string) (stretch, bool) {
	if v, err := ParseVersion(s); err == nil {
		return stretch{edge{v, false}, &edge{v, true}}, true
	}
	var v Version
	numbers := []*uint64{&v.Major, &v.Minor, &v.Patch}
	parts := strings.Split(s, ".")
	known := 0
	for i, part := range parts {
		wild := part == "x" || part == "X" || part == "*"
		switch {
		case i >= len(numbers), !wild && i > known, !wild && !number(part, numbers[i]):
			return stretch{}, false
		case !wild:
			known++
		}
	}
	st := stretch{from: edge{at: v}}
	switch known {
	case 0:
		st.from = zero
	case 1:
		st.to = before(Version{Major: v.Major + 1})
	case 2:
		st.to = before(Version{Major: v.Major, Minor: v.Minor + 1})
	default:
		return st, false
	}
	return st, true
}

// Has reports whether v is in the range.
func (r *VersionRange) Has(v Version) bool {
	return slices.ContainsFunc(r.parts, func(s stretch) bool { return s.has(v) })
}

// String returns the range as it was written.
func (r *VersionRange) String() string { return r.text }

// Equal reports whether two ranges are written the same. Two texts for the same
// versions are not equal.
func (r *VersionRange) Equal(o *VersionRange) bool {
	return r == o || r != nil && o != nil && r.text == o.text
}

// covers reports whether one part of the range has all of s. Two parts that have it only
// together are not seen.
func (r *VersionRange) covers(s stretch) bool {
	return slices.ContainsFunc(r.parts, func(mine stretch) bool { return mine.covers(s) })
}

// hasVersion reports whether a SemVer takes v.
func (t *Type) hasVersion(v Version) bool {
	if len(t.versions) == 0 {
		return true
	}
	for _, r := range t.versions {
		if r.Has(v) {
			return true
		}
	}
	return false
}

// coversVersions reports whether each stretch of o is within one of t.
func (t *Type) coversVersions(o *Type) bool {
	if len(t.versions) == 0 || len(o.versions) == 0 {
		return len(t.versions) == 0
	}
	for _, theirs := range o.versions {
		for _, s := range theirs.parts {
			if !slices.ContainsFunc(t.versions, func(r *VersionRange) bool { return r.covers(s) }) {
				return false
			}
		}
	}
	return true
}
