package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/internal/version"
)

// buildVersion is set by the linker, to what packaging/version prints.
// It is empty in a program that go build or go install has made.
var buildVersion string

// Version returns the version of this program.
func Version() string {
	if buildVersion != "" {
		return buildVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version.Number() + "~git0"
	}
	return versionOf(info, version.Number())
}

// ownModule is the module whose number is in the file internal/version/VERSION.
const ownModule = "github.com/reactivegraph/mgmt"

// unreleased is Go's word for a module without a commit of this very version.
// It also matches a version of no text, and one by the time of a commit, as Go makes it between
// tags.
var unreleased = lazyregexp.New(`^$|^\(devel\)$|\d{14}-[0-9a-f]{12}`)

// versionOf returns the version of a program that was built by "go build" or "go install", without our linker flags.
// It is the tag that Go knows, and otherwise a version that sorts before the release with this number.
// Another main module is a program that embeds these verbs, and has a version of its own.
func versionOf(info *debug.BuildInfo, number string) string {
	if info.Main.Path != ownModule {
		return cmp.Or(info.Main.Version, "unknown")
	}
	if v := info.Main.Version; !unreleased.MatchString(v) {
		return strings.TrimPrefix(v, "v")
	}
	var version strings.Builder
	version.WriteString(number + "~git0")
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version.WriteString("." + s.Value[:min(10, len(s.Value))])
		case s.Key == "vcs.modified" && s.Value == "true":
			version.WriteString(".dirty")
		}
	}
	return version.String()
}

// VersionJSON is the version in JSON.
type VersionJSON struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// CurrentVersion describes this program.
func CurrentVersion() VersionJSON {
	return VersionJSON{Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
}

// String is what the verb and the flag of the same name write behind the name of the
// program. The flag's line is the library's own, as any template of it would link
// text/template: that asks for methods by name, so every exported one would be kept,
// two and a half megabytes of them.
func (v VersionJSON) String() string {
	return fmt.Sprintf("%s %s %s/%s", v.Version, v.Go, v.OS, v.Arch)
}
