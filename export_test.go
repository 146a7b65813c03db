package mgmt

import "time"

// SetGrace sets how long after the end of MaxRuntime methods that ignore it are
// waited for.
func (e *Engine) SetGrace(d time.Duration) { e.grace = d }
