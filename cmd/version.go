package cmd

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion is set by the linker, for a program that is no released module.
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

// versionJSON is the version in JSON.
type versionJSON struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func currentVersion() versionJSON {
	return versionJSON{version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
}

// String is what the verb and the flag of the same name write behind the name of the
// program. The flag's line is the library's own, as any template of it would link
// text/template: that asks for methods by name, so every exported one would be kept,
// two and a half megabytes of them.
func (v versionJSON) String() string {
	return fmt.Sprintf("%s %s %s/%s", v.Version, v.Go, v.OS, v.Arch)
}

func newVersion(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which version this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			if output.word == "json" {
				return writeJSON(a.out, v)
			}
			_, err := fmt.Fprintln(a.out, a.program(), v)
			return err
		},
	}
	choose(cmd, &output, "output", "o", "how to write it", "text", "json")
	return cmd
}
