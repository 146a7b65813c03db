package provider

import (
	"context"
	"errors"
	"fmt"
)

// prove reads again at once what Set has changed, all things where they can't be read
// by name. So nothing is told as done that is not seen.
func (c *controller) prove(ctx context.Context, jobs []*job) {
	var set []*job
	for _, j := range jobs {
		c.snap.mark(j.name, stale)
		if j.out.Err == nil && !c.kind.has(Unverified) {
			set = append(set, j)
		}
	}
	if len(set) == 0 {
		return
	}
	err := c.read(ctx, c.runtime(set[0].init.Host), namesOf(set))
	c.fresh.Store(err == nil && !c.kind.byNames())
	for _, j := range set {
		j.end(false, c.verdict(ctx, j, err))
	}
}

// verdict says how a thing still differs from the claims of Set, unless it could
// not be read.
func (c *controller) verdict(ctx context.Context, set *job, err error) error {
	e := c.snap.peek(set.name)
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
	j := &job{res: set.res, should: set.should, name: set.name, quiet: true}
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
		return fmt.Errorf("Set reported success, but it is not %s", text(j.should[ensureKey]))
	}
	return fmt.Errorf("Set reported success, but %s is %s and not %s", a.Name, a.shown(e.record[a.Name]), a.shown(j.should[a.Name]))
}
