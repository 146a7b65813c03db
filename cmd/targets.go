package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// loadTargets has the kinds know the targets of the folder, and returns their faults.
// With a fault the old targets stay in use: a reload must not lose a working set.
func (a *app) loadTargets() schema.Diagnostics {
	list, ds := a.readTargets()
	if ds.Err() != nil {
		return ds
	}
	if ds = append(ds, a.bindTargets()...); ds.Err() == nil && a.targets != nil {
		a.targets.Replace(list)
	}
	return ds
}

// bindTargets has the kinds know the targets, whichever they are by then. It is the last step of the kinds.
// The kinds share one set of targets, which Replace exchanges later. So a reload of targets alone
// makes no new kinds.
// The error has the place of the folder, since no single file is at fault.
func (a *app) bindTargets() (ds schema.Diagnostics) {
	if a.targetsFolder == "" {
		return nil
	}
	a.targets = cmp.Or(a.targets, provider.NewTargets())
	s := &a.sets.aimed
	if from := a.kinds(); !s.madeOf(from, nil) {
		kinds, err := provider.BindTargets(from, a.targets)
		if err != nil {
			return schema.Diagnostics{{Pos: schema.Pos{File: a.targetsFolder}, Message: err.Error()}}
		}
		*s = step{from: from, kinds: kinds}
	}
	a.registry = s.kinds
	return nil
}

// targetFlag adds the flag that names a target.
// Completion offers the names, without asking any target.
func (a *app) targetFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "target", "", "look at, or set, things of this `target`, as the files of --targets call it")
	_ = cmd.RegisterFlagCompletionFunc("target", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if a.targets == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.targets.Names(), cobra.ShellCompDirectiveNoFileComp
	})
}

// targetFacts asks a target.
// It opens a connection and blocks until the answer comes or ctx ends. The host is closed before
// it returns.
// The connection is of this call alone. A daemon that talks to the same target is not disturbed.
func (a *app) targetFacts(ctx context.Context, name string) (map[string]any, error) {
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		return nil, err
	}
	facts, err := cmp.Or(a.targets, provider.NewTargets()).Facts(ctx, name, h)
	return facts, errors.Join(err, h.Close())
}

// targetable refuses a target for a kind that knows none.
// Without a target every kind will do.
func targetable(k engine.Kind, target string) error {
	if target == "" || k.Abilities.Targeted {
		return nil
	}
	return fmt.Errorf("--target: a %s is on this machine only; a type as data with the feature remote_resource may name a target", k.Name)
}

// on has a declaration be about a target, if there is one.
// The declaration that is given stays as it is. An attribute target in it is replaced.
func on(d gapi.Declaration, target string) gapi.Declaration {
	if target == "" {
		return d
	}
	value := &schema.Node{Kind: schema.NodeMap}
	if d.Value != nil {
		value.Pairs = slices.DeleteFunc(slices.Clone(d.Value.Pairs), func(p schema.Pair) bool { return p.Key == engine.TargetKey })
	}
	value.Pairs = append(value.Pairs, schema.Pair{Key: engine.TargetKey, Value: &schema.Node{Kind: schema.NodeString, Text: target}})
	d.Value = value
	return d
}

// hasTarget recognises a file with at least one target.
func hasTarget(n *schema.Node) bool {
	return slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return p.Value.Get("transport") != nil })
}

// readTargets reads the files of the folder, if there is one.
// The mode of each file is taken along, since a password in a file that others can read is a
// fault.
func (a *app) readTargets() ([]*provider.Target, schema.Diagnostics) {
	if a.targetsFolder == "" {
		return nil, nil
	}
	nodes, ds := yaml.Documents(a.targetsFolder, yaml.Options{Source: a.source(), Ours: hasTarget, Form: "file of targets"})
	ds = a.from("targets", ds)
	files := make([]provider.TargetFile, len(nodes))
	for i, n := range nodes {
		files[i].Node = n
		if st, err := os.Stat(n.Pos.File); err == nil {
			files[i].Mode = st.Mode()
		} else {
			// A file whose mode is unknown must not pass as private.
			files[i].Mode = 0o777 // as one that others can read
		}
	}
	list, found := provider.DecodeTargets(files, cmp.Or(a.transports, provider.DefaultTransports()))
	return list, append(ds, found...)
}
