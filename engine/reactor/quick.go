package reactor

import "time"

// A run that only looks at memory takes less time than the wake-up of a processor. A kind whose runs are like that is quick, as
// noop is. Where Options.Parallel is not given, the loop starts more runs of quick kinds at once. One wake-up is enough for
// all of them, and one worker runs them one after the other.
const (
	// quickRun is how long a run of a quick kind may take. It is less than most runs that ask the kernel.
	quickRun = 3 * time.Microsecond

	// quickAfter is how many runs of a kind have to be quick, one after the other, before the kind counts as quick.
	quickAfter = 64

	// quickAtOnce is how many runs of quick kinds are started at once.
	quickAtOnce = 128
)

// noteQuick counts a run of a vertex of the kind. After one long run the kind is not quick any more. The loop calls it.
func (a *abilities) noteQuick(took time.Duration) {
	if took > quickRun {
		a.quick = 0
	} else if a.quick < quickAfter {
		a.quick++
	}
}

// widen returns the bound on the runs at once, by the kind of the vertex that was started last. So at most one run of another kind
// goes beyond the bound for such kinds.
func (p *pool) widen(o *Options, v *vertex) int {
	p.wide = o.mayWiden && v.abil.quick == quickAfter
	if p.wide {
		return max(o.Parallel, quickAtOnce)
	}
	return o.Parallel
}
