package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// compare finds out what differs, and says so to the engine. A resource that is as it
// should be, and not notified, is done.
func (c *controller) compare(ctx context.Context, rt *Runtime, p Provider, jobs []*job) {
	for _, j := range jobs {
		if err := c.kind.compare(ctx, rt, p, j, c.snap.use(j.name)); err != nil {
			j.end(false, err)
			continue
		}
		j.refresh = len(j.diffs) == 0 && c.kind.has(Refreshable) && j.init.Refresh()
		switch {
		case j.refresh:
			j.init.Change(engine.Change{Verb: engine.Refreshed})
		case len(j.diffs) == 0:
			j.end(true, j.send(j.is.Record))
		}
	}
}

// compare finds out what differs for one resource.
func (k *Kind) compare(ctx context.Context, rt *Runtime, p Provider, j *job, e *entry) error {
	if e.err != nil {
		return e.err
	}
	j.is = State{Presence: Absent}
	if e.record != nil {
		j.is = State{Presence: Known, Record: e.record}
	}
	if k.has(CustomInSync) {
		rt.Log.learn(j.is.Record)
		rt.Log.learn(j.should)
	}
	if k.ensure != nil {
		if done, err := k.compareEnsure(ctx, rt, p, j); done || err != nil {
			return err
		}
	}
	if k.blank && k.has(CustomInSync) {
		return k.compareWhole(ctx, rt, p, j)
	}
	return k.compareEach(ctx, rt, p, j)
}

// compareWhole asks the provider whether a thing of a type without properties is as it
// should be: nothing else can tell. A missing one is not.
func (k *Kind) compareWhole(ctx context.Context, rt *Runtime, p Provider, j *job) error {
	in, err := k.inSync(ctx, rt, p, j, &compiled{}, j.is.Presence == Known, true)
	if !in && err == nil {
		j.differs("", engine.Change{Verb: engine.Ran})
	}
	return err
}

// compareEnsure compares whether it is there, and reports whether that is all.
func (k *Kind) compareEnsure(ctx context.Context, rt *Runtime, p Provider, j *job) (done bool, err error) {
	there := j.is.Presence == Known
	should, asked := j.should[ensureKey]
	if !asked || !there && should == absent {
		return !there, nil
	}
	if there && should == present {
		in, err := k.inSync(ctx, rt, p, j, k.ensure, present, should)
		if !in && err == nil { // an InSyncer says so
			j.differs(ensureKey, engine.Change{Field: ensureKey, From: present, To: present})
		}
		return !in, err
	}
	if there {
		j.differs(ensureKey, engine.Change{Verb: engine.Deleted})
		return true, nil
	}
	j.differs(ensureKey, engine.Change{Verb: engine.Created})
	k.tellMade(p, j)
	return true, nil
}

// tellMade tells each value with which a thing is created. They are part of one
// difference, so they are not noted as others; see engine.MadeWith. A value that is not
// for all users is not looked for in the errors of Set, which may have to name it.
func (k *Kind) tellMade(p Provider, j *job) {
	if j.quiet {
		return
	}
	hidden := j.hidden
	defer func() { j.hidden = hidden }()
	for i := range k.attrs {
		a := &k.attrs[i]
		should, managed := j.should[a.Name]
		if !managed || a == k.ensure || a.Role != Property && a.Role != InitOnly {
			continue
		}
		if to := a.plain(should); to != nil {
			j.init.Change(j.confine(p, engine.Change{Field: a.Name, To: to}))
		}
	}
}

// compareEach compares attribute by attribute, in the order of the definition.
func (k *Kind) compareEach(ctx context.Context, rt *Runtime, p Provider, j *job) error {
	var errs []error
	for i := range k.attrs {
		a := &k.attrs[i]
		should, managed := j.should[a.Name]
		if !managed || a == k.ensure || a.Role != Property && a.Role != InitOnly {
			continue
		}
		is := j.is.Record[a.Name]
		in, err := k.inSync(ctx, rt, p, j, a, is, should)
		switch {
		case err != nil:
			errs = append(errs, err)
		case in:
		case a.Role == InitOnly && j.is.Presence == Known:
			errs = append(errs, fmt.Errorf("%s can be set only when it is created: it is %s and should be %s",
				a.Name, a.shown(is), a.shown(should)))
		default:
			j.differs(a.Name, j.confine(p, engine.Change{Field: a.Name, From: a.plain(is), To: a.plain(should)}))
		}
	}
	return errors.Join(errs...)
}

// inSync compares one attribute.
func (k *Kind) inSync(ctx context.Context, rt *Runtime, p Provider, j *job, a *compiled, is, should any) (ok bool, err error) {
	if !k.has(CustomInSync) || j.is.Presence != Known {
		return equal(is, should), nil
	}
	var ans Answer
	var why string
	own := *rt
	if own.secret = j.secrets(); j.res != nil && j.init != nil {
		own.Host = j.init.Host
	}
	err = callsafe.Do("InSync", func() error {
		ans, why, err = p.(InSyncer).InSync(ctx, &own, j.name, a.Name, j.is.Record.Clone(), j.should.Clone())
		return err
	})
	switch {
	case err != nil:
		return false, rt.Log.cleanError(fmt.Errorf("comparing %s: %w", cmp.Or(a.Name, j.name.String()), err))
	case ans == Default:
		return equal(is, should), nil
	case ans == OutOfSync && why != "":
		rt.Log.Debug(cmp.Or(a.Name, j.name.String()) + ": " + why)
	}
	return ans == InSync, nil
}

// plain is a value for a Change.
func (a *compiled) plain(v any) any {
	v = puppettype.Plain(v)
	if v == nil && a.secret {
		return nil
	}
	return v
}

// shown is a value for a message.
func (a *compiled) shown(v any) string {
	switch v := a.plain(v).(type) {
	case nil:
		return "not set"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
