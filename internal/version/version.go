// Package version has the number of this module, in the file VERSION.
package version

import (
	_ "embed"
	"strings"
)

//go:embed VERSION
var numberFile string

// Number is the number that the next release of this module has, or that this release has, such as "1.2.3".
// packaging/version makes the version of a build from it.
func Number() string { return strings.TrimSpace(numberFile) }
