package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// job is one resource in one call of checkApply.
type job struct {
	*res
	out     engine.Outcome
	is      State
	name    Name
	should  Record
	diffs   []string // the attributes that differ
	refresh bool
	done    bool     // nothing more is to be done
	quiet   bool     // differences are not reported
	hidden  []string // texts that are not for all users
}

// differs notes a difference.
func (j *job) differs(attribute string, ch engine.Change) {
	j.diffs = append(j.diffs, attribute)
	if !j.quiet {
		j.init.Change(ch)
	}
}

// end settles the outcome.
func (j *job) end(ok bool, err error) {
	j.out, j.done = engine.Outcome{OK: ok && err == nil, Err: err}, true
}

// checkApply is CheckApply for resources of the kind that are due together.
func (c *controller) checkApply(ctx context.Context, apply bool, rs []*res) []engine.Outcome {
	jobs := make([]*job, len(rs))
	for i, r := range rs {
		jobs[i] = &job{res: r}
	}
	c.tries(rs)
	if err := c.take(ctx); err != nil {
		endAll(jobs, err)
	} else {
		c.transact(ctx, apply, jobs)
	}
	outs := make([]engine.Outcome, len(jobs))
	for i, j := range jobs {
		outs[i] = j.out
		c.tried(j.m, j.out.Err)
	}
	return outs
}

// tries begins to note what is touched while resources are worked on.
func (c *controller) tries(rs []*res) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rs {
		r.m.touched = false
	}
}

// tried notes whether a member has failed because something was missing. What came
// meanwhile has it look again.
func (c *controller) tried(m *member, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.lost = isMissing(err); m.lost && m.touched {
		m.wakeUp()
	}
}

// isMissing reports whether a path, or a folder on the way to it, is not there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// transact does the work, and gives the turn back.
func (c *controller) transact(ctx context.Context, apply bool, jobs []*job) {
	defer c.give()
	c.watched()
	c.work(ctx, apply, jobs)
	if !c.begun() {
		c.finish(ctx)
	}
}

func endAll(jobs []*job, err error) {
	for _, j := range jobs {
		j.end(false, err)
	}
}

// work does it, under the turn.
func (c *controller) work(ctx context.Context, apply bool, jobs []*job) {
	c.forget()
	if err := c.reach(ctx, nil); err != nil {
		endAll(jobs, err)
		return
	}
	rt := c.runtime(jobs[0].init.Host)
	p, err := c.provider()
	if err != nil {
		endAll(jobs, err)
		return
	}
	c.prepare(ctx, rt, p, jobs)
	if jobs = undone(jobs); len(jobs) == 0 {
		return
	}
	if err := c.read(ctx, rt, namesOf(jobs)); err != nil {
		endAll(jobs, err)
		return
	}
	c.compare(ctx, rt, p, jobs)
	if jobs = undone(jobs); len(jobs) == 0 {
		return
	}
	if apply {
		c.alter(ctx, p, jobs)
	} else {
		c.rehearse(ctx, p, jobs)
	}
}

// undone returns the jobs that are not done.
func undone(jobs []*job) []*job {
	var rest []*job
	for _, j := range jobs {
		if !j.done {
			rest = append(rest, j)
		}
	}
	return rest
}

func namesOf(jobs []*job) []Name {
	names := make([]Name, len(jobs))
	for i, j := range jobs {
		names[i] = j.name
	}
	return names
}

func idsOf(jobs []*job) []string {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.String()
	}
	return ids
}

// prepare brings the wanted values into canonical form: of these resources, and of
// all others that were never due, so that they can be read with them.
func (c *controller) prepare(ctx context.Context, rt *Runtime, p Provider, jobs []*job) {
	for _, j := range jobs {
		if w := j.want(); w != nil && w != j.m.want {
			c.rewant(j.m, w)
		}
	}
	if raw := c.newcomers(); len(raw) > 0 {
		c.admit(raw, c.kind.canonical(ctx, rt, p, raw))
	}
	for _, j := range jobs {
		if err := c.objection(j.m); err != nil {
			j.end(false, err)
			continue
		}
		j.name, j.should = j.m.canon.name, j.m.canon.record
	}
}

// objection says why nothing can be done with a member.
func (c *controller) objection(m *member) error {
	if m.bad != nil {
		return m.bad
	}
	if title, ok := c.rival(m); ok {
		return fmt.Errorf("%s[%s] is the %s %s too: only one resource can be about it", c.kind.def.Name, title, c.kind.def.Name, c.kind.named(m.canon.name))
	}
	return nil
}

// alter makes the differences go, and refreshes the notified resources.
func (c *controller) alter(ctx context.Context, p Provider, jobs []*job) {
	var set, refresh []*job
	for _, j := range jobs {
		if len(j.diffs) > 0 {
			set = append(set, j)
		} else {
			refresh = append(refresh, j)
		}
	}
	if len(set) > 0 {
		c.set(ctx, p, set, false)
		c.prove(ctx, set)
	}
	if len(refresh) > 0 {
		c.refresh(ctx, p, refresh)
	}
	for _, j := range jobs {
		if j.out.Err == nil {
			j.out.Err = j.send(c.seen(j))
		}
		j.out.OK = false
	}
}

