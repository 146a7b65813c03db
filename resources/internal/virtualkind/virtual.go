package virtualkind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// Register registers the kind of a module.
func Register(module string, empty func(*virtual.Kind) virtual.Resource) {
	system := virtual.LocalSystem((&host.FactReader{}).Facts)
	if err := virtual.RegisterKind(engine.DefaultRegistry(), virtual.DefaultCatalog(), module, system, empty); err != nil {
		panic(err) // a mistake in the program, found by any test
	}
}

// Backed is what the resources of all modules have in common.
type Backed struct {
	kind *virtual.Kind
	init *engine.Init
	host engine.Host // what backends get; that of init if nil
}

// Of returns the common part of a resource of a kind; nil for a resource that no registry has made.
func Of(kind *virtual.Kind) Backed { return Backed{kind: kind} }

// OfHost is Of for backends that work on this host.
func OfHost(kind *virtual.Kind, h engine.Host) Backed { return Backed{kind: kind, host: h} }

// Elsewhere returns the common part of a resource of another kind with the same host.
func (b *Backed) Elsewhere() Backed { return Backed{init: b.init, host: b.host} }

// Keep keeps the handle of the resource, which its Init has got.
func (b *Backed) Keep(init *engine.Init) { b.init = init }

// Handle returns the handle that Keep has kept; nil before.
func (b *Backed) Handle() *engine.Init { return b.init }

// UseHost has backends work on this host, instead of that of the handle.
func (b *Backed) UseHost(h engine.Host) { b.host = h }

// Host returns the host that UseHost has set; nil before.
func (b *Backed) Host() engine.Host { return b.host }

// Cleanup has nothing to release: who opens the module closes it.
func (b *Backed) Cleanup() error { return nil }

// VirtualKind is what the resource was made with; nil if it was not made by a registry.
func (b *Backed) VirtualKind() *virtual.Kind { return b.kind }

// KindOf returns the shared part of all resources of a module. A resource that was not made by
// a registry takes that of the default one.
func (b *Backed) KindOf(module string) (*virtual.Kind, error) {
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

// Coming reports whether others send a parameter: its later value is unknown, and so is its wanted
// value on a mere look. So nothing that depends on it can be required.
func Coming(r engine.RecvableRes, key string) bool { return r.Recv()[key] != nil }

// BackendNames returns the names of all backends of a module.
func (b *Backed) BackendNames(module string) []string {
	if k, err := b.KindOf(module); err == nil {
		return k.Backends()
	}
	return nil
}

// Check is the CheckMachine of a resource.
func (b *Backed) Check(module string, r virtual.Resource, m engine.Machine) error {
	k, err := b.KindOf(module)
	if err != nil {
		return err
	}
	return k.Check(r, m)
}

func (b *Backed) env() virtual.Env {
	return virtual.Env{Host: cmp.Or(b.host, b.init.Host), Log: b.init.Log}
}

// Open opens a module. Backends keep nothing, so that costs little.
func (b *Backed) Open(ctx context.Context, module, backend string) (*virtual.Module, error) {
	k, err := b.KindOf(module)
	if err != nil {
		return nil, err
	}
	return k.Open(ctx, b.env(), backend)
}

// OpenFor opens a module for the needs of a resource. A backend that could not work from the start
// was an error when the graph was loaded. A backend that cannot work since the facts have changed
// is an error here, before anything is done.
func (b *Backed) OpenFor(ctx context.Context, module string, r virtual.Resource) (*virtual.Module, error) {
	m, err := b.Open(ctx, module, r.Backend())
	if err != nil {
		return nil, err
	}
	if err := m.Needs(r.Needs()...); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Texts are names as a Change has them.
func Texts(list []string) any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// FailAll is the outcome of a batch in which nothing could be done.
func FailAll(n int, err error) []engine.Outcome {
	return slices.Repeat([]engine.Outcome{{Err: err}}, n)
}

// Use asks a resource that is declared so which functions it needs.
func Use(declared string, r virtual.Resource) virtual.Use {
	return virtual.Use{Declared: declared, Functions: r.Needs()}
}
