package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// snapshot is what was read last, by name. A record outlives its transaction, to be
// compared with the next one, but is good for nothing else then.
type snapshot struct {
	records map[Name]*entry
	all     bool             // in this transaction all were read
	read    map[Name]reading // what is different about some
	by      *watch           // whose fresh records these are
}

// reading says how good the record of a name is.
type reading uint8

const (
	good  reading = iota + 1 // read in this transaction
	stale                    // it was altered since
	fresh                    // read by the watch, whose resource was woken and has not looked yet
)

// entry is what is known of a name.
type entry struct {
	record Record // nil for absent
	err    error  // what is wrong with the record
}

// forget ends a transaction. Records of names without a resource go.
func (s *snapshot) forget(index map[Name][]*member) {
	s.all = false
	if len(s.records) > len(index) {
		maps.DeleteFunc(s.records, func(n Name, _ *entry) bool { return len(index[n]) == 0 })
	}
	for n, r := range s.read {
		if r != fresh {
			delete(s.read, n)
		}
	}
}

// doubt has possibly changed things read again by the next resource that needs them,
// which may be one not heard of yet.
func (s *snapshot) doubt(f Filter) {
	if f.All {
		s.all = false
		clear(s.read)
	}
	for _, n := range f.Names {
		s.mark(n, stale)
	}
}

// has reports whether the name need not be read.
func (s *snapshot) has(n Name) bool {
	switch s.read[n] {
	case good, fresh:
		return true
	case stale:
		return false
	}
	return s.all
}

// use returns the record of a name that need not be read, for the resource that
// asked for it.
func (s *snapshot) use(n Name) *entry {
	if s.read[n] == fresh {
		s.read[n] = good
	}
	return s.peek(n)
}

// spoil has a record read again that was read for another resource, which was woken
// by it.
func (s *snapshot) spoil(n Name) {
	if s.read[n] == fresh {
		delete(s.read, n)
	}
}

// peek returns the last known values.
func (s *snapshot) peek(n Name) *entry {
	if e := s.records[n]; e != nil {
		return e
	}
	return &entry{}
}

// mark says how good the record of a name is.
func (s *snapshot) mark(n Name, r reading) {
	if s.read == nil {
		s.read = map[Name]reading{}
	}
	s.read[n] = r
}

// put keeps the values of an answer.
func (s *snapshot) put(n Name, e *entry) {
	if s.records == nil {
		s.records = map[Name]*entry{}
	}
	s.records[n] = e
}

// outage says that Get has failed: no resource asks again before it is over.
type outage struct {
	err   error
	until time.Time
	pause time.Duration
}

const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// over reports whether the provider may be asked.
func (o *outage) over(clock clock.Clock) bool { return o.err == nil || !clock.Now().Before(o.until) }

// begin notes a failure.
func (o *outage) begin(clock clock.Clock, err error) {
	o.pause = min(max(2*o.pause, firstPause), lastPause)
	o.err, o.until = err, clock.Now().Add(o.pause)
}

// UnavailableError says that the things of a type can't be read, so that nothing is
// done with any of them.
type UnavailableError struct {
	Type string
	Err  error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the type %s is unavailable: %v", e.Type, e.Err)
}

// Unwrap returns the error of the provider.
func (e *UnavailableError) Unwrap() error { return e.Err }

// read makes the names good. Where they can be read by name, others that were never
// read are read with them.
func (c *controller) read(ctx context.Context, rt *Runtime, names []Name) error {
	missing := slices.DeleteFunc(slices.Clone(names), c.snap.has)
	if len(missing) == 0 {
		return nil
	}
	return c.load(ctx, rt, c.filter(missing), names)
}

// filter says what is to be read so that the names are good.
func (c *controller) filter(names []Name) Filter {
	if !c.kind.byNames() {
		return Filter{All: true}
	}
	asked := map[Name]bool{}
	for _, n := range names {
		asked[n] = true
	}
	due := len(names)
	for m := range c.unread {
		if n := m.canon.name; !asked[n] {
			asked[n] = true
			names = append(names, n)
		}
	}
	// A map has no order, and a provider is asked in one that a person can repeat.
	sorted.Func(names[due:], func(a, b Name) int { return strings.Compare(a.parts, b.parts) })
	return Only(names...)
}

// readLimit is how long reading may take, but for commands, which have a timeout.
const readLimit = 5 * time.Minute

// load reads. Members whose record has changed are woken, unless they have one of the
// due names, and see it now. All members are woken when an error makes the type
// unavailable, and when it is there again.
func (c *controller) load(ctx context.Context, rt *Runtime, f Filter, due []Name) error {
	if !c.down.over(c.clock()) {
		return c.down.err
	}
	if err := c.reach(ctx, due); err != nil {
		return err
	}
	rt = c.there(rt)
	before := c.before(f, due)
	limit := c.kind.limit
	limited, cancel := clock.WithTimeout(ctx, c.clock(), limit, fmt.Errorf("reading has not ended after %s", limit))
	defer cancel()
	err := c.fetch(limited, rt, f)
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		err = c.unavailable(c.lost(ctx, nil, err), due)
	case c.down.err != nil:
		c.down = outage{}
		c.wakeAll(due)
	}
	if err == nil {
		c.tell(ctx, before)
	}
	return err
}

