package virtualkind

import (
	"context"
	"errors"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
)

// Follower is what WatchBy asks of a kind. Its methods are called one after the other, aside.
type Follower interface {
	virtual.Resource
	// Follow subscribes to the events of the thing, by the module of c and perhaps by others, and
	// gives them to chosen.subscribed. If it fails the subscriptions are those before.
	Follow(ctx context.Context, c *Chosen) error
	// Woken says Event if the thing may have changed. It is called when a subscription has told something,
	// and now and then if the module tells nothing.
	Woken(ctx context.Context, c *Chosen) error
}

// Chosen is the module that a Watch has open, and its subscriptions.
type Chosen struct {
	*virtual.Module
	base  *Backed
	kind  *virtual.Kind
	by    Follower
	looks watches.Turns       // of by and its CheckApply; nil if both may look at once
	facts events.Subscription // while it is open
	Sub   events.Subscription // what the module tells; nil if it tells nothing
	also  events.Subscription // what others tell; nil for nothing
	tick  *clock.Ticker       // of every; nil for never
	tries int                 // of again that have failed
	heard bool                // armed was called
}

// WatchBy is the Watch of a resource of a module: r follows its thing by the module that suits the facts, and when they
// have changed so that this is another one, by that. Where no backend can be used now, CheckApply says why, and the
// facts are waited for. looks is what r and its CheckApply share if they look one after the other.
//
// It waits for as long as the graph lasts, so it is shallow, and all that needs more room than to wait is done aside.
func (b *Backed) WatchBy(ctx context.Context, module string, r Follower, looks watches.Turns) error {
	k, err := b.KindOf(module)
	if err != nil {
		return err
	}
	c := Choosing(b, k, r, looks)
	defer c.end()
	err = k.Aside(func() error { return c.begin(ctx) })
	for err == nil {
		select {
		case <-wakes(c.Sub):
			err = c.look(ctx)
		case <-wakes(c.also):
			err = c.look(ctx)
		case <-c.Ticks():
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

// Choosing returns a chosen that has no module open.
func Choosing(base *Backed, kind *virtual.Kind, by Follower, looks watches.Turns) *Chosen {
	return &Chosen{base: base, kind: kind, by: by, looks: looks}
}

// wakes is the channel of a subscription that may be nil.
func wakes(s events.Subscription) <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.C()
}

// look calls Woken, and not while CheckApply looks.
func (c *Chosen) look(ctx context.Context) error {
	if c.looks != nil {
		if err := c.looks.Lock(ctx); err != nil {
			return err
		}
		defer c.looks.Unlock()
	}
	return c.kind.Aside(func() error { return c.by.Woken(ctx, c) })
}

// begin subscribes to the facts, and chooses the module for those of now.
func (c *Chosen) begin(ctx context.Context) (err error) {
	if c.facts, err = c.base.init.Host.WatchFacts(ctx); err != nil {
		return err
	}
	return c.choose(ctx)
}

// review chooses anew if the facts have changed so that another module is the right one.
func (c *Chosen) review(ctx context.Context) error {
	c.facts.Cause()
	if c.Module != nil && !c.kind.Stale(c.Module, c.base.env(), c.by.Backend()) {
		return nil
	}
	return c.choose(ctx)
}

// choose opens the module for the facts of now, and follows the thing by it; there is none after it where no backend
// can be used.
func (c *Chosen) choose(ctx context.Context) (err error) {
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

// Poll is how often a thing is looked at whose backend sees no changes.
const Poll = 10 * time.Second

// follow has the thing followed.
func (c *Chosen) follow(ctx context.Context) error {
	if err := c.by.Follow(ctx, c); err != nil {
		return err
	}
	c.tries = 0
	c.Calm()
	return nil
}

// Calm has Woken called as often as the module needs it: by what it tells, or every Poll.
func (c *Chosen) Calm() {
	c.Every(0)
	if c.Sub == nil {
		c.Every(Poll)
	}
}

// A manager that is away may come back: it is followed again after this time, or when it tells.
const (
	AgainTries = 12
	againPause = 5 * time.Second
)

// Again follows the thing anew, and has it looked at; when it can't be followed now, that is tried again by the next
// Woken, for which lost is true then.
func (c *Chosen) Again(ctx context.Context) error {
	err := c.follow(ctx)
	switch {
	case err == nil:
		c.base.init.Event()
		return nil
	case c.tries == AgainTries:
		return err
	}
	c.tries++
	c.Every(againPause)
	return nil
}

// Lost reports whether some of the module's events may have been lost.
func (c *Chosen) Lost() bool { return c.tries > 0 || c.Sub != nil && c.Sub.Cause().Resync }

// armed is called by the follower of a module, once nothing goes unseen any more. It says Running,
// and after another choice, that the thing has to be looked at, since changes meanwhile were not
// seen.
func (c *Chosen) armed() {
	if c.heard {
		c.base.init.Event()
		return
	}
	c.heard = true
	c.base.init.Running()
}

// Subscribed keeps subscriptions, each of which may be nil, until there are others or the module is closed.
func (c *Chosen) Subscribed(sub, also events.Subscription) {
	for _, old := range []events.Subscription{c.Sub, c.also} {
		if old != nil {
			old.Close()
		}
	}
	c.Sub, c.also = sub, also
}

// Every has Woken called so often, whatever is told; never if d is 0.
func (c *Chosen) Every(d time.Duration) {
	if c.tick != nil {
		c.tick.Stop()
		c.tick = nil
	}
	if d > 0 {
		c.tick = clock.NewTicker(engine.ClockOf(c.base.init.Host), d)
	}
}

func (c *Chosen) Ticks() <-chan time.Time {
	if c.tick == nil {
		return nil
	}
	return c.tick.C
}

// shut closes the module, if one is open.
func (c *Chosen) shut() {
	c.Subscribed(nil, nil)
	c.Every(0)
	if c.Module != nil {
		c.Close()
		c.Module = nil
	}
}

// end lets go of all.
func (c *Chosen) end() {
	c.shut()
	if c.facts != nil {
		c.facts.Close()
	}
}
