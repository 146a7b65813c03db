// Package traits has one small struct for each ability of a resource, to be
// embedded in the resource's own struct. None of them holds a lock or a pointer
// to the outside, so a resource may be overwritten as a whole while it is being
// decoded; the engine sets kind, name and metaparameters afterwards.
package traits

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
)

// Base is what every resource embeds: kind, name, metaparameters and String.
type Base struct {
	kind, name string
	meta       *engine.MetaParams // nil for the defaults; from Init on it may be that of many resources
	of         *Base              // to which meta belongs, nil if it is lent: a copied resource makes metaparameters of its own
}

// Kind returns the kind.
func (b *Base) Kind() string { return b.kind }

// SetKind is called by the engine after construction.
func (b *Base) SetKind(kind string) { b.kind = kind }

// Name returns the name.
func (b *Base) Name() string { return b.name }

// SetName is called by the engine after construction.
func (b *Base) SetName(name string) { b.name = name }

// MetaParams returns the metaparameters, the defaults if none were set. They may be altered until Init.
func (b *Base) MetaParams() *engine.MetaParams {
	if b.of != b {
		b.SetMetaParams(b.meta)
	}
	return b.meta
}

// SetMetaParams replaces the metaparameters by a copy of m; by the defaults if it is nil.
func (b *Base) SetMetaParams(m *engine.MetaParams) {
	own := engine.MetaParams{}
	if m != nil {
		own = *m
	}
	b.meta, b.of = &own, b
}

// ShareMetaParams puts m in the place of equal metaparameters, without a copy. The engine calls it before
// Init: of a million resources most have the same ones, which then take memory once.
func (b *Base) ShareMetaParams(m *engine.MetaParams) { b.meta, b.of = m, b }

// LendMetaParams lends it metaparameters, which it does not alter: MetaParams makes a copy of them.
func (b *Base) LendMetaParams(m *engine.MetaParams) { b.meta, b.of = m, nil }

// LentMetaParams returns the metaparameters that it has borrowed, nil if it has its own.
func (b *Base) LentMetaParams() *engine.MetaParams {
	if b.of != nil {
		return nil
	}
	return b.meta
}

// String returns kind[name].
func (b *Base) String() string { return b.kind + "[" + b.name + "]" }

// Refreshable makes a resource act on notifications. Whether one is
// pending is asked through Init.Refresh.
type Refreshable struct{ refresh bool }

// Refresh returns whether a notification is pending.
func (r *Refreshable) Refresh() bool { return r.refresh }

// SetRefresh is called by the engine before CheckApply.
func (r *Refreshable) SetRefresh(b bool) { r.refresh = b }

// Sendable goes with a method Sends of the resource's own, and Init.Send.
type Sendable struct{}

// Sends returns nil: nothing is sent. A resource that sends has its own.
func (*Sendable) Sends() any { return nil }

// Recvable makes the parameters of a resource ones that can be received.
type Recvable struct{ recv map[string]*engine.Send }

// Recv returns the received values, by the key of the field.
func (r *Recvable) Recv() map[string]*engine.Send { return r.recv }

// SetRecv is called by the engine before CheckApply.
func (r *Recvable) SetRecv(m map[string]*engine.Send) { r.recv = m }

// Edgeable goes with methods UIDs and AutoEdges of the resource's own.
type Edgeable struct{}

// UIDs returns none.
func (*Edgeable) UIDs() []autoedge.UID { return nil }

// AutoEdges wants none.
func (*Edgeable) AutoEdges() (autoedge.Needs, error) { return nil, nil }

// Reversible goes with a method Reversed of the resource's own.
type Reversible struct{}

// Overlapping states the promise of engine.OverlappingRes.
type Overlapping struct{}

// Overlaps returns true.
func (Overlapping) Overlaps() bool { return true }

// Unwatched states the promise of engine.UnwatchedRes, and is the Watch of a
// resource that makes it.
type Unwatched struct{}

// WatchesNothing returns true.
func (Unwatched) WatchesNothing() bool { return true }

// Watch waits for its end. The engine does not call it.
func (Unwatched) Watch(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Collectable marks a resource as collectable from other hosts.
type Collectable struct{}

// Collects returns true.
func (Collectable) Collects() bool { return true }
