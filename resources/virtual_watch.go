package resources

import (
	"context"
	"errors"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// follower is what virtualBase.watch asks of a kind. Its methods are called one after the other, aside.
type follower interface {
	virtual.Resource
	// follow subscribes to what the module of c tells of the thing, and perhaps others do, and gives
	// that to chosen.subscribed. If it fails the subscriptions are those before.
	follow(ctx context.Context, c *chosen) error
	// woken says Event if the thing may have changed. It is called when a subscription has told something,
	// and now and then if the module tells nothing.
	woken(ctx context.Context, c *chosen) error
}

// chosen is the module that a Watch has open, and what it waits for.
type chosen struct {
	*virtual.Module
	base  *virtualBase
	kind  *virtual.Kind
	by    follower
	looks oneLooks            // of by and its CheckApply; nil if both may look at once
	facts engine.Subscription // while it is open
	sub   engine.Subscription // what the module tells; nil if it tells nothing
	also  engine.Subscription // what others tell; nil for nothing
	tick  *time.Ticker        // of every; nil for never
	tries int                 // of again that have failed
	heard bool                // armed was called
}

// watch is the Watch of a resource of a module: r follows its thing by the module that suits the facts, and when they
// have changed so that this is another one, by that. Where no backend can be used now, CheckApply says why, and the
// facts are waited for. looks is what r and its CheckApply share if they look one after the other.
//
// It waits for as long as the graph lasts, so it is shallow, and all that needs more room than to wait is done aside.
func (b *virtualBase) watch(ctx context.Context, module string, r follower, looks oneLooks) error {
	k, err := b.virtualKind(module)
	if err != nil {
		return err
	}
	c := &chosen{base: b, kind: k, by: r, looks: looks}
	defer c.end()
	err = k.Aside(func() error { return c.begin(ctx) })
	for err == nil {
		select {
		case <-wakes(c.sub):
			err = c.look(ctx)
		case <-wakes(c.also):
			err = c.look(ctx)
		case <-c.ticks():
			err = c.look(ctx)
		case <-c.facts.C():
			err = k.Aside(func() error { return c.review(ctx) })
		case <-ctx.Done():
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// wakes is the channel of a subscription that may be nil.
func wakes(s engine.Subscription) <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.C()
}

// look calls woken, and not while CheckApply looks.
func (c *chosen) look(ctx context.Context) error {
	if c.looks != nil {
		if err := c.looks.lock(ctx); err != nil {
			return err
		}
		defer c.looks.unlock()
	}
	return c.kind.Aside(func() error { return c.by.woken(ctx, c) })
}

// begin subscribes to the facts, and chooses the module for those of now.
func (c *chosen) begin(ctx context.Context) (err error) {
	if c.facts, err = c.base.init.Host.WatchFacts(ctx); err != nil {
		return err
	}
	return c.choose(ctx)
}

// review chooses anew if the facts have changed so that another module is the right one.
func (c *chosen) review(ctx context.Context) error {
	c.facts.Cause()
	if c.Module != nil && !c.kind.Stale(c.Module, c.base.env(), c.by.Backend()) {
		return nil
	}
	return c.choose(ctx)
}

// choose opens the module for the facts of now, and follows the thing by it; there is none after it where no backend
// can be used.
func (c *chosen) choose(ctx context.Context) (err error) {
	c.shut()
	c.Module, err = c.kind.Open(ctx, c.base.env(), c.by.Backend())
	if _, none := errors.AsType[*virtual.NoBackendError](err); none {
		c.armed()
		return nil
	}
	if err == nil {
		err = c.follow(ctx)
	}
	if err == nil {
		c.armed()
	}
	return err
}

// virtualPoll is how often a thing is looked at whose backend sees no changes.
const virtualPoll = 10 * time.Second

// follow has the thing followed.
func (c *chosen) follow(ctx context.Context) error {
	if err := c.by.follow(ctx, c); err != nil {
		return err
	}
	c.tries = 0
	c.every(0)
	if c.sub == nil {
		c.every(virtualPoll)
	}
	return nil
}

// What is away may come back: so often it is followed again, after this time or when it tells.
const (
	againTries = 12
	againPause = 5 * time.Second
)

// again follows the thing anew, and has it looked at; when it can't be followed now, that is tried again by the next
// woken, for which lost is true then.
func (c *chosen) again(ctx context.Context) error {
	err := c.follow(ctx)
	switch {
	case err == nil:
		c.base.init.Event()
		return nil
	case c.tries == againTries:
		return err
	}
	c.tries++
	c.every(againPause)
	return nil
}

// lost reports whether something may have been lost of what the module tells.
func (c *chosen) lost() bool { return c.tries > 0 || c.sub != nil && c.sub.Cause().Resync }

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

// subscribed keeps subscriptions, each of which may be nil, until there are others or the module is closed.
func (c *chosen) subscribed(sub, also engine.Subscription) {
	for _, old := range []engine.Subscription{c.sub, c.also} {
		if old != nil {
			old.Close()
		}
	}
	c.sub, c.also = sub, also
}

// every has woken called so often, whatever is told; never if d is 0.
func (c *chosen) every(d time.Duration) {
	if c.tick != nil {
		c.tick.Stop()
		c.tick = nil
	}
	if d > 0 {
		c.tick = time.NewTicker(d)
	}
}

func (c *chosen) ticks() <-chan time.Time {
	if c.tick == nil {
		return nil
	}
	return c.tick.C
}

// shut closes the module, if one is open.
func (c *chosen) shut() {
	c.subscribed(nil, nil)
	c.every(0)
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
