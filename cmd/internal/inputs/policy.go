package inputs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/policy"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// PolicyFlag names the files of the policy. The zero value is for none.
type PolicyFlag struct {
	Files []string
	last  *policy.Policy
}

// Flag adds the flag.
func (f *PolicyFlag) Flag(cmd *cobra.Command) {
	cli.Bind(cmd, "policy", &f.Files)
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml")
}

// Load reads the policy; nil for none. It is the one before where the files are as they were. The findings are all that is wrong with it.
func (f *PolicyFlag) Load(ctx context.Context, a *cli.App) (reactor.Policy, schema.Diagnostics) {
	p, ds := f.Rules(ctx, a)
	if p == nil {
		return nil, ds
	}
	f.last = p
	return p, ds
}

// Rules is Load for who asks for more than a judgement.
func (f *PolicyFlag) Rules(ctx context.Context, a *cli.App) (*policy.Policy, schema.Diagnostics) {
	return policy.Load(ctx, f.Files, a.Source(), f.last)
}

// Judge adds what the policy says of a graph to the findings about it; the graph is nil where there is an error among them. A policy
// that cannot be read is one.
func (f *PolicyFlag) Judge(ctx context.Context, a *cli.App, g *resgraph.Graph, ds schema.Diagnostics) (*resgraph.Graph, schema.Diagnostics) {
	p, found := f.Load(ctx, a)
	if ds = append(ds, found...); p != nil && g != nil {
		ds = append(ds, p.Graph(g, nil)...)
	}
	if ds.Err() != nil {
		return nil, ds
	}
	return g, ds
}
