package yaml

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/gapi"
)

// firstAnswer is how long a graph waits for the store when it asks for the first time. A later
// answer makes a new graph. A verb such as plan must answer soon without a store, too.
const firstAnswer = 2 * time.Second

// store shows a store to expressions: the facts of its hosts, and the choices of its schedules. It follows only the prefixes that a graph has asked
// for, so a graph without such an expression costs the store nothing. It is callable from any goroutine. Its goroutines end with the context of newStore, and end waits for them.
type store struct {
	env    gapi.Env
	clock  engine.Clock
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // of capacity one: something that a graph has read is another one
	group  sync.WaitGroup

	mu sync.Mutex
	// It is nil until a graph asks for hosts.
	board *board
	// By topic; a topic is there once a graph has asked for it.
	schedule map[string]*schedules
}

// board follows the facts of hosts.
// Its facts are guarded by the lock of the store.
type board struct {
	first chan struct{} // closed when facts has the first answer
	facts map[string]map[string]any
}

// schedules follows the schedules of a topic.
type schedules struct {
	first  chan struct{} // closed when table has the first answer
	table  hosts.Table
	asked  []string            // the names that graphs have asked for
	chosen map[string][]string // by name
}

// newStore returns a view of the store of an environment. It asks nothing yet.
func newStore(ctx context.Context, env gapi.Env) *store {
	s := &store{env: env, clock: engine.ClockOf(env.Host), wake: make(chan struct{}, 1), schedule: map[string]*schedules{}}
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
		if err != nil {
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
	late, stop := engine.Wake(s.clock, firstAnswer)
	defer stop()
	select {
	case <-first:
	case <-late:
		s.env.Log().Warn("the store does not answer: the graph is made without its hosts and schedules, and made again when it does")
	case <-s.ctx.Done():
	}
}

// hosts returns the facts of the hosts in the store. The first call starts to follow them and
// may wait for firstAnswer; once there is an answer, calls only copy. The inner maps are shared
// and never altered.
func (s *store) hosts() map[string]map[string]any {
	s.mu.Lock()
	b := s.board
	if b == nil {
		b = &board{first: make(chan struct{})}
		s.board = b
		var all hosts.Board
		s.follow(hosts.Prefix, "hosts", func(c hosts.Change) bool {
			differs := all.Take(c)
			b.facts = all.Facts()
			return !isClosed(b.first) || differs
		})
	}
	s.mu.Unlock()
	s.await(b.first)
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(b.facts)
}

// scheduled returns the hosts that a schedule of a topic has chosen, sorted by name.
// It waits as hosts does. A schedule without an answer has chosen no host.
func (s *store) scheduled(topic, name string) []string {
	s.mu.Lock()
	x := s.schedule[topic]
	if x == nil {
		x = &schedules{first: make(chan struct{})}
		s.schedule[topic] = x
		// The names of other schedules do not wake: a store may have many, and each host moves them.
		s.follow(hosts.SchedulePrefix(topic), "schedules", func(c hosts.Change) bool {
			x.table.Take(c)
			chosen := x.table.Chosen(x.asked)
			differs := !reflect.DeepEqual(chosen, x.chosen)
			x.chosen = chosen
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
	x.chosen = x.table.Chosen(x.asked)
	return slices.Clone(x.chosen[name])
}

// isClosed closes a channel that is open. It reports whether it was closed before.
// Only the goroutine that takes the changes calls it, under the lock, so two can't close it.
func isClosed(first chan struct{}) bool {
	select {
	case <-first:
		return true
	default:
		close(first)
		return false
	}
}
