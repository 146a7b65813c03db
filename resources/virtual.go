package resources

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// registerVirtual registers the kind of a module.
func registerVirtual(module string, empty func(*virtual.Kind) virtual.Resource) {
	system := virtual.LocalSystem((&host.FactReader{}).Facts)
	if err := virtual.RegisterKind(engine.DefaultRegistry(), virtual.DefaultCatalog(), module, system, empty); err != nil {
		panic(err) // a mistake in the interface, found by any test
	}
}

// virtualBase is what the resources of all modules have in common.
type virtualBase struct {
	kind *virtual.Kind
	init *engine.Init
}

// Cleanup has nothing to release: who opens the module closes it.
func (b *virtualBase) Cleanup() error { return nil }

// base is asked of a resource that a registry has made.
func (b *virtualBase) base() *virtualBase { return b }

// virtualKind returns what all of a module have in common. A resource that was not made
// by a registry takes that of the default one.
func (b *virtualBase) virtualKind(module string) (*virtual.Kind, error) {
	if b.kind != nil {
		return b.kind, nil
	}
	made, err := engine.DefaultRegistry().New(module)
	if err != nil {
		return nil, err
	}
	if r, ok := made.(interface{ base() *virtualBase }); ok {
		return r.base().kind, nil
	}
	return nil, fmt.Errorf("the kind %s of the default registry is a %T", module, made)
}

// open opens a module. Backends keep nothing, so that costs little.
func (b *virtualBase) open(ctx context.Context, module, provider string) (*virtual.Module, error) {
	k, err := b.virtualKind(module)
	if err != nil {
		return nil, err
	}
	m, _, err := k.Open(ctx, virtual.Env{Host: b.init.Host, Log: b.init.Log}, provider)
	return m, err
}
