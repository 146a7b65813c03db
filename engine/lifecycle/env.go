package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Options configure an Env.
type Options struct {
	Program, Version, Hostname string // given to resources

	Host  engine.Host // given to resources, and to each engine.Shared
	World world.World
	Lease time.Duration // given to resources

	StateDir  string // the folders of Init.VarDir are below it
	ReadOnly  bool   // no such folder is made or removed: for a plan
	TempState bool   // without a StateDir, the first question makes a temporary folder; Env.Close removes it

	Logger *slog.Logger // discards when nil
	Debug  bool         // given to resources

	KeepShared bool // each Shared stays open until Env.Close, also without a user
	NoShared   bool // no Shared is opened; the owner may put one into the handle
}

// Env holds the common parts of all resources of one engine. Make it with NewEnv. Its methods are
// callable from any goroutine.
type Env struct {
	opt    Options
	state  state
	shares shares
	hidden hidden
}

// NewEnv returns an Env without a Life. It opens and starts nothing.
func NewEnv(o Options) *Env {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Env{opt: o}
	e.state.dir, e.state.readOnly, e.state.temporary = o.StateDir, o.ReadOnly, o.TempState
	e.shares.init(&e.opt)
	e.hidden.init()
	return e
}

// Start bounds the Env by a context: at its end, the contexts of all Shared end, and no Life waits
// for a Shared any more (ErrStopped). Call it before the first Life begins. Without Start the Env
// is bounded by nothing.
func (e *Env) Start(ctx context.Context) { e.shares.until = ctx }

// Close ends and closes each Shared that is still open, whatever the number of its users, and
// removes the temporary state folder. No Life may be in use any more.
func (e *Env) Close() error { return errors.Join(e.shares.close(), e.state.close()) }
