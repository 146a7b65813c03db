package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/gapi"
)

// TargetFlag adds the flag that names a target.
// Completion offers the names, without asking any target.
func TargetFlag(a *cli.App, cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "target", "", "use this `target` from the files of --targets, not this machine")
	_ = cmd.RegisterFlagCompletionFunc("target", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.Set.Targets().Names(), cobra.ShellCompDirectiveNoFileComp
	})
}

// TargetFacts asks a target.
// It opens a connection and blocks until the answer comes or ctx ends. The host is closed before
// it returns.
// The connection is of this call alone. A daemon that talks to the same target is not disturbed.
func TargetFacts(ctx context.Context, a *cli.App, name string) (map[string]any, error) {
	h, err := host.New(ctx, host.Options{})
	if err != nil {
		return nil, err
	}
	facts, err := a.Set.Targets().Facts(ctx, name, h)
	return facts, errors.Join(err, h.Close())
}

// Targetable refuses a target for a kind that knows none.
// Without a target every kind will do.
func Targetable(k engine.Kind, target string) error {
	if target == "" || k.Abilities.Targeted {
		return nil
	}
	return fmt.Errorf("--target: a %s is on this machine only; a type as data with the feature remote_resource may name a target", k.Name)
}

// On has a declaration be about a target, if there is one.
// The declaration that is given stays as it is. An attribute target in it is replaced.
func On(d gapi.Declaration, target string) gapi.Declaration {
	if target == "" {
		return d
	}
	value := &schema.Node{Kind: schema.NodeMap}
	if d.Value != nil {
		value.Pairs = slices.DeleteFunc(slices.Clone(d.Value.Pairs), func(p schema.Pair) bool { return p.Key == targets.Key })
	}
	value.Pairs = append(value.Pairs, schema.Pair{Key: targets.Key, Value: &schema.Node{Kind: schema.NodeString, Text: target}})
	d.Value = value
	return d
}
