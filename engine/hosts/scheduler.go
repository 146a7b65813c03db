package hosts

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"
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
	moved  chan struct{}     // closed, and made anew, when a lease began or ended
}

// stand is one schedule that this host knows.
type stand struct {
	users int
	rule  *Rule // nil: this host is no candidate
}

// NewScheduler returns a Scheduler. The candidates of a host that dies go after ttl.
func NewScheduler(s Store, host string, ttl time.Duration) *Scheduler {
	x := &Scheduler{store: s, host: host, keeper: NewKeeper(s, ttl), stands: map[string]*stand{}, moved: make(chan struct{})}
	x.keeper.OnWritten(x.move)
	return x
}

// Run holds the lease until ctx ends or the World is closed, and withdraws from all schedules then.
func (s *Scheduler) Run(ctx context.Context) { s.keeper.Run(ctx) }

// move wakes every Follow, because a proof has begun or ended.
func (s *Scheduler) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
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
// does not alter how long the host has stood. The error is that of ctx.
func (p *Place) Stand(ctx context.Context, r Rule) error {
	if err := r.Check(); err != nil {
		return err
	}
	p.s.mu.Lock()
	st := p.s.stands[p.key()]
	if st.rule == nil || *st.rule != r {
		st.rule = &r
		p.s.publish()
	}
	p.s.mu.Unlock()
	for {
		moved := p.s.changes()
		if value, _, ok := p.s.keeper.At(p.key()); ok && string(value) == string(recordOf(r)) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Withdraw makes this host no candidate any more. It does not wait for the store.
func (p *Place) Withdraw() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.stands[p.key()].rule = nil
	p.s.publish()
}

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
	return p.prove(t.Choose(p.name)), nil
}

// Follow yields the choice, and each other one, until ctx ends or the World is closed. While the store is
// lost the hosts stay as they were, and Mine is false from the end of the lease on.
func (p *Place) Follow(ctx context.Context) iter.Seq[Choice] {
	return func(yield func(Choice) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var mu sync.Mutex
		var now *Choice
		news, over := make(chan struct{}, 1), make(chan struct{})
		defer func() { cancel(); <-over }()
		go func() {
			defer close(over)
			defer cancel()
			var t Table
			for c := range p.s.store.Follow(ctx, SchedulePrefix(p.topic)) {
				t.Take(c)
				chosen := t.Choose(p.name)
				mu.Lock()
				now = &chosen
				mu.Unlock()
				select {
				case news <- struct{}{}:
				default:
				}
			}
		}()
		var last *Choice
		for {
			moved := p.s.changes()
			mu.Lock()
			c := now
			mu.Unlock()
			if c != nil {
				proved := p.prove(*c)
				if (last == nil || !last.Equal(proved)) && !yield(proved) {
					return
				}
				last = &proved
			}
			select {
			case <-news:
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Lead calls do whenever this host is the leader: the candidate of a schedule that has stood longest. The
// context of do ends when that is over, or can be proved no longer; another host leads only after the lease of
// this one, so do has a third of the ttl to end. Lead returns when ctx has ended or the World is closed.
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
	for c := range p.Follow(ctx) {
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

// prove sets Mine where the lease of this host proves it: its own record is in the store, in the state that the
// choice was made from.
func (p *Place) prove(c Choice) Choice {
	_, rev, ok := p.s.keeper.At(p.key())
	c.Mine = ok && c.Revision >= rev && slices.Contains(c.Hosts, p.s.host)
	return c
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
