package names

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	packageRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._:@-]*$`)
	serviceRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*$`)
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
