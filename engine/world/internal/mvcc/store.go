package mvcc

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Keep bounds the history.
type Keep struct {
	Most int           // so many changes at most
	For  time.Duration // and those of this time, where Most allows it
}

// Store is the shared part of all Clients of one Backend.
type Store struct {
	backend Backend
	clock   clock.Clock
	keep    Keep
	limits  world.Limits

	mu      sync.Mutex
	queue   []*request    // transactions that wait; the first one's caller works if busy is false
	busy    bool          // a caller works for a group
	crowd   bool          // the last group had several, or another one waited behind it
	wake    chan struct{} // closed and replaced at each new revision, and at the end
	leases  map[int64]*lease
	overdue map[int64]*lease // whose keys the Backend could not delete: the next group does
	last    int64            // the greatest number of a lease
	users   int              // Clients that are open
	closed  bool
}

// New returns a Store over a Backend, in which no lease of an earlier process may be
// left. The last Client that is closed closes the Backend.
func New(b Backend, c clock.Clock, k Keep) *Store {
	return &Store{
		backend: b, clock: c, keep: k, limits: world.DefaultLimits(),
		wake: make(chan struct{}), leases: map[int64]*lease{}, overdue: map[int64]*lease{},
	}
}

// request is one transaction that waits.
type request struct {
	compares []world.Compare
	ops      []world.Op
	ends     *lease        // a lease that ends instead, with its keys
	done     chan struct{} // closed with the answer
	lead     chan struct{} // closed when its caller has to work for the next group

	rev int64
	ok  bool
	err error
}

// submit does one transaction, together with those that wait. A context that ends
// before its group has begun ends the wait, and nothing was done.
func (s *Store) submit(ctx context.Context, r *request) {
	r.done, r.lead = make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.queue = append(s.queue, r)
	if !s.busy {
		s.busy = true
		close(r.lead)
	}
	s.mu.Unlock()
	select {
	case <-r.done:
	case <-r.lead:
		s.work()
	case <-ctx.Done():
		s.leave(ctx, r)
	}
}

// leave takes a request out of the queue, unless its group has begun.
func (s *Store) leave(ctx context.Context, r *request) {
	s.mu.Lock()
	i := slices.Index(s.queue, r)
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		r.err = ctx.Err()
		select {
		case <-r.lead: // the work was given to this caller meanwhile
			s.pass()
		default:
		}
	}
	s.mu.Unlock()
	if i < 0 {
		<-r.done
	}
}

// work commits one group, in which the caller's own request is, and gives the work on.
func (s *Store) work() {
	s.mu.Lock()
	if s.crowd { // other goroutines that can run now may have something to commit too; alone, the call would only wake an idle processor
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	group := append(s.late(), s.queue...)
	s.queue = nil
	s.mu.Unlock()
	news, err := s.commit(group)
	s.mu.Lock()
	if news && err == nil {
		close(s.wake)
		s.wake = make(chan struct{})
	}
	for _, r := range group {
		if err != nil {
			r.rev, r.ok, r.err = 0, false, err
		}
		if r.ends != nil {
			s.ended(r.ends, err)
		}
	}
	s.crowd = len(group) > 1 || len(s.queue) > 0
	s.pass()
	s.mu.Unlock()
	for _, r := range group {
		close(r.done)
	}
}

// late returns requests for the leases that are overdue, oldest first. Its caller holds mu.
func (s *Store) late() (list []*request) {
	for _, n := range slices.Sorted(maps.Keys(s.overdue)) {
		list = append(list, &request{ends: s.overdue[n], done: make(chan struct{})})
	}
	return list
}

// ended notes how the end of a lease was written. Its caller holds mu.
func (s *Store) ended(l *lease, err error) {
	if err != nil {
		s.overdue[l.number] = l
		return
	}
	delete(s.leases, l.number)
	delete(s.overdue, l.number)
}

// pass gives the work to the first that waits.
func (s *Store) pass() {
	if s.busy = len(s.queue) > 0; s.busy {
		close(s.queue[0].lead)
	}
}

// commit does the transactions of a group as one Update. news says that a revision
// was made.
func (s *Store) commit(group []*request) (news bool, err error) {
	now := s.clock.Now().Unix()
	err = s.backend.Update(func(w Writer) error {
		before := w.State()
		for _, r := range group {
			if err := s.one(w, r, now); err != nil {
				return err
			}
		}
		if news = w.State().Rev > before.Rev; !news {
			return errUnchanged
		}
		return s.forget(w, w.State().Log-before.Log, now)
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return news, err
}

// errUnchanged ends an Update that has nothing to make durable.
var errUnchanged = errors.New("unchanged")

// one does one transaction of a group. Its error is that of the Backend; a refusal is
// the request's own.
func (s *Store) one(w Writer, r *request, now int64) error {
	r.rev, r.ok, r.err = w.State().Rev, false, nil
	if r.ends != nil {
		r.ok = true
		return s.endKeys(w, r.ends, now)
	}
	if r.err = s.attach(r.ops); r.err != nil {
		return nil
	}
	for _, c := range r.compares {
		v, _, err := w.Last(c.Key, r.rev)
		if err != nil {
			return err
		}
		if v.Deleted {
			v.Rev = 0
		}
		if v.Rev != c.Revision {
			return nil
		}
	}
	r.ok = true
	for _, op := range r.ops {
		if err := put(w, op, r.rev+1, now); err != nil {
			return err
		}
	}
	r.rev = w.State().Rev
	return nil
}

// put does one operation at a revision.
func put(w Writer, op world.Op, rev, now int64) error {
	old, had, err := w.Last(op.Key, rev)
	if err != nil {
		return err
	}
	had = had && !old.Deleted
	if op.Delete {
		if !had {
			return nil
		}
		return w.Put(Version{Key: op.Key, Rev: rev, Deleted: true}, now)
	}
	v := Version{Key: op.Key, Rev: rev, Created: rev, Value: slices.Clone(op.Value)}
	if had {
		v.Created = old.Created
	}
	if op.Lease != nil {
		v.Lease = op.Lease.(*lease).number
	}
	return w.Put(v, now)
}

// forgetAtOnce is how many changes one commit removes from the history at most, or
// twice as many as it added.
const forgetAtOnce = 64

// forget removes the oldest changes where there are too many, or forgetAtOnce of them
// are too old. It waits for an eighth too many, so that its cost is spread.
func (s *Store) forget(w Writer, added int, now int64) error {
	st := w.State()
	most, age, atOnce := s.keep.Most, int64(s.keep.For/time.Second), max(forgetAtOnce, 2*added)
	tooMany := st.Log > most+most/8
	n := 0
	err := w.Changes(st.Floor, func(c Change) bool {
		surplus, old := tooMany && st.Log-n > most, now-c.Time > age
		if c.Rev == st.Rev || n == atOnce || !surplus && !old {
			return false
		}
		n++
		return true
	})
	if err != nil || !tooMany && n < atOnce {
		return err
	}
	return s.forgetWhole(w, n)
}

// forgetWhole removes n changes, and the rest of the last one's revision.
func (s *Store) forgetWhole(w Writer, n int) error {
	for ; n > 0; n-- {
		if err := w.Forget(); err != nil {
			return err
		}
	}
	for {
		st, again := w.State(), false
		err := w.Changes(st.Floor-1, func(c Change) bool {
			again = c.Rev == st.Floor
			return false
		})
		if err != nil || !again {
			return err
		}
		if err := w.Forget(); err != nil {
			return err
		}
	}
}
