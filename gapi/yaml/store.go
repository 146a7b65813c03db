package yaml

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
)

// firstAnswer is how long a graph waits for the store when it asks for the first time. A later
// answer makes a new graph. A verb such as plan must answer soon without a store, too.
const firstAnswer = 2 * time.Second

// store shows a store to expressions: the facts of its hosts, and the choices of its schedules. It follows only the prefixes that a graph has asked
// for, so a graph without such an expression costs the store nothing. It is callable from any goroutine. Its goroutines end with the context of newStore, and end waits for them.
type store struct {
	env    gapi.Env
	clock  clock.Clock
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // of capacity one: something that a graph has read is another one
	group  sync.WaitGroup
	// It is closed when a plan has met an error: no answer is waited for any more, and the caller has told why. Nil elsewhere.
	lost chan struct{}

	mu sync.Mutex
	// It is nil until a graph asks for hosts.
	board *board
	// By topic; a topic is there once a graph has asked for it.
	schedule map[string]*schedules
	// The leases whose end is awaited, by their ID.
	awaited map[string]bool
}

// board follows the facts of hosts.
// Its facts are guarded by the lock of the store.
type board struct {
	first chan struct{} // closed when facts has the first answer
	facts map[string]map[string]any
}

// schedules follows the schedules of a topic.
type schedules struct {
	topic    string
	first    chan struct{} // closed when table has the first answer
	answered bool
	table    hosts.Table
	asked    []string          // the names that graphs have asked for
	chosen   map[string]choice // by name
}

// choice is what a schedule has chosen, as far as this host may act on it.
type choice struct {
	hosts    []string // without this host where its lease does not prove that it is chosen
	lease    string   // that proves this host, where it is one of them and the Env asks for proofs; else empty
	unproved bool     // the store had this host as chosen, and its lease may have run out
}

