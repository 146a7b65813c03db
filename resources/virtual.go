package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

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

// errChosenAnew says that a Watch has to begin anew, with another backend.
var errChosenAnew = errors.New("another backend is used from now on")

// chosen is the module that a Watch has open.
type chosen struct {
	*virtual.Module
	base  *virtualBase
	kind  *virtual.Kind
	want  string
	facts engine.Subscription
	sub   engine.Subscription // of subscribed
	heard bool                // armed was called
}

// watch is the Watch of a resource of a module: follow is called with the module, and again with
// another one when the facts have changed so that this is not the right one any more. It calls armed.
// It returns what ends wait, or why it has failed. Where no backend can be used now,
// CheckApply says why, and the facts are waited for.
//
// It waits for as long as the graph lasts, below few and small calls: what can grow a stack
// is done aside.
func (b *virtualBase) watch(ctx context.Context, module string, r virtual.Resource, follow func(context.Context, *chosen) error) error {
	c := &chosen{base: b, want: r.Backend()}
	defer c.end()
	err := c.begin(ctx, module)
	for err == nil {
		if c.Module == nil {
			err = wait[struct{}](ctx, c, nil, nil)
		} else {
			err = follow(ctx, c)
		}
		if ctx.Err() == nil && errors.Is(err, errChosenAnew) {
			err = c.open(ctx)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// begin subscribes to the facts, and opens the module for those of now.
func (c *chosen) begin(ctx context.Context, module string) (err error) {
	if c.kind, err = c.base.virtualKind(module); err != nil {
		return err
	}
	c.kind.Aside(func() {
		defer engine.Caught("Watch", &err)
		c.facts, err = c.base.init.Host.WatchFacts(ctx)
	})
	if err != nil {
		return err
	}
	return c.open(ctx)
}

// open opens the module for the facts of now; there is none after it where no backend can be used.
func (c *chosen) open(ctx context.Context) (err error) {
	c.shut()
	c.kind.Aside(func() {
		defer engine.Caught("Watch", &err)
		c.Module, err = c.kind.Open(ctx, c.base.env(), c.want)
	})
	if _, none := errors.AsType[*virtual.NoBackendError](err); none {
		c.armed()
		return nil
	}
	return err
}

// armed is called by what follows a module, once nothing goes unseen any more: it says Running, and after
// another choice that the thing has to be looked at, since nobody has seen what was meanwhile.
func (c *chosen) armed() {
	if c.heard {
		c.base.init.Event()
		return
	}
	c.heard = true
	c.base.init.Running()
}

// subscribed keeps a subscription until there is another one or the module is closed.
func (c *chosen) subscribed(sub engine.Subscription) {
	if c.sub != nil {
		c.sub.Close()
	}
	c.sub = sub
}

// shut closes the module, if one is open.
func (c *chosen) shut() {
	c.subscribed(nil)
	if c.Module != nil {
		c.Close()
		c.Module = nil
	}
}

// end lets go of all.
func (c *chosen) end() {
	c.shut()
	if c.facts != nil {
		c.facts.Close()
	}
}

// wait waits for a wake-up of either channel, and returns nil after one; errChosenAnew if
// another backend is to be used from now on; and why ctx has ended, if it has.
func wait[T any](ctx context.Context, c *chosen, wake, or <-chan T) error {
	for {
		select {
		case <-wake:
			return nil
		case <-or:
			return nil
		case <-c.facts.C():
			c.facts.Cause()
			if c.stale() {
				return errChosenAnew
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *chosen) stale() (stale bool) {
	c.kind.Aside(func() { stale = c.Module == nil || c.kind.Stale(c.Module, c.base.env(), c.want) })
	return stale
}

// virtualPoll is how often a thing is looked at whose backend sees no changes.
const virtualPoll = 10 * time.Second

// poll has look called now and then, until wait would end.
func (c *chosen) poll(ctx context.Context, look func()) error {
	tick := time.NewTicker(virtualPoll)
	defer tick.Stop()
	for {
		if err := wait(ctx, c, tick.C, nil); err != nil {
			return err
		}
		look()
	}
}
