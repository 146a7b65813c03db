package reactor

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/internal/apart"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// core is what the loop, the vertices, their runs and the callers of a Reactor share. It is for any goroutine, and knows nothing of
// the loop.
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

	memory   memory       // the records that survive the process
	values   sync.RWMutex // see doc.go; Swap holds it for reading while it compares
	account  hold.Account // of the change budget
	guards   atomic.Pointer[guards]
	ownSalt  [16]byte             // of digests, where nothing is remembered
	costly   costly               // the commands that are let finish
	calls    calls                // the Inits and Cleanups that run
	saysBusy func() (done func()) // sayBusy, made once for all resources

	attended     atomic.Pointer[vertex] // whose method a Swap, or the end of Run, waits for; Abandon names it
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
	c.guards.Store(&guards{o.Approve, o.Windows, o.Policy, o.ApproveExpiry})
	unix.RandomRead(c.ownSalt[:])
}

// now is the time since the reactor was made, by the monotonic clock. It begins at
// 1, so that 0 may stand for never.
func (c *core) now() int64 { return int64(clock.Since(c.opt.Clock, c.epoch)) + 1 }

// newTimer is the timer of components.
func (c *core) newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := clock.NewTimer(c.opt.Clock, d)
	return t.C, t.Stop
}

// request is a call that another goroutine wants done on the loop.
type request struct {
	do   func()
	done chan struct{} // closed by the loop once it is done
}

func newRequest(do func()) request { return request{do, make(chan struct{})} }

// sayBusy implements Init.Busy.
func (c *core) sayBusy() (done func()) {
	c.busy.Add(1)
	var once atomic.Bool
	return func() {
		if once.CompareAndSwap(false, true) {
			c.busy.Add(-1)
			c.wake()
		}
	}
}

// wake makes the loop turn.
func (c *core) wake() {
	select {
	case c.mail.wake <- struct{}{}:
	default:
	}
}

// callCleanup calls Cleanup and gives up what v shares.
func (c *core) callCleanup(v *vertex) error {
	defer c.calls.done(c.calls.begin(call{v, "Cleanup", c.now()}))
	return v.Cleanup()
}

// cleanUp attends to the Cleanup of v. Errors are only logged: no caller is left to
// act on them.
func (c *core) cleanUp(v *vertex) {
	c.attended.Store(v)
	defer c.attended.Store(nil)
	c.cleaned(v, apart.Call("Cleanup", func() error { return c.callCleanup(v) }))
}

// cleaned logs the error of a Cleanup.
func (c *core) cleaned(v *vertex, err error) {
	if err != nil {
		c.log.Warn("cleanup failed", slog.String("resource", v.ID), slog.String("error", v.Text(err.Error())))
	}
}

// readTime is how long the loop waits for the text of an error that a method has
// returned on the loop.
const readTime = 100 * time.Millisecond

// read takes the text of an error where the loop itself has called a method: code that
// is not ours is asked on a goroutine of its own, and not waited for longer than readTime.
// Methods that other goroutines call are asked for the texts of their errors there.
func (c *core) read(method string, err error) error {
	if err == nil {
		return nil
	}
	if callsafe.Printable(err) {
		return callsafe.CopyError(method, err)
	}
	text := make(chan error, 1)
	c.enders.Go(func() { text <- callsafe.CopyError(method, err) })
	late := clock.NewTimer(c.opt.Clock, readTime)
	defer late.Stop()
	select {
	case err := <-text:
		return err
	case <-late.C:
		return &callsafe.UnreadableError{Method: method, Type: fmt.Sprintf("%T", err), Reason: "a method of it does not return"}
	}
}

func (c *core) quitting() bool {
	select {
	case <-c.quit:
		return true
	default:
		return false
	}
}

// begun waits until Run has begun. After its end it returns ErrStopped.
func (c *core) begun(ctx context.Context) error {
	select {
	case <-c.stopped:
		return ErrStopped
	default:
	}
	select {
	case <-c.started:
		return nil
	case <-c.stopped:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do has f done on the loop and waits for its end.
func (c *core) do(ctx context.Context, f func()) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	q := newRequest(f)
	select {
	case c.requests <- q:
		<-q.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return ErrStopped
	}
}

// ask has f called on the loop, which must only look, and waits for its end. It is
// answered also while Run waits for the methods that still run.
func (c *core) ask(ctx context.Context, f func()) error {
	if err := c.begun(ctx); err != nil {
		return err
	}
	q := newRequest(f)
	select {
	case c.questions <- q:
		<-q.done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.stopped:
		return ErrStopped
	}
}

// doAndAwait has f called on the loop, and waits until the channels that it adds to all are closed. What closes them is news of vertices:
// the loop takes news meanwhile, also where the Listener is behind. A listener that changes the graph would wait for itself otherwise.
func (c *core) doAndAwait(ctx context.Context, all *[]<-chan struct{}, f func()) error {
	c.mail.expected.Add(1)
	defer c.mail.expected.Add(-1)
	if err := c.do(ctx, f); err != nil {
		return err
	}
	for _, done := range *all {
		if err := c.await(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a channel is closed.
func (c *core) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return ErrStopped
	}
}

// UnknownResourceError is the error of a call that names a resource which is not
// in the graph.
type UnknownResourceError struct{ Resource string }

func (e *UnknownResourceError) Error() string { return e.Resource + " is not in the graph" }
