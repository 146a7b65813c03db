package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// typesFlag adds the flag that names a folder of definitions. They are kinds before
// the verb runs, and before its arguments are completed.
func (a *app) typesFlag(cmd *cobra.Command) {
	bind(cmd, "types", source{place{&a.types}, "put all types into one folder"})
	_ = cmd.MarkFlagDirname("types")
	a.before(cmd, a.loadTypes)
}

// loadTypes adds the kinds of the folder to those that there are, and returns what is
// wrong with them. With an error among that, none is added.
func (a *app) loadTypes() schema.Diagnostics {
	if a.types == "" {
		return nil
	}
	nodes, ds := yaml.Documents(a.types, yaml.Options{Source: a.source()})
	kinds := a.kinds().Clone()
	var found schema.Findings
	found.Add(ds...)
	found.Add(provider.Load(kinds, nodes, nil)...)
	if found.Errors() == 0 {
		a.registry = kinds
	}
	return found.All()
}
