package provider

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// controller is what all resources of a kind have in common: it alone calls the
// provider. It is the engine.Shared of the kind.
//
// The fields below turn belong to the holder of the turn: a batch, the end of a
// transaction, a look, a reading of the watch. The fields below mu are touched for a
// moment only.
type controller struct {
	kind  *Kind
	host  engine.Host
	turn  chan struct{} // of capacity 1; full while the provider is being used
	old   atomic.Bool   // the last values count no more; see Forget
	fresh atomic.Bool   // everything was read after the last Set or Refresh; see Reread

	prov Provider // of the transaction; nil until its first call
	snap snapshot
	down outage
	away *away // where the things are; nil for this machine

	unread map[*member]struct{} // those that were not read since they have a canonical form

	mu      sync.Mutex
	members map[*member]struct{}
	raw     map[*member]struct{} // those that have no canonical form yet
	index   index                // of the canonical forms
	life    context.Context      // ends with the last member
	kill    context.CancelFunc
	inTx    bool
	watch   *watch // nil while there is no subscriber
}

// clock is that of the host.
func (c *controller) clock() clock.Clock { return engine.ClockOf(c.host) }

// member is a resource from Init to Cleanup.
type member struct {
	of   *res
	init *engine.Init
	wake chan struct{} // of capacity 1

	// Under mu, of its last CheckApply.
	lost    bool // it has failed because a file or folder was missing
	touched bool // one of its files has changed since it began

	// Under the turn; canon under mu too.
	want  *want // as the last CheckApply had it, or Init
	canon *want // in canonical form; nil until it was made
	bad   error // why it could not be made
}

func open(k *Kind, h engine.Host, target string) *controller {
	return &controller{
		kind: k, host: h, away: k.far(target), turn: make(chan struct{}, 1),
		unread:  map[*member]struct{}{},
		members: map[*member]struct{}{}, raw: map[*member]struct{}{}, index: index{},
	}
}

// join makes the resource a member, from its Init on.
func (c *controller) join(r *res) *member {
	want, _ := r.looks() // its faults are told when it is used
	m := &member{of: r, init: r.init, want: want, wake: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.members) == 0 {
		c.life, c.kill = context.WithCancel(context.Background())
	}
	c.members[m] = struct{}{}
	c.raw[m] = struct{}{}
	return m
}

// leave ends what join began. After the last one no provider is called any more.
func (c *controller) leave(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m)
	delete(c.raw, m)
	c.index.remove(m)
	if len(c.members) == 0 {
		c.kill()
	}
}

// rivals reports whether two members are two resources, and not one before and after a
// change of the graph.
func (m *member) rivals(o *member) bool { return m.want.title != o.want.title }

// rival returns the title of another resource that is about the same thing.
func (c *controller) rival(m *member) (title string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for o := range c.index.rivals(m) {
		return o.want.title, true
	}
	return "", false
}

// rewant notes that a member wants something else than before. Its earlier wishes
// are not looked at any more.
func (c *controller) rewant(m *member, w *want) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.remove(m)
	delete(c.unread, m)
	m.want, m.canon, m.bad = w, nil, nil
	c.raw[m] = struct{}{}
}

// newcomers returns the members that have no canonical form yet.
func (c *controller) newcomers() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.raw))
}

// admit notes the canonical form of members, or why there is none.
func (c *controller) admit(ms []*member, forms []form) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, m := range ms {
		if _, here := c.members[m]; !here {
			continue
		}
		if m.canon, m.bad = forms[i].want, forms[i].err; m.bad != nil {
			continue
		}
		delete(c.raw, m)
		c.unread[m] = struct{}{}
		c.index.add(m)
		c.snap.spoil(m.canon.name)
	}
}

// named returns the members of a name.
func (c *controller) named(n Name) []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.index[n])
}