// before returns the records of the names that are about to be read, but for the due
// ones.
func (c *controller) before(f Filter, due []Name) map[Name]*entry {
	before := map[Name]*entry{}
	for _, n := range c.known(Filter{All: f.All, Names: slices.Clone(f.Names)}) {
		if was := c.snap.records[n]; was != nil {
			before[n] = was
		}
	}
	for _, n := range due {
		delete(before, n)
	}
	return before
}

// tell wakes the members whose record has changed.
func (c *controller) tell(ctx context.Context, before map[Name]*entry) {
	for n, was := range before {
		if !was.equal(c.snap.peek(n)) {
			c.changed(ctx, n)
		}
	}
}

// byNames reports whether a few things can be read.
func (k *Kind) byNames() bool { return k.has(SimpleGetFilter | Find) }

// fetch reads, and keeps the records. After an error nothing has changed.
func (c *controller) fetch(ctx context.Context, rt *Runtime, f Filter) error {
	p, err := c.provider()
	if err != nil {
		return err
	}
	found, _, err := c.kind.get(ctx, rt, p, f)
	if err != nil {
		return err
	}
	c.kind.inspect(ctx, rt, p, found, c.concerned(f))
	if err := context.Cause(ctx); err != nil {
		return err // the fault may come from that
	}
	c.keep(f, found)
	return nil
}

// concerned reports which names matter to a member.
func (c *controller) concerned(f Filter) map[Name]bool {
	names := map[Name]bool{}
	for _, n := range f.Names {
		names[n] = true
	}
	if f.All {
		for _, n := range c.known(f) {
			names[n] = true
		}
	}
	return names
}

// keep puts the new records in the place of the old ones.
func (c *controller) keep(f Filter, found map[Name]*entry) {
	clear(c.unread)
	if f.All {
		clear(c.snap.records)
		clear(c.snap.read)
		c.snap.all = true
		f.Names = c.known(f)
	}
	for _, n := range f.Names {
		c.snap.put(n, &entry{})
		if !f.All {
			c.snap.mark(n, good)
		}
	}
	for n, e := range found {
		c.snap.put(n, e)
		if !f.All {
			c.snap.mark(n, good)
		}
	}
}

// get asks a provider, and sorts the answer by name.
func (k *Kind) get(ctx context.Context, rt *Runtime, p Provider, f Filter) (found map[Name]*entry, order []Name, err error) {
	defer callsafe.Recover("Get", &err)
	found = map[Name]*entry{}
	if k.has(Find) {
		return found, f.Names, k.find(ctx, rt, p.(Finder), f, found)
	}
	given := f
	if !f.All {
		given = Only(slices.Clone(f.Names)...)
	}
	n := 0
	for rec, err := range p.Get(ctx, rt, given) {
		n++
		if cause := context.Cause(ctx); cause != nil {
			err, rec = cause, nil
		}
		if err != nil {
			name, unnamed := k.identify(rec)
			if unnamed != nil {
				return nil, nil, err
			}
			if found[name] == nil {
				order = append(order, name)
			}
			found[name] = &entry{err: err}
			continue
		}
		name, err := k.identify(rec)
		if err != nil {
			return nil, nil, fmt.Errorf("record %d of Get: %w", n, err)
		}
		if found[name] != nil {
			found[name].err = fmt.Errorf("Get has returned %s twice", name)
			continue
		}
		found[name] = &entry{record: rec.Clone()}
		order = append(order, name)
	}
	return found, order, nil
}

func (k *Kind) find(ctx context.Context, rt *Runtime, p Finder, f Filter, found map[Name]*entry) error {
	for _, n := range f.Names {
		rec, ok, err := p.Find(ctx, rt, n)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			found[n] = &entry{err: err}
			continue
		}
		if !ok {
			continue
		}
		got, err := k.identify(rec)
		if err != nil {
			return fmt.Errorf("what Find has returned for %s: %w", n, err)
		}
		if got != n {
			return fmt.Errorf("its Find has returned %s for %s", got, n)
		}
		found[n] = &entry{record: rec.Clone()}
	}
	return nil
}

var errNilRecord = errors.New("it is nil")

// identify returns the name of a record.
func (k *Kind) identify(rec Record) (Name, error) {
	if rec == nil {
		return Name{}, errNilRecord
	}
	for _, a := range k.names {
		if v, ok := rec[a.Name]; !ok || v == nil {
			return Name{}, fmt.Errorf("it has no %s, which is a namevar", a.Name)
		}
	}
	return k.nameOf(rec), nil
}
