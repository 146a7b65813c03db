package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/daemon/state"
)

// stateFlags say where the program keeps its lasting files.
type stateFlags struct{ state.Place }

// flags adds the flags of the state folder.
func (s *stateFlags) flags(cmd *cobra.Command) {
	s.prefixFlag(cmd)
	bind(cmd, "tmp_prefix", &s.Temporary)
	exclude(cmd, "prefix", "tmp-prefix")
}

// prefixFlag adds --prefix alone, for verbs that only look for a daemon.
func (s *stateFlags) prefixFlag(cmd *cobra.Command) {
	bind(cmd, "prefix", (*place)(&s.Prefix))
}
