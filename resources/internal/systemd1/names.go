package systemd1

import (
	"fmt"
	"slices"
	"strings"
)

// maxName is how long the name of a unit may be.
const maxName = 255

// CheckUnit refuses any text but the name of a unit with one of the suffixes (".timer"), and the
// name of a template without an instance.
func CheckUnit(unit string, suffixes ...string) error {
	i := strings.LastIndexByte(unit, '.')
	switch {
	case len(unit) > maxName:
		return fmt.Errorf("%.50q... is too long for a unit", unit)
	case i < 1 || len(suffixes) > 0 && !slices.Contains(suffixes, unit[i:]):
		return fmt.Errorf("%q is no unit: its name has to end in %s", unit, strings.Join(suffixes, " or "))
	case unit[0] == '-' || unit[0] == '.':
		return fmt.Errorf("%q is no unit: its name begins with a %c", unit, unit[0])
	case unit[i-1] == '@':
		return fmt.Errorf("%q is a template: a unit has an instance behind the @", unit)
	}
	for _, c := range unit {
		if c > '~' || !strings.ContainsRune(":-_.\\@", c) && !isAlnum(c) {
			return fmt.Errorf("%q is no unit: there is %q in its name", unit, c)
		}
	}
	return nil
}

func isAlnum(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// UnitOf returns the name of the unit of a path, as systemd-escape --path does.
func UnitOf(path, suffix string) string {
	path = strings.Trim(path, "/")
	if path == "" {
		return "-" + suffix
	}
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c == '/':
			b.WriteByte('-')
		case isAlnum(rune(c)) || c == ':' || c == '_' || c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + suffix
}
