package provenance

import (
	"strconv"
	"strings"
)

// Person is one who asks or decides, as far as two texts of Origin.By or of a decision can tell: by the number of the user who has logged
// in, else of the user; by the name where a text has no number.
type Person struct {
	uid  string // empty for none
	name string
}

// PersonOf reads a text such as "root (uid 0), login ann (uid 1000), on web1", "uid 1000, on web1" or "ann@laptop".
func PersonOf(by string) Person {
	by = strings.TrimSuffix(by, ", in the page")
	if strings.HasPrefix(by, `"`) { // the subject of a certificate, and an address
		if i := strings.LastIndexByte(by, '"'); i > 0 {
			return Person{name: by[:i+1]}
		}
	}
	if by == "" || strings.HasPrefix(by, "a caller at ") || strings.HasPrefix(by, "an unknown caller") {
		return Person{}
	}
	if i := strings.LastIndex(by, ", on "); i >= 0 {
		by = by[:i]
	}
	if i := strings.LastIndex(by, ", login "); i >= 0 {
		by = by[i+len(", login "):]
	}
	if i := strings.LastIndex(by, " (uid "); i >= 0 && strings.HasSuffix(by, ")") {
		return Person{by[i+len(" (uid ") : len(by)-1], by[:i]}
	}
	if n, ok := strings.CutPrefix(by, "uid "); ok {
		if _, err := strconv.ParseUint(n, 10, 32); err == nil {
			return Person{uid: n}
		}
	}
	name, _, _ := strings.Cut(by, "@")
	return Person{name: name}
}

// Known reports whether the text names somebody.
func (p Person) Known() bool { return p != Person{} }

// Same reports whether two texts may be of one person. Where one of them has no number, as that of a deploy, the names count.
func (p Person) Same(o Person) bool {
	if p.uid != "" && o.uid != "" {
		return p.uid == o.uid
	}
	return p.name != "" && p.name == o.name
}
