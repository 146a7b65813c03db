package cmd

import "github.com/spf13/cobra"

// newHosts makes the verb for the hosts that share a store. Its own verbs are in files of their own.
func newHosts(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hosts", Short: "The hosts that share a store", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHostsAllow(a), newHostsProtect(a))
	return cmd
}
