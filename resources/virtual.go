package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// registerVirtual registers the kind of a module.
func registerVirtual(module string, empty func(*virtual.Kind) virtual.Resource) {
	system := virtual.LocalSystem((&host.FactReader{}).Facts)
	if err := virtual.RegisterKind(engine.DefaultRegistry(), virtual.DefaultCatalog(), module, system, empty); err != nil {
		panic(err) // a mistake in the program, found by any test
	}
}

// virtualBase is what the resources of all modules have in common.
type virtualBase struct {
	kind *virtual.Kind
	init *engine.Init
	host engine.Host // what backends get; that of init if nil
}

// Cleanup has nothing to release: who opens the module closes it.
func (b *virtualBase) Cleanup() error { return nil }

// VirtualKind is what the resource was made with; nil if it was not made by a registry.
func (b *virtualBase) VirtualKind() *virtual.Kind { return b.kind }

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
	if r, ok := made.(virtual.Resource); ok && r.VirtualKind() != nil {
		return r.VirtualKind(), nil
	}
	return nil, fmt.Errorf("the kind %s of the default registry is a %T", module, made)
}

// coming reports whether a parameter is one that others send: nobody knows yet what it will be, or, when
// a thing is only looked at, what it should be. So of what it decides nothing can be needed.
func coming(r engine.RecvableRes, key string) bool { return r.Recv()[key] != nil }

// backends returns the names of all backends of a module.
func (b *virtualBase) backends(module string) []string {
	if k, err := b.virtualKind(module); err == nil {
		return k.Backends()
	}
	return nil
}

// check is the end of a Validate: it says what is wrong, or, where nothing is, what the
// backend can't do.
func (b *virtualBase) check(module string, r virtual.Resource, errs []error) error {
	k, err := b.virtualKind(module)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return k.Check(r)
}

func (b *virtualBase) env() virtual.Env {
	return virtual.Env{Host: cmp.Or(b.host, b.init.Host), Log: b.init.Log}
}

// open opens a module. Backends keep nothing, so that costs little.
func (b *virtualBase) open(ctx context.Context, module, backend string) (*virtual.Module, error) {
	k, err := b.virtualKind(module)
	if err != nil {
		return nil, err
	}
	return k.Open(ctx, b.env(), backend)
}

// openFor opens a module for what a resource needs. What could not work from the start was
// an error when the graph was loaded; what cannot since the facts have changed is one here,
// before anything is done.
func (b *virtualBase) openFor(ctx context.Context, module string, r virtual.Resource) (*virtual.Module, error) {
	m, err := b.open(ctx, module, r.Backend())
	if err != nil {
		return nil, err
	}
	if err := m.Needs(r.Needs()...); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}
