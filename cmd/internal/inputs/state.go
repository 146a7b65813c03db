package inputs

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/daemon/state"
)

// StateFlags say where the program keeps its lasting files.
type StateFlags struct{ state.Place }

// Flags adds the flags of the state folder.
func (s *StateFlags) Flags(cmd *cobra.Command) {
	s.PrefixFlag(cmd)
	cli.Bind(cmd, "tmp_prefix", &s.Temporary)
	cli.Exclude(cmd, "prefix", "tmp-prefix")
}

// PrefixFlag adds --prefix alone, for verbs that only look for a daemon.
func (s *StateFlags) PrefixFlag(cmd *cobra.Command) {
	cli.Bind(cmd, "prefix", (*cli.Place)(&s.Prefix))
}
