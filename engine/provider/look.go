package provider

import (
	"context"
	"fmt"
)

// look reads one thing, for Read. It begins no transaction and ends none.
func (c *controller) look(ctx context.Context, r *res) (State, Name, error) {
	if err := c.take(ctx); err != nil {
		return State{}, Name{}, err
	}
	defer c.give()
	if !c.begun() {
		defer c.finish(ctx)
	}
	if err := c.reach(ctx, nil); err != nil {
		return State{}, Name{}, err
	}
	rt := c.runtime(r.init.Host)
	p, err := c.provider()
	if err != nil {
		return State{}, Name{}, err
	}
	asked := r.want()
	if asked == nil {
		asked = r.m.want
	}
	if asked == nil {
		_, err := r.looks()
		return State{}, Name{}, err
	}
	canon := c.kind.canonical(ctx, rt, p, []*member{{want: asked}})[0]
	if canon.err != nil {
		return State{}, Name{}, canon.err
	}
	name := canon.want.name
	if r.m.canon == nil && r.m.want == asked { // it was not checked, but its Watch tells of changes seen here
		c.admit([]*member{r.m}, []form{canon})
	}
	c.snap.spoil(name)
	if !c.snap.has(name) {
		if err := c.load(ctx, rt, c.filter([]Name{name}), nil); err != nil {
			return State{}, Name{}, err
		}
	}
	e := c.snap.peek(name)
	if e.err == nil && e.record != nil {
		e = c.checked(ctx, rt, p, name, e)
	}
	if e.err != nil {
		return State{}, Name{}, e.err
	}
	if e.record == nil {
		return State{Presence: Absent}, name, nil
	}
	return State{Presence: Known, Record: e.record.Clone()}, name, nil
}

// checked returns an entry that was inspected, though no member may have its name.
func (c *controller) checked(ctx context.Context, rt *Runtime, p Provider, n Name, e *entry) *entry {
	got := map[Name]*entry{n: {record: e.record.Clone()}}
	c.kind.inspect(ctx, rt, p, got, map[Name]bool{n: true})
	return got[n]
}

// list reads all things, in the order of the provider. An entry has a record, or says why
// its thing can't be shown.
func (c *controller) list(ctx context.Context) ([]*entry, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if !c.begun() {
		defer c.finish(ctx)
	}
	if err := c.reach(ctx, nil); err != nil {
		return nil, err
	}
	rt := c.runtime(c.host)
	p, err := c.provider()
	if err != nil {
		return nil, err
	}
	found, order, err := c.kind.get(ctx, rt, p, Filter{All: true})
	if err != nil {
		return nil, &UnavailableError{Type: c.kind.def.Name, Err: c.lost(ctx, nil, err)}
	}
	every := make(map[Name]bool, len(found))
	for n := range found {
		every[n] = true
	}
	c.kind.inspect(ctx, rt, p, found, every)
	var out []*entry
	for _, n := range order {
		e := found[n]
		if e.err != nil {
			e.err = fmt.Errorf("%s[%s]: %w", c.kind.def.Name, n, e.err)
		}
		if e.err != nil || e.record != nil {
			out = append(out, e)
		}
	}
	return out, nil
}
