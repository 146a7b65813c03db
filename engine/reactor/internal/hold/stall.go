package hold

import "time"

const (
	// stallAgain is how long a vertex waits that does not say when to look again.
	stallAgain = 10 * time.Second
	// stallSoon is how long it waits at most if an event has asked for it during the run: the
	// obstacle may be gone.
	stallSoon = 50 * time.Millisecond
	// stallShort is the wait after which the log tells of it. A shorter one, as for a restart by
	// hand, is not worth a line.
	stallShort = 3 * time.Second
	// stallLong is the wait after which the log warns.
	stallLong = 10 * time.Minute
)

// A Stall is how far a wait for something outside of the graph has gone.
type Stall uint8

// The steps of a wait. Each is told once.
const (
	NotStalled Stall = iota
	StallBegun       // one run has found that it has to wait
	StallLasts       // the log tells of the wait
	StallLong        // and warns
)

// StallFor returns how long a vertex waits that wants to be looked at after a time, 0 where it says none. It is polled
// with a period, 0 for none; asked says that an event has asked for it during its run.
func StallFor(again, poll time.Duration, asked bool) time.Duration {
	if again <= 0 {
		again = stallAgain
	}
	if poll > 0 {
		again = min(again, poll)
	}
	if asked {
		again = min(again, stallSoon)
	}
	return again
}

// Stall takes a run that has found that it has to wait, and that was asked for so long ago. It returns the step of the
// wait if that is a new one, else NotStalled.
func (v *Vertex) Stall(waited time.Duration) (step Stall) {
	switch {
	case v.stalled == NotStalled,
		v.stalled == StallBegun && waited >= stallShort,
		v.stalled == StallLasts && waited >= stallLong:
		v.stalled++
		return v.stalled
	default:
		return NotStalled
	}
}

// EndStall takes a run that need not wait.
func (v *Vertex) EndStall() { v.stalled = NotStalled }

// IsStalled reports whether the vertex waits for something outside of the graph.
func (v *Vertex) IsStalled() bool { return v.stalled != NotStalled }