// wakeAll has all members look, but for those of the names that are due, and the watch
// too.
func (c *controller) wakeAll(due []Name) {
	except := Only(due...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.members {
		if m.canon == nil || !except.Has(m.canon.name) {
			m.wakeUp()
		}
	}
	if c.watch != nil {
		c.watch.news.nudge()
	}
}

// index has the members by the name of their canonical form. Members of one name that are not the same resource are rivals, and
// look again when one of them comes or goes.
type index map[Name][]*member

// add takes a member in, which has a canonical form.
func (x index) add(m *member) {
	x[m.canon.name] = append(x[m.canon.name], m)
	x.wakeRivals(m)
}

// remove takes a member out; it may have no canonical form.
func (x index) remove(m *member) {
	if m.canon == nil {
		return
	}
	n := m.canon.name
	if rest := slices.DeleteFunc(x[n], func(o *member) bool { return o == m }); len(rest) > 0 {
		x[n] = rest
	} else {
		delete(x, n)
	}
	x.wakeRivals(m)
}

// rivals yields the members that have the thing in common with a member, or had it.
func (x index) rivals(m *member) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for _, o := range x[m.canon.name] {
			if m.rivals(o) && !yield(o) {
				return
			}
		}
	}
}

func (x index) wakeRivals(m *member) {
	for o := range x.rivals(m) {
		o.wakeUp()
	}
}

// wakeUp has the member look. It never blocks.
func (m *member) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// alive returns the context that ends with the last member.
func (c *controller) alive() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == nil {
		return context.Background()
	}
	return c.life
}

// take waits for the turn. The caller that got it gives it back.
func (c *controller) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *controller) give() { <-c.turn }

// Begin begins a transaction: the provider is made with its first call.
func (c *controller) Begin() { c.setBegun(true) }

// Forget has the next run that needs something read it again, and forgets an error of
// reading: a resource above one of the kind has altered the machine.
func (c *controller) Forget() { c.old.Store(true) }

// Reread reports whether a read of everything came after the last Set or Refresh. So the resources behind a
// resource of the type need no read of their own.
func (c *controller) Reread() bool { return c.fresh.Load() }

// forget does what Forget asked for. It holds the turn.
func (c *controller) forget() {
	if c.old.Swap(false) {
		c.snap.doubt(Filter{All: true})
		c.down.until = time.Time{}
	}
}

// End ends it: the pending looks are done, and the provider closed.
func (c *controller) End() {
	ctx := c.alive()
	if c.take(ctx) != nil {
		c.setBegun(false)
		return
	}
	defer c.give()
	c.setBegun(false) // before the turn is given back: its next holder ends its own work
	c.finish(ctx)
}

func (c *controller) setBegun(b bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inTx = b
}

func (c *controller) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inTx
}

// finish does the remaining work at the end of a transaction.
func (c *controller) finish(ctx context.Context) {
	if err := c.hangUp(); err != nil {
		c.warn("closing a provider failed", err)
	}
}

// Close ends a controller that has no members.
func (c *controller) Close() error {
	c.turn <- struct{}{}
	defer c.give()
	err := c.hangUp()
	if c.away != nil {
		err = errors.Join(err, c.away.line.leave())
	}
	return err
}

// hangUp ends the transaction.
func (c *controller) hangUp() (err error) {
	c.mu.Lock()
	c.snap.forget(c.index)
	c.mu.Unlock()
	p := c.prov
	c.prov = nil
	if closer, ok := p.(Closer); ok {
		defer callsafe.Recover("Close", &err)
		return closer.Close()
	}
	return nil
}

// provider returns that of the transaction, and makes it if need be.
func (c *controller) provider() (p Provider, err error) {
	if c.prov != nil {
		return c.prov, nil
	}
	c.prov, err = c.kind.provider()
	return c.prov, err
}

// provider makes one.
func (k *Kind) provider() (p Provider, err error) {
	defer callsafe.Recover("the constructor", &err)
	if p = k.make(); p == nil {
		return nil, errors.New("the constructor has made no provider")
	}
	return p, nil
}

// log returns the log of one of the members.
func (c *controller) log() *slog.Logger {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.members {
		if m.init.Log != nil {
			return m.init.Log
		}
	}
	return slog.New(slog.DiscardHandler)
}

func (c *controller) warn(what string, err error) {
	c.log().Warn(what, slog.String("type", c.kind.def.Name), slog.Any("error", err))
}

// runtime returns the Runtime of the provider for a call about nothing in
// particular.
func (c *controller) runtime(host engine.Host) *Runtime {
	return c.there(&Runtime{Type: c.kind, Host: host, Log: c.kind.logger(SlogSink(c.log()), nil, false), slog: c.log()})
}
