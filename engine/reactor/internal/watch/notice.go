package watch

import (
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// Subscribe makes a subscription of the host in the place of a Watch, with no goroutine that
// waits. It is called once, instead of Watch. Where it returns nil, Ended is called once, after
// Result was set; after an error it is not, and there is no subscription.
func (c *Context) Subscribe(host hosting.Notifier, paths []string, o events.Options, subs *Subs, t Teller) error {
	c.teller = t
	inner, err := host.Notify(paths, o, c)
	if err != nil {
		return err
	}
	sub := subs.add(&subscription{Subscription: inner, of: subs, alone: true})
	if err := c.keep(sub); err != nil {
		sub.Close()
		return err
	}
	return nil
}

// keep holds the subscription until the Context or the host ends, if neither has.
func (c *Context) keep(sub *subscription) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return c.Result
	case c.ended:
		return errEnded
	}
	c.sub = sub
	return nil
}

// Armed implements hosting.Notice. mu is held while the Teller hears of it: after cancel,
// another Watch of the vertex may have begun.
func (c *Context) Armed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
	case err == nil:
		c.teller.Running()
	default:
		c.over, c.Result = true, callsafe.CopyError("Watch", err)
		if c.sub != nil { // else Subscribe returns the error
			c.sub = nil
			c.teller.Ended()
		}
	}
}

// Woken implements hosting.Notice.
func (c *Context) Woken() { c.teller.Event() }

var _ hosting.Notice = (*Context)(nil)
