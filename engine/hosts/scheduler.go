package hosts

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// Scheduler stands for schedules in the name of one host, and says which hosts are chosen. One lease serves
// all schedules of a Scheduler. Make it with NewScheduler, and run it on a goroutine. Its methods are callable
// from any goroutine.
type Scheduler struct {
	store  Store
	host   string
	keeper *Keeper

	mu     sync.Mutex
	stands map[string]*stand // by key
	denied map[string]error  // why the store refuses a key, until it takes it
	moved  chan struct{}     // closed, and made anew, when a lease began or ended
}

// stand is one schedule that this host knows.
type stand struct {
	users int
	rule  *Rule // nil: this host does not stand
}

// NewScheduler returns a Scheduler. The candidates of a host that dies go after ttl.
func NewScheduler(s Store, host string, ttl time.Duration) *Scheduler {
	x := &Scheduler{store: s, host: host, keeper: NewKeeper(s, ttl), stands: map[string]*stand{}, denied: map[string]error{}, moved: make(chan struct{})}
	x.keeper.OnWritten(x.move)
	x.keeper.OnRefused(func(key string, why error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.denied[key] = why
	})
	return x
}

// Run holds the lease until ctx ends or the World is closed, and withdraws from all schedules then.
func (s *Scheduler) Run(ctx context.Context) { s.keeper.Run(ctx) }

// move wakes every Follow, because a proof has begun or ended. A key that the store has taken by now is not refused any more.
func (s *Scheduler) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.denied, func(key string, _ error) bool {
		_, _, taken := s.keeper.At(key)
		return taken
	})
	close(s.moved)
	s.moved = make(chan struct{})
}

// Place is the use of one schedule. It is callable from any goroutine.
type Place struct {
	s           *Scheduler
	topic, name string
	once        sync.Once
}

// Place returns a use of a schedule. This host is a candidate from Stand until Withdraw, or until the last
// use has ended.
func (s *Scheduler) Place(topic, name string) *Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ScheduleKey(topic, name, s.host)
	if s.stands[key] == nil {
		s.stands[key] = &stand{}
	}
	s.stands[key].users++
	return &Place{s: s, topic: topic, name: name}
}

func (p *Place) key() string { return ScheduleKey(p.topic, p.name, p.s.host) }

// End ends the use.
func (p *Place) End() {
	p.once.Do(func() {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		st := p.s.stands[p.key()]
		if st.users--; st.users == 0 {
			delete(p.s.stands, p.key())
		}
		p.s.publish()
	})
}

// Stands returns whether this host is a candidate by a rule, in its own view.
func (p *Place) Stands(r Rule) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	st := p.s.stands[p.key()]
	return st.rule != nil && *st.rule == r
}

// Stand makes this host a candidate, and waits until the store has that. A rule in the place of another one
// does not alter how long the host has stood. The error is that of ctx, that of a store that refuses it, or
// ErrUnavailable if the store did not take it in some seconds. The host then goes on to try.
func (p *Place) Stand(ctx context.Context, r Rule) error {
	if err := r.Check(); err != nil {
		return err
	}
	p.set(&r)
	return p.await(ctx, func() bool {
		value, _, ok := p.s.keeper.At(p.key())
		return ok && string(value) == string(recordOf(r))
	})
}

// Gone waits until the store does not have this host as a candidate that it was by Stand. The error is as that of Stand.
func (p *Place) Gone(ctx context.Context) error {
	return p.await(ctx, func() bool { return !p.s.keeper.Has(p.key()) })
}

