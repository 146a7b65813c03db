package basic

import (
	"cmp"
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("noop", func() engine.Res { return &NoopRes{} })
}

var (
	_ engine.Res            = (*NoopRes)(nil)
	_ engine.RefreshableRes = (*NoopRes)(nil)
	_ engine.GroupableRes   = (*NoopRes)(nil)
	_ engine.OverlappingRes = (*NoopRes)(nil)
	_ engine.UnwatchedRes   = (*NoopRes)(nil)
	_ engine.DescribedRes   = (*NoopRes)(nil)
)

// NoopRes does nothing: a point in a graph that others are ordered around, and
// through which notifications pass on.
type NoopRes struct {
	traits.Base
	traits.Groupable
	traits.Refreshable
	traits.Overlapping
	traits.Collectable
	traits.Unwatched

	// Of the handle, which is not kept: there may be millions.
	refreshed func() bool
	change    func(engine.Change)

	Comment string `yaml:"comment" lang:"comment" doc:"Free text, for people." mgmt:"param,lend"`
}

// Default returns an empty resource.
func (x *NoopRes) Default() engine.Res { return &NoopRes{} }

// Validate accepts everything.
func (x *NoopRes) Validate() error { return nil }

// Init keeps two functions of the handle, and initialises the members of the group.
func (x *NoopRes) Init(init *engine.Init) error {
	x.refreshed, x.change = init.Refresh, init.Change
	return x.InitGroup(init)
}

// Cleanup cleans up the members.
func (x *NoopRes) Cleanup() error { return x.CleanupGroup() }

// CheckApply finds everything right, unless a notification passes through.
func (x *NoopRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	refresh := x.refreshed()
	if refresh {
		x.change(engine.Change{Verb: engine.Refreshed})
	}
	return x.CheckGroup(ctx, apply, !refresh, nil)
}

// Cmp compares the parameters, and the members.
func (x *NoopRes) Cmp(r engine.Res) error {
	return cmp.Or(engine.CmpFields(x, r), x.CmpGroup(r))
}

// GroupKey returns the same key for every noop: any of them can be one.
func (x *NoopRes) GroupKey() string { return "noop" }

// Doc describes the kind.
func (x *NoopRes) Doc() string {
	return `Does nothing, successfully.

It is a point in the graph to order others around. Resources that must come first point at it, it points at resources that must come later, and neither side has to name the other. A notification that reaches it passes on to those whom it notifies.`
}
