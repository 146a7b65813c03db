package inputs

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// BackendFlag adds --backend, which selects a backend by name. names completes it in the shell.
// The backend may be for other facts, but its programs must be installed; see virtual.Select.
func BackendFlag(a *cli.App, cmd *cobra.Command, backend *string, names func(args []string) []string) {
	cmd.Flags().StringVar(backend, "backend", "", "use the backend of this `name` instead of the one that suits the machine")
	CompleteBackend(a, cmd, "backend", names)
}

// CompleteBackend offers backends for a flag.
func CompleteBackend(a *cli.App, cmd *cobra.Command, flag string, names func(args []string) []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		// The backends may come from a folder, which the flags before the cursor have named. Faults
		// of that folder disturb no completion.
		a.LoadKinds()
		return names(args), cobra.ShellCompDirectiveNoFileComp
	})
}

// BackendsOf returns the names of the backends of the kind in args[0], or without arguments of all kinds.
// A kind without virtual resources has none. It ignores an unknown kind, which the verb itself reports.
func BackendsOf(a *cli.App, args []string) []string {
	kinds := a.Kinds().Kinds()
	if len(args) > 0 {
		kinds = args[:1]
	}
	var names []string
	for _, kind := range kinds {
		if r, err := a.Kinds().New(kind); err == nil {
			if v, ok := engine.As[engine.VirtualRes](r); ok {
				names = append(names, v.Backends()...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// AnyOf returns the target for all resources of a kind through a backend. It names no resource, so it can only be listed.
func AnyOf(kind, backend, target string) look.Target {
	return look.Target{Declaration: On(Asked(gapi.Declaration{Kind: kind}, backend), target)}
}

// Asked returns d with backend set, unless backend is empty.
func Asked(d gapi.Declaration, backend string) gapi.Declaration {
	if backend == "" {
		return d
	}
	meta := &schema.Node{Kind: schema.NodeMap}
	if d.Meta != nil {
		// Nodes never change, so the new pair goes into a slice of its own.
		meta.Pairs = slices.Clip(d.Meta.Pairs)
	}
	named := &schema.Node{Kind: schema.NodeString, Text: backend}
	meta.Pairs = append(meta.Pairs, schema.Pair{Key: "backend", Value: named})
	d.Meta = meta
	return d
}
