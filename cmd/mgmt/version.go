package main

import (
	"cmp"
	"runtime/debug"
)

// buildVersion is set by the linker.
var buildVersion string

// version returns the version of this program.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "unknown")
}