// await waits until the store has come to a state.
func (p *Place) await(ctx context.Context, done func() bool) error {
	late, stop := clock.After(p.s.store.Clock, callTime)
	defer stop()
	for {
		moved := p.s.changes()
		if done() {
			return nil
		}
		if err := p.denied(); err != nil {
			return err
		}
		select {
		case <-moved:
		case <-late:
			return errSlow
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// set states the rule by which this host stands, nil for not at all.
func (p *Place) set(r *Rule) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	st := p.s.stands[p.key()]
	if (st.rule == nil) != (r == nil) || r != nil && *st.rule != *r {
		delete(p.s.denied, p.key())
		st.rule = r
		p.s.publish()
	}
}

func (p *Place) denied() error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.denied[p.key()]
}

// Withdraw makes this host no candidate any more. It does not wait for the store.
func (p *Place) Withdraw() { p.set(nil) }

// Again has the store written again, after another process has altered a record of this host.
func (p *Place) Again() { p.s.keeper.Again() }

// Ask returns the choice of this moment.
func (p *Place) Ask(ctx context.Context) (Choice, error) {
	kvs, rev, err := p.s.store.list(ctx, SchedulePrefix(p.topic))
	if err != nil {
		return Choice{}, err
	}
	var t Table
	t.Take(wholeOf(kvs, rev))
	return p.Prove(p.choose(&t)), nil
}

// Scheduled returns the hosts of a schedule, sorted by name, and the revision of the store that says so. It is
// for readers without a place. They follow SchedulePrefix to hear of changes.
func Scheduled(ctx context.Context, s Store, topic, name string) (hosts []string, revision int64, err error) {
	c, err := NewScheduler(s, "", 0).Place(topic, name).Ask(ctx)
	return c.Hosts, c.Revision, err
}

// choose returns the choice with the own record of this host.
func (p *Place) choose(t *Table) Choice {
	c := t.Choose(p.name)
	own := t.by[p.name][p.s.host]
	c.Own, c.Lease, c.wrote = own.rule, own.lease, own.revision
	return c
}

// Prove returns a choice with Mine as it is at this moment. It is true where the lease of this host holds, and the choice was made
// from a state that has the record as this process has written it. So of two machines with one name only the last writer is chosen.
func (p *Place) Prove(c Choice) Choice {
	at := p.at()
	c.Mine = at > 0 && c.wrote == at && slices.Contains(c.Hosts, p.s.host)
	return c
}

// isLost reports whether another process has deleted the record of this host, though its lease holds.
func (p *Place) isLost(c Choice) bool { return p.at() > 0 && c.wrote == 0 && !p.Stale(c) }

// Stale reports whether a choice is older than the record of this host. Ask gives a newer one.
func (p *Place) Stale(c Choice) bool { return c.Revision < p.at() }

// at returns the revision of the own record, 0 where no lease proves it.
func (p *Place) at() int64 {
	_, rev, ok := p.s.keeper.At(p.key())
	if !ok {
		return 0
	}
	return rev
}

// Follow yields the choice, and each other one, until ctx ends or the World is closed. While the store is
// lost the hosts stay as they were, and Mine is false from the end of the lease on. tell is Store.Tell of the
// reading; nil for none.
func (p *Place) Follow(ctx context.Context, tell func(error)) iter.Seq[Choice] {
	return func(yield func(Choice) bool) {
		ctx, cancel := context.WithCancel(ctx)
		r := &reading{news: make(chan struct{}, 1), over: make(chan struct{})}
		defer func() { cancel(); <-r.over }()
		go r.run(ctx, p, tell)
		var last *Choice
		for {
			moved := p.s.changes()
			if c := r.now.Load(); c != nil {
				proved := p.Prove(*c)
				if (last == nil || !last.Equal(proved)) && !yield(proved) {
					return
				}
				last = &proved
			}
			select {
			case <-r.news:
			case <-moved:
			case <-r.over:
				return
			}
		}
	}
}

// reading is the reader of one Follow.
type reading struct {
	now  atomic.Pointer[Choice] // nil until the store has answered
	news chan struct{}          // capacity 1: now is another one
	over chan struct{}          // closed at the end
}

// run follows the candidates of a topic until ctx ends. Each state of the store makes one choice; a reader that is slow sees the newest
// one alone.
func (r *reading) run(ctx context.Context, p *Place, tell func(error)) {
	defer close(r.over)
	store := p.s.store
	store.Tell = tell
	var t Table
	for c := range store.Follow(ctx, SchedulePrefix(p.topic)) {
		t.Take(c)
		r.now.Store(new(p.choose(&t)))
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// Lead calls do whenever this host is the leader: the candidate of a schedule that has stood longest. The
// context of do ends when that is over, or can be proved no longer. Another host leads only after the lease of
// this one has ended in the store, and do should end before. Lead returns when ctx has ended or the World is closed.
func (s *Scheduler) Lead(ctx context.Context, topic, name string, do func(context.Context)) {
	p := s.Place(topic, name)
	defer p.End()
	stop := func() {}
	defer func() { stop() }()
	standing := sync.WaitGroup{}
	ctx, cancel := context.WithCancel(ctx)
	defer standing.Wait()
	defer cancel()
	standing.Go(func() { _ = p.Stand(ctx, Rule{Strategy: Sticky, Count: 1}) })
	leads := false
	for c := range p.Follow(ctx, nil) {
		if p.isLost(c) {
			p.Again()
		}
		switch {
		case c.Mine && !leads:
			term, end := context.WithCancel(ctx)
			over := make(chan struct{})
			go func() { defer close(over); do(term) }()
			stop = func() { end(); <-over }
		case !c.Mine && leads:
			stop()
			stop = func() {}
		}
		leads = c.Mine
	}
}

// changes returns a channel that is closed at the next change of a proof.
func (s *Scheduler) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// publish hands the candidates to the keeper. The caller holds the lock.
func (s *Scheduler) publish() {
	all := map[string][]byte{}
	for key, st := range s.stands {
		if st.rule != nil {
			all[key] = recordOf(*st.rule)
		}
	}
	s.keeper.Set("schedules", all)
}

// recordOf is the value of a candidate in the store.
func recordOf(r Rule) []byte {
	text, _ := json.Marshal(r) // it has a text and a number
	return text
}
