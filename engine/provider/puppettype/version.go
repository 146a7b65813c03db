package puppettype

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Version is a semantic version. It is comparable; Compare orders it, Build counts
// nothing there. The zero value is 0.0.0, a valid version.
type Version struct {
	Major, Minor, Patch uint64
	Pre, Build          string
}

// ParseVersion reads 1.2.3, 1.2.3-rc.1 and 1.2.3+build, as semver.org has them. Each of
// the three numbers has at most 63 bits, as in Puppet.
func ParseVersion(s string) (Version, error) {
	v, err := semver.StrictNewVersion(s)
	if err != nil || max(v.Major(), v.Minor(), v.Patch()) > math.MaxInt64 {
		return Version{}, fmt.Errorf("%s is not a version; write it as 1.2.3", quote(shorten(s)))
	}
	return Version{v.Major(), v.Minor(), v.Patch(), v.Prerelease(), v.Metadata()}, nil
}

// String writes the version.
func (v Version) String() string {
	return semver.New(v.Major, v.Minor, v.Patch, v.Pre, v.Build).String()
}

// Compare orders versions; one with a Pre comes before the one without. That is the
// precedence of semver.org, section 11. It allocates only for two different Pre of the same
// three numbers.
func (v Version) Compare(o Version) int {
	c := cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch))
	if c != 0 || v.Pre == o.Pre {
		return c
	}
	return semver.New(0, 0, 0, v.Pre, "").Compare(semver.New(0, 0, 0, o.Pre, ""))
}

// edge is a bound between versions: before at, or behind it.
type edge struct {
	at     Version
	behind bool
}

// compare orders edges: the one before a version comes first.
func (e edge) compare(o edge) int {
	switch c := e.at.Compare(o.at); {
	case c != 0 || e.behind == o.behind:
		return c
	case e.behind:
		return 1
	}
	return -1
}

// admits reports whether the bound lets in the prerelease v. As in Puppet, a bound lets in
// only those of its own three numbers, and only if it is a prerelease itself.
func (e *edge) admits(v Version) bool {
	return e != nil && e.at.Pre != "" && e.at.Major == v.Major && e.at.Minor == v.Minor && e.at.Patch == v.Patch
}

// stretch is the versions between two edges; a nil edge is none. Of prereleases it has
// those that an edge admits, or with all every one of them.
type stretch struct {
	from, to *edge
	all      bool
}

// has reports whether v lies between the edges.
func (s stretch) has(v Version) bool {
	return (s.from == nil || s.from.compare(edge{v, true}) < 0) && (s.to == nil || edge{v, false}.compare(*s.to) < 0) && s.admits(v)
}

// admits reports whether v is a release, or a prerelease that counts here.
func (s stretch) admits(v Version) bool {
	return v.Pre == "" || s.all || s.from.admits(v) || s.to.admits(v)
}

// covers reports whether all versions of o lie in s.
func (s stretch) covers(o stretch) bool {
	return (s.from == nil || o.from != nil && s.from.compare(*o.from) <= 0) && (s.to == nil || o.to != nil && o.to.compare(*s.to) <= 0) &&
		(s.all || !o.all && (o.from == nil || s.admits(o.from.at)) && (o.to == nil || s.admits(o.to.at)))
}

// with is the stretch that s and o have in common; it may be empty.
func (s stretch) with(o stretch) stretch {
	if s.from == nil || o.from != nil && o.from.compare(*s.from) > 0 {
		s.from = o.from
	}
	if s.to == nil || o.to != nil && o.to.compare(*s.to) < 0 {
		s.to = o.to
	}
	s.all = s.all && o.all
	return s
}

// empty reports whether no version can lie in s.
func (s stretch) empty() bool { return s.from != nil && s.to != nil && s.to.compare(*s.from) <= 0 }

// VersionRange is a set of versions. It is immutable.
type VersionRange struct {
	text  string
	parts []stretch
}

// ParseVersionRange reads 1.2.3, >=1.0.0 <2.0.0, 1.x, ~1.2, ^1.2, 1.0.0 - 2.0.0, and
// several with || between. They mean what they mean in Puppet. So a prerelease is only in a
// range that names one of the same three numbers, or in *. A part that no version can be in
// is dropped; a range without parts has no version.
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
	return &VersionRange{text: v.String() + " - " + v.String(), parts: []stretch{{from: &edge{v, false}, to: &edge{v, true}}}}
}

// parseStretch reads comparators with blanks between, all of which must hold. An operator
// may stand apart from its version. What an incomplete version lacks behind " - " is 0.
func parseStretch(s string) (stretch, bool) {
	if low, high, ok := strings.Cut(s, " - "); ok {
		a, _, okA := parsePartial(strings.TrimSpace(low))
		b, _, okB := parsePartial(strings.TrimSpace(high))
		return stretch{from: &edge{a, false}, to: &edge{b, true}}, okA && okB
	}
	whole := stretch{all: true}
	fields := strings.Fields(s)
	for i := 0; i < len(fields); i++ {
		word := fields[i]
		if strings.Trim(word, comparators) == "" && i+1 < len(fields) {
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

// comparators are the signs that stand before a version.
const comparators = "<>=~^"

// parseComparator reads an operator and a version that may end early. Behind an incomplete
// version, > means behind all versions that begin so.
func parseComparator(s string) (stretch, bool) {
	rest := strings.TrimLeft(s, comparators)
	operator := s[:len(s)-len(rest)]
	if operator != "" { // Puppet takes a v there, and nowhere else
		rest = strings.TrimPrefix(rest, "v")
	}
	v, known, ok := parsePartial(rest)
	from := &edge{v, false}
	switch operator {
	case ">=":
		return stretch{from: from}, ok
	case "<":
		return stretch{to: from}, ok
	case ">":
		return stretch{from: after(v, known)}, ok && known > 0
	case "", "=", "<=", "~", "~>", "~=", "^":
	default:
		return stretch{}, false
	}
	switch {
	case known == 0:
		return stretch{all: true}, ok
	case operator == "<=":
		return stretch{to: after(v, known)}, ok
	case operator == "^" && v.Major > 0:
		known = 1
	case operator != "" && operator != "=": // ~, and ^ of a version 0
		known = min(known, 2)
	}
	return stretch{from: from, to: after(v, known)}, ok
}

// after is the edge behind all versions that begin with the first known numbers of v. So
// 1.2 ends before 1.3.0, and 1.2.3 behind itself.
func after(v Version, known int) *edge {
	switch known {
	case 1:
		return &edge{at: Version{Major: v.Major + 1}}
	case 2:
		return &edge{at: Version{Major: v.Major, Minor: v.Minor + 1}}
	}
	return &edge{v, true}
}

// parsePartial reads a version that may end early or in x: 1, 1.2, 1.x. It counts the numbers
// before that end.
func parsePartial(s string) (v Version, known int, ok bool) {
	if v, err := ParseVersion(s); err == nil {
		return v, 3, true
	}
	parts := strings.Split(s, ".")
	for known < len(parts) && !slices.Contains([]string{"x", "X", "*"}, parts[known]) {
		known++
	}
	wild := slices.ContainsFunc(parts[known:], func(p string) bool { return p != "x" && p != "X" && p != "*" })
	if len(parts) > 3 || known > 2 || wild {
		return v, known, false
	}
	v, err := ParseVersion(strings.Join(append(parts[:known:known], "0.0.0"[2*known:]), "."))
	return v, known, err == nil
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
