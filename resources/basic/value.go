package basic

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("value", func() engine.Res { return &ValueRes{} })
}

var (
	_ engine.Res            = (*ValueRes)(nil)
	_ engine.RecvableRes    = (*ValueRes)(nil)
	_ engine.SendableRes    = (*ValueRes)(nil)
	_ engine.OverlappingRes = (*ValueRes)(nil)
	_ engine.UnwatchedRes   = (*ValueRes)(nil)
	_ engine.DescribedRes   = (*ValueRes)(nil)
)

// ValueRes holds a value and sends it on.
type ValueRes struct {
	traits.Base
	traits.Recvable
	traits.Sendable
	traits.Overlapping
	traits.Collectable
	traits.Unwatched

	init *engine.Init

	Any any `yaml:"any" lang:"any" doc:"The value, of any type." mgmt:"nowatch,lend"`
}

// ValueSends is what a value sends.
type ValueSends struct {
	Any any `yaml:"any" lang:"any" doc:"The value."`
}

// Default returns an empty resource.
func (x *ValueRes) Default() engine.Res { return &ValueRes{} }

// Validate accepts every value.
func (x *ValueRes) Validate() error { return nil }

// Init keeps the handle.
func (x *ValueRes) Init(init *engine.Init) error {
	x.init = init
	return nil
}

// Cleanup has nothing to release.
func (x *ValueRes) Cleanup() error { return nil }

// CheckApply sends the value. Nothing on the machine can differ from it.
func (x *ValueRes) CheckApply(context.Context, bool) (bool, error) {
	if err := x.init.Send(&ValueSends{Any: x.Any}); err != nil {
		return false, err
	}
	return true, nil
}

// Sends returns the type of what is sent.
func (x *ValueRes) Sends() any { return &ValueSends{} }

// Cmp compares the values.
func (x *ValueRes) Cmp(r engine.Res) error { return engine.CmpFields(x, r) }

// Doc describes the kind.
func (x *ValueRes) Doc() string {
	return `Holds a value of any type and sends it to others.

One value can so be written once and received by many, or be received here and sent on, so that the senders behind it can
be exchanged without touching the receivers. Whether its type fits is checked when it is sent.`
}
