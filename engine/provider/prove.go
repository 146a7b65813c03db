package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// prove reads again what Set has changed. Where things can be read by name that is
// done at once; where they can't, at the end of the transaction, once for all.
func (c *controller) prove(ctx context.Context, jobs []*job) {
	var set []*job
	for _, j := range jobs {
		c.snap.mark(j.name, stale)
		delete(c.debts, j.m)
		j.m.owed = nil
		if j.out.Err == nil && !c.kind.has(Unverified) {
			j.m.owed = j.should
			c.debts[j.m] = struct{}{}
			set = append(set, j)
		}
	}
	if len(set) == 0 || !c.kind.byNames() {
		return
	}
	err := c.read(ctx, c.runtime(set[0].init.Host), namesOf(set))
	for _, j := range set {
		j.end(false, c.verdict(ctx, j.m, err))
	}
}

// settle does the pending readings at the end of a transaction. A resource that is
// seen in another state is woken, and fails; until then the graph has not
// converged.
func (c *controller) settle(ctx context.Context) {
	var names []Name
	maps.DeleteFunc(c.debts, func(m *member, _ struct{}) bool { return !c.isMember(m) })
	for m := range c.debts {
		names = append(names, m.canon.name)
	}
	err := c.read(ctx, c.runtime(c.host), names)
	for _, m := range slices.Collect(maps.Keys(c.debts)) {
		if err := c.verdict(ctx, m, err); err != nil {
			c.accuse(m, err)
		} else if !c.kind.sendsSame(m.sent, c.snap.peek(m.canon.name).record) {
			c.freshen(ctx, m.canon.name)
			m.poke() // it was told to others as it was guessed
		}
	}
}

// sendsSame reports whether two records are the same for those who receive them.
func (k *Kind) sendsSame(a, b Record) bool {
	for _, f := range k.sends.Fields {
		name := k.attribute(f.Key).Name
		if !equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

// verdict says how a thing still differs from the claims of Set, unless it could
// not be read.
func (c *controller) verdict(ctx context.Context, m *member, err error) error {
	should := m.owed
	m.owed = nil
	delete(c.debts, m)
	e := c.snap.peek(m.canon.name)
	switch {
	case err != nil:
		return fmt.Errorf("what was set can't be read again: %w", err)
	case e.err != nil:
		return e.err
	}
	p, err := c.provider()
	if err != nil {
		return err
	}
	j := &job{res: m.of, should: should, name: m.canon.name, quiet: true}
	if err := c.kind.compare(ctx, c.runtime(c.host), p, j, e); err != nil {
		return fmt.Errorf("after Set: %w", err)
	}
	if len(j.diffs) == 0 {
		return nil
	}
	a := c.kind.byName[j.diffs[0]]
	switch {
	case c.kind.blank:
		return errors.New("Set reported success, but it is not in sync")
	case a == c.kind.ensure:
		return fmt.Errorf("Set reported success, but it is not %s", text(should[ensureKey]))
	}
	return fmt.Errorf("Set reported success, but %s is %s and not %s", a.Name, a.shown(e.record[a.Name]), a.shown(should[a.Name]))
}

// accuse has the member look, and fail with the error. Until then the graph has not
// converged.
func (c *controller) accuse(m *member, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, here := c.members[m]; !here {
		return
	}
	if m.wrong == nil {
		m.done = m.init.Busy()
	}
	m.wrong = err
	m.poke()
}

// absolve forgets the error of accuse, and returns it.
func (c *controller) absolve(m *member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return m.absolve()
}

func (m *member) absolve() error {
	err := m.wrong
	if err != nil {
		m.done()
	}
	m.wrong, m.done = nil, nil
	return err
}
