package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// NeedsLinux has a verb that works on a machine, or asks the daemon on one, say that it needs Linux, where the program was built
// for another system.
func NeedsLinux(cmd *cobra.Command) {
	if unix.Portable {
		refuseHere(cmd)
	}
}

// refuseHere has a verb and those below it do nothing else than refuse.
// Their flags and help stay as they are, so a person on a laptop can read what the verb does on a machine.
func refuseHere(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		refuseHere(below)
	}
	// Arguments, files and settings are not judged first: a wrong one is not why the verb
	// refuses.
	cmd.Args, cmd.PreRunE = cobra.ArbitraryArgs, nil
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return LinuxOnly(cmd.Name()) }
}

// LinuxOnly is the error of a verb that needs Linux. It names the verbs that help on this system, since most people who meet
// it have written a graph on a laptop and want to try it.
func LinuxOnly(what string) error {
	return fmt.Errorf("%s needs Linux, and this program was built for %s: check a graph here with validate --facts FILE, and run it on a machine with Linux",
		what, builtFor())
}

// builtFor is what the program was built for.
// The tag mgmt_portable builds the program of other systems on Linux, for tests.
func builtFor() string {
	if runtime.GOOS == "linux" {
		return "another system"
	}
	return runtime.GOOS
}