// seen is the state of a thing after a change: the values read, or the earlier ones
// together with the change.
func (c *controller) seen(j *job) Record {
	if c.snap.has(j.name) {
		return c.snap.peek(j.name).record
	}
	if j.should[ensureKey] == absent {
		return nil
	}
	rec := Record{}
	maps.Copy(rec, j.is.Record)
	maps.Copy(rec, j.should)
	return rec
}

// rehearse has a provider with a noop handler say what it would do.
func (c *controller) rehearse(ctx context.Context, p Provider, jobs []*job) {
	var set []*job
	for _, j := range jobs {
		j.end(false, nil)
		if j.init.Noop && len(j.diffs) > 0 && c.kind.has(NoopHandler) {
			set = append(set, j)
		}
	}
	if len(set) > 0 {
		c.set(ctx, p, set, true)
	}
}

// set calls Set, and says the outcome of each.
func (c *controller) set(ctx context.Context, p Provider, jobs []*job, noop bool) {
	c.fresh.Store(false)
	changes := c.changes(jobs, noop)
	rt, log := c.runtimeFor(jobs, noop)
	given := make([]Change, len(changes))
	for i, ch := range changes {
		given[i] = ch.Clone()
	}
	log.learnAll(changes)
	for _, j := range jobs {
		log.conceal(j.hidden)
	}
	err := callsafe.Do("Set", func() error { return p.Set(ctx, rt, given) })
	err = c.lost(ctx, idsOf(jobs), log.cleanError(errors.Join(err, log.Broken())))
	after := byTitle(given)
	for i, j := range jobs {
		j.end(false, outcome(log, j.title(), err))
		if key, altered := altered(changes[i], after[j.title()]); altered && j.out.Err == nil && c.kind.strict == StrictError {
			j.end(false, fmt.Errorf("Set has altered what it was given: %s", key))
		}
	}
	c.hear("Set", jobs, err)
}

// hear says an error of a call with which none of its resources fails, because all of
// them were done before.
func (c *controller) hear(method string, jobs []*job, err error) {
	if err != nil && !slices.ContainsFunc(jobs, func(j *job) bool { return j.out.Err == err }) {
		c.warn("a call has failed after it has done all", fmt.Errorf("%s: %w", method, err))
	}
}

// refresh calls Refresh for the notified resources.
func (c *controller) refresh(ctx context.Context, p Provider, jobs []*job) {
	c.fresh.Store(false)
	rt, log := c.runtimeFor(jobs, false)
	given := c.changes(jobs, false)
	for i := range given {
		given[i] = given[i].Clone()
	}
	log.learnAll(given)
	err := callsafe.Do("Refresh", func() error { return p.(Refresher).Refresh(ctx, rt, given) })
	err = c.lost(ctx, idsOf(jobs), log.cleanError(errors.Join(err, log.Broken())))
	for _, j := range jobs {
		j.end(false, outcome(log, j.title(), err))
		c.snap.mark(j.name, stale)
	}
	c.hear("Refresh", jobs, err)
}

// runtimeFor is the runtime of a call about these resources.
func (c *controller) runtimeFor(jobs []*job, noop bool) (*Runtime, *Logger) {
	titles := make([]string, len(jobs))
	for i, j := range jobs {
		titles[i] = j.title()
	}
	log := c.kind.logger(c.sink(jobs), titles, noop)
	return c.there(&Runtime{Type: c.kind, Noop: noop, Host: jobs[0].init.Host, Log: log, slog: c.log()}), log
}

// sink logs an event about one resource in the log of that resource, and all else in
// the log of the first.
func (c *controller) sink(jobs []*job) func(Event) {
	of := make(map[string]*job, len(jobs))
	for _, j := range jobs {
		of[j.title()] = j
	}
	return func(e Event) {
		to := jobs[0]
		if len(e.Titles) == 1 && of[e.Titles[0]] != nil {
			to = of[e.Titles[0]]
		}
		if to.init.Log != nil {
			SlogSink(to.init.Log)(quiet(e))
		}
	}
}

func (c *controller) changes(jobs []*job, noop bool) []Change {
	out := make([]Change, len(jobs))
	for i, j := range jobs {
		out[i] = Change{Title: j.title(), Name: j.name, Is: j.is, Should: j.should, Noop: noop, Secret: j.secrets()}
	}
	return out
}

// Clone returns a copy that shares nothing with the change.
func (ch Change) Clone() Change {
	ch.Should = ch.Should.Clone()
	if ch.Is.Record != nil {
		ch.Is.Record = ch.Is.Record.Clone()
	}
	return ch
}

// altered says how a provider has altered its input; it compares with a copy.
func altered(before, after Change) (string, bool) {
	switch {
	case before.Title != after.Title || before.Name != after.Name:
		return "the title", true
	case !same(before.Should, after.Should):
		return "what should be", true
	case !same(before.Is.Record, after.Is.Record):
		return "what is", true
	}
	return "", false
}

// byTitle sorts changes: a provider may have put them into another order.
func byTitle(changes []Change) map[string]Change {
	out := make(map[string]Change, len(changes))
	for _, c := range changes {
		out[c.Title] = c
	}
	return out
}

// outcome says the result of a title in a call that returned err: its own status,
// else the error.
func outcome(log *Logger, title string, err error) error {
	status, _ := log.Status(title)
	switch {
	case status == Failed:
		return log.cleanError(log.failure(title))
	case status == Unmarked:
		return err
	}
	return nil
}
