package names

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

var (
	packageRule = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9+._:@-]*$`)
	serviceRule = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*$`)
)

// suffixes are those of the units of systemd that can be started and stopped.
var suffixes = []string{".service", ".socket", ".timer", ".path", ".target", ".mount", ".automount", ".swap", ".slice", ".scope", ".device"}

// CheckPackage refuses a text that is no name of a package: an option, a path, or characters that no
// package manager allows.
func CheckPackage(name string) error {
	if !packageRule.MatchString(name) {
		return fmt.Errorf("%q is no name of a package", name)
	}
	return nil
}

// ServiceBase returns the name of a service without the suffix .service: nginx and
// nginx.service are one.
func ServiceBase(name string) string { return strings.TrimSuffix(name, ".service") }

// ServiceUnit returns the name of a service as systemd has it. A name with the suffix of
// another kind of unit stays as it is.
func ServiceUnit(name string) string {
	if slices.Contains(suffixes, path.Ext(name)) {
		return name
	}
	return name + ".service"
}

// CheckService refuses a text that is no name of a service: an option, a path, characters that no
// service manager allows, and a template without an instance.
func CheckService(name string) error {
	unit := ServiceUnit(name)
	switch {
	case len(unit) > 255:
		return fmt.Errorf("%.50q... is too long for the name of a service", name)
	case !serviceRule.MatchString(name):
		return fmt.Errorf("%q is no name of a service", name)
	case strings.HasSuffix(strings.TrimSuffix(unit, path.Ext(unit)), "@"):
		return fmt.Errorf("%q is a template: a service has an instance behind the @", name)
	}
	return nil
}

// hostMax is how many bytes the kernel takes.
const hostMax = 64

// CheckHost refuses names of machines that the kernel or programs do not take. A name has parts of letters,
// digits and dashes, separated by dots. Its error calls the name by what.
func CheckHost(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > hostMax:
		return fmt.Errorf("%s %.70q has %d bytes, and the kernel takes %d", what, name, len(name), hostMax)
	}
	for part := range strings.SplitSeq(name, ".") {
		switch {
		case part == "":
			return fmt.Errorf("%s %q has a dot where a part of the name is missing", what, name)
		case len(part) > 63:
			return fmt.Errorf("%s %q has a part of %d bytes, more than 63", what, name, len(part))
		case part[0] == '-' || part[len(part)-1] == '-':
			return fmt.Errorf("%s %q has a part that begins or ends with a dash", what, name)
		}
		if i := strings.IndexFunc(part, func(c rune) bool { return c > '~' || c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }); i >= 0 {
			c, _ := utf8.DecodeRuneInString(part[i:])
			return fmt.Errorf("%s %q has %q in it; it takes letters, digits, dashes and dots", what, name, c)
		}
	}
	return nil
}
