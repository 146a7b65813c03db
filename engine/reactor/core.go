package reactor

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
)

// core is what the loop, the vertices, their runs and the callers of a Reactor have in common. It is for any goroutine, and knows none of them.
type core struct {
	opt   Options
	env   *lifecycle.Env // the values that the resources have in common
	log   *slog.Logger
	epoch time.Time
	ctx   context.Context // of Run; set before anything else runs
	seed  maphash.Seed    // of the prints of corrections

	mail      *mailbox
	requests  chan request  // calls of other goroutines to be done on the loop
	questions chan request  // their questions; also answered while Run waits for its end
	quit      chan struct{} // closed by Abandon
	started   chan struct{} // closed when Run has begun
	stopped   chan struct{} // closed when Run has ended
	swapping  chan struct{} // holds the one change of the graph that is going on
	holding   chan struct{} // holds the one Pause or Resume that is going on: the last record is in effect

	memory   memory               // the records that survive the process
	values   sync.RWMutex         // see doc.go; Swap holds it for reading while it compares
	account  hold.Account         // of the change budget
	costly   costly               // the commands that are let finish
	calls    calls                // the Inits and Cleanups that run
	saysBusy func() (done func()) // sayBusy, made once for all resources

	attended     atomic.Pointer[vertex] // to the method of which a Swap, or the end of Run, has come: Abandon names it
	moved        sync.Map               // of a plan: vertices, something of which may have been copied as they looked; see Looker
	departing    atomic.Int64           // vertices that are leaving
	busy         atomic.Int64           // what Init.Busy was called for
	sharesEnding atomic.Int64           // calls of End of shared values that are going on
	resting      atomic.Bool            // the graph has converged
	enders       sync.WaitGroup         // goroutines that Run waits for at its end
}

// init makes what a reactor with these options, which are complete, begins with.
func (c *core) init(o Options) {
	c.opt, c.env, c.log = o, o.env(), o.Logger
	c.epoch, c.seed = o.Clock.Now(), maphash.MakeSeed()
	c.mail = newMailbox()
	c.requests, c.questions = make(chan request), make(chan request)
	c.quit, c.started, c.stopped = make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.swapping, c.holding = make(chan struct{}, 1), make(chan struct{}, 1)
	c.memory = memory{store: o.Store, readOnly: o.ReadOnly, log: o.Logger, recorder: ledger.NewRecorder(o.Store, o.Logger, c.newTimer)}
	c.saysBusy = c.sayBusy
	c.account.Set(o.MaxChanges, 0)
}

// now is the time since the reactor was made, by the monotonic clock. It begins at
// 1, so that 0 may stand for never.
func (c *core) now() int64 { return int64(engine.Since(c.opt.Clock, c.epoch)) + 1 }

// newTimer is the timer of components.
func (c *core) newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := engine.NewTimer(c.opt.Clock, d)
	return t.C, t.Stop
}