// newStore returns a view of the store of an environment. It asks nothing yet.
func newStore(ctx context.Context, env gapi.Env) *store {
	s := &store{env: env, clock: engine.ClockOf(env.Host), wake: make(chan struct{}, 1), schedule: map[string]*schedules{}, awaited: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// end ends the following, and waits for that.
// It is called by the owner of the sequence or of the View.
func (s *store) end() {
	s.cancel()
	s.group.Wait()
}

// stir wakes the frontend.
// It never blocks: a token that is there already says the same (law 5).
func (s *store) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// follow takes the changes below a prefix until the context ends. A store that is lost is asked again by package hosts, and meanwhile the last answer
// counts. take is called under the lock; the frontend is woken where it answers true.
func (s *store) follow(prefix, what string, take func(hosts.Change) bool) {
	from := hosts.Store{World: s.env.World, Clock: s.clock, Tell: func(err error) {
		switch {
		case err != nil && s.lost != nil:
			s.mu.Lock()
			isClosed(s.lost)
			s.mu.Unlock()
		case err != nil:
			hosts.WarnLost(s.env.Log(), err, "expressions go on with what was read of it last", "of", what)
		}
	}}
	s.group.Go(func() {
		for c := range from.Follow(s.ctx, prefix) {
			s.mu.Lock()
			differs := take(c)
			s.mu.Unlock()
			if differs {
				s.stir()
			}
		}
	})
}

// await waits for a first answer, for a bounded time. A daemon must start where its store is away: its graph is on this machine.
func (s *store) await(first <-chan struct{}) {
	late, stop := clock.After(s.clock, firstAnswer)
	defer stop()
	select {
	case <-first:
	case <-s.lost:
	case <-late:
		s.env.Log().Warn("the store does not answer: the graph is made without its hosts and schedules, and made again when it does")
	case <-s.ctx.Done():
	}
}

// hosts returns the facts of the hosts in the store. The first call starts to follow them and
// may wait for firstAnswer; once there is an answer, calls only copy. The inner maps are shared
// and never altered. It is nil where the store has not answered.
func (s *store) hosts() map[string]map[string]any {
	s.mu.Lock()
	b := s.board
	if b == nil {
		b = &board{first: make(chan struct{})}
		s.board = b
		var all hosts.Board
		s.follow(hosts.Prefix, "hosts", func(c hosts.Change) bool {
			differs := all.Take(c)
			if b.facts = all.Facts(); b.facts == nil {
				b.facts = map[string]map[string]any{}
			}
			return !isClosed(b.first) || differs
		})
	}
	s.mu.Unlock()
	s.await(b.first)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(b.facts)
}

// scheduled returns the hosts that a schedule of a topic has chosen, sorted by name, and the lease that proves that this host is one of them.
// It waits as hosts does. A schedule without an answer has chosen no host, and its list is nil.
func (s *store) scheduled(topic, name string) (chosen []string, lease string) {
	s.mu.Lock()
	x := s.schedule[topic]
	if x == nil {
		x = &schedules{topic: topic, first: make(chan struct{})}
		s.schedule[topic] = x
		// The names of other schedules do not wake: a store may have many, and each host moves them.
		s.follow(hosts.SchedulePrefix(topic), "schedules", func(c hosts.Change) bool {
			x.table.Take(c)
			x.answered = true
			differs := s.choose(x)
			return !isClosed(x.first) || differs
		})
	}
	if !slices.Contains(x.asked, name) {
		x.asked = append(x.asked, name)
	}
	s.mu.Unlock()
	s.await(x.first)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose(x)
	c := x.chosen[name]
	if x.answered {
		return append([]string{}, c.hosts...), c.lease
	}
	return nil, ""
}

// choose brings what the schedules of a topic have chosen up to this moment, and reports whether that is something else now. The caller
// holds the lock.
func (s *store) choose(x *schedules) (differs bool) {
	now := map[string]choice{}
	for _, name := range x.asked {
		c := s.prove(&x.table, name)
		if was := x.chosen[name].unproved; was != c.unproved {
			s.tellProof(x.topic+"/"+name, c)
		}
		now[name] = c
	}
	differs = !reflect.DeepEqual(now, x.chosen)
	x.chosen = now
	return differs
}

// tellProof says that this host may not act as a chosen one any more, or again.
func (s *store) tellProof(schedule string, c choice) {
	log := s.env.Log().With(slog.String("schedule", schedule))
	switch {
	case c.unproved:
		log.Warn("the lease of this host may have run out: it does not count as chosen, and what depends on that does not run, until the store takes it again")
	case c.lease != "":
		log.Info("this host counts as chosen again: the store has its lease")
	}
}

// prove returns the choice of one schedule. This host is one of the chosen only under a lease of this process that holds: the table may be older
// than the end of the lease, after which the others choose another host.
func (s *store) prove(t *hosts.Table, name string) choice {
	c := choice{hosts: t.Choose(name).Hosts}
	own := slices.Index(c.hosts, s.env.Hostname)
	if own < 0 || !s.env.Proves {
		return c
	}
	id := t.LeaseOf(name, s.env.Hostname)
	lease := s.env.World.Held(id)
	if lease != nil {
		s.awaitEnd(id, lease)
	}
	if lease != nil && lease.Holds() {
		c.lease = id
		return c
	}
	c.hosts, c.unproved = slices.Delete(slices.Clone(c.hosts), own, own+1), true
	return c
}

// lookAgain is how soon a lease that does not hold, and was not told to have ended, is looked at again: an answer of the store may have waited
// in a process that was stopped.
const lookAgain = time.Second

// awaitEnd has the choices made again at the end of a lease. The caller holds the lock.
func (s *store) awaitEnd(id string, lease world.Lease) {
	if s.awaited[id] {
		return
	}
	s.awaited[id] = true
	s.group.Go(func() {
		for s.untilEnd(lease) {
			s.chooseAll()
		}
		s.mu.Lock()
		delete(s.awaited, id)
		s.mu.Unlock()
		s.chooseAll()
	})
}

// untilEnd waits until a lease has ended, which it reports by false, or until it has to be looked at again.
func (s *store) untilEnd(lease world.Lease) bool {
	var late <-chan struct{}
	if !lease.Holds() {
		wake, stop := clock.After(s.clock, lookAgain)
		defer stop()
		late = wake
	}
	select {
	case <-late:
		return true
	case <-lease.Done():
	case <-s.ctx.Done():
	}
	return false
}

// chooseAll makes the choices of all topics again.
func (s *store) chooseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.schedule {
		if s.choose(x) {
			s.stir()
		}
	}
}

// isClosed closes a channel that is open. It reports whether it was closed before.
// It is called under the lock, so two can't close it.
func isClosed(first chan struct{}) bool {
	select {
	case <-first:
		return true
	default:
		close(first)
		return false
	}
}
