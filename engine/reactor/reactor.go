package reactor

import (
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
)

// ErrStopped is the error of a call that came after the end of Run.
var ErrStopped = lifecycle.ErrStopped

// Reactor runs one graph after the other. Make it with New, call Run once, and
// Swap for each graph, from any goroutine.
//
// The fields of loop belong to the loop, and all others are for any goroutine.
type Reactor struct {
	core
	loop loop

	quitOnce sync.Once
	staging  chan struct{}                    // holds the one Stage that is there
	metas    metas                            // of what the change of the graph initialises that is going on
	kinds    map[engine.AbilityKey]*abilities // of Swap; see abilitiesOf
	removals atomic.Pointer[Removals]         // how much a Swap may remove
	accepted atomic.Pointer[[]string]         // the resources that the next Swap may remove; see AcceptRemovals
}

// New returns a reactor with an empty graph. It starts nothing.
func New(o Options) (*Reactor, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r := &Reactor{staging: make(chan struct{}, 1), kinds: map[engine.AbilityKey]*abilities{}}
	r.core.init(o)
	r.loop.init(&r.core)
	r.removals.Store(&o.MaxRemovals)
	return r, nil
}

// metas are the metaparameters that resources were given last. A graph has many resources and few different
// metaparameters, so that equal ones are kept once. It belongs to the one swap that goes on.
type metas [16]*engine.MetaParams

// share returns the metaparameters of a resource. It makes the resource take equal ones in their place, where there
// are such: the engine alters no metaparameters from Init on.
func (m *metas) share(res engine.Res) *engine.MetaParams {
	own := engine.MetaOf(res)
	lender, ok := res.(engine.MetaLender)
	if !ok || own == nil {
		return res.MetaParams()
	}
	lender.ShareMetaParams(m.first(own))
	return res.MetaParams() // a method of another kind may have got in the way
}

// first returns the first ones that were equal to own, which may be own.
func (m *metas) first(own *engine.MetaParams) *engine.MetaParams {
	for i, other := range m {
		if other != nil && other.Equal(own) {
			m[0], m[i] = m[i], m[0] // the next one is likely to be the same
			return other
		}
	}
	copy(m[1:], m[:]) // the oldest one falls out
	m[0] = own
	return own
}
