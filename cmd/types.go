package cmd

import (
	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// typesFlag adds the flags that name a folder of definitions, one of providers and one of targets. They are kinds before
// the verb runs, and before its arguments are completed.
// The order matters: a target may be of a transport that a type brings. An error of a step keeps
// the later ones from running.
func (a *app) typesFlag(cmd *cobra.Command) {
	// Each of the three may be given once. Their settings also come from the environment and the
	// file.
	bind(cmd, "types", source{place{&a.types}, "put all types into one folder"})
	_ = cmd.MarkFlagDirname("types")
	bind(cmd, "targets", source{place{&a.targetsFolder}, "put all targets into one folder"})
	_ = cmd.MarkFlagDirname("targets")
	bind(cmd, "plugins", source{place{&a.pluginsFolder}, "put all descriptors of providers into one folder"})
	_ = cmd.MarkFlagDirname("plugins")
	a.before(cmd, func() schema.Diagnostics {
		ds := a.loadTypes()
		if ds.Err() == nil {
			ds = append(ds, a.loadPlugins()...)
		}
		if ds.Err() != nil {
			return ds
		}
		return append(ds, a.loadTargets()...)
	})
}

// loadTypes adds the kinds of the folder to the existing ones, and returns their
// faults. With an error among that, none is added. It is the second step of the kinds.
// An unchanged folder gives the same registry again, so a reload without a change of it is cheap.
func (a *app) loadTypes() schema.Diagnostics {
	if a.types == "" {
		return nil
	}
	nodes, ds := yaml.Documents(a.types, yaml.Options{Source: a.source(), Ours: gapi.HasKey("name", "attributes", "connection_info"), Form: "type"})
	ds = a.from("types", ds)
	s := &a.sets.typed
	if from := a.kinds(); !s.madeOf(from, nodes) {
		// The registry below is shared with readings before, so a clone is filled and put in its
		// place only when all of it is right.
		made := step{from: from, nodes: nodes, kinds: from.Clone(), transports: provider.DefaultTransports().Clone()}
		var found schema.Findings
		found.Add(ds...)
		found.Add(provider.LoadAll(made.kinds, made.transports, nodes, nil)...)
		if ds = found.All(); found.Errors() > 0 {
			return ds
		}
		*s = made
	}
	if ds.Err() == nil {
		a.registry, a.transports = s.kinds, s.transports
	}
	return ds
}
