package mgmt

import (
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// SetGrace sets how long after the end of MaxRuntime methods that ignore it are
// waited for.
func (e *Engine) SetGrace(d time.Duration) { e.grace = d }

// GraphInEffect returns the graph that is in effect.
func (e *Engine) GraphInEffect() *engine.Graph { return e.session.graphs.Parts().Graph() }
