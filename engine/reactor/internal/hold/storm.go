package hold

import (
	"errors"
	"time"
)

// Storm says when a resource runs too often: more than Runs times within a time. A run that
// changed something counts four times, and not at all where somebody outside had altered that; a run that failed counts ten times. A run
// that an event from outside has asked for, and that finds nothing, counts by its time: once for 5 ms, and less for less. The resource is then
// slowed: it waits before each run. The wait is 100 ms at first, and doubles while the
// resource is asked for again at once. It grows up to a second, or up to a minute if the last
// run changed something or failed. A resource is slowed no more when nothing has asked for it
// during twice its wait, or during ten seconds if that is shorter. The zero Storm slows nothing.
type Storm struct {
	Runs   int
	Within time.Duration
}

// DefaultStorm returns the Storm of a daemon whose options give none.
func DefaultStorm() Storm { return Storm{Runs: 1000, Within: 50 * time.Second} }

// Validate returns an error for numbers that make no sense.
func (o Storm) Validate() error {
	if o.Runs != 0 && (o.Runs < 2 || o.Within <= 0) {
		return errors.New("a storm needs at least 2 runs, and a time above 0")
	}
	return nil
}

const (
	stormChange  = 4
	stormFailure = 10
	stormOutside = 5 * time.Millisecond // a run counts once for so long, if somebody outside has asked for it

	stormFirst = 100 * time.Millisecond // the first wait,
	stormQuiet = time.Second            // the longest if it has nothing to say,
	stormLoud  = time.Minute            // and if it has
	stormCalm  = 10 * time.Second       // a vertex that is not asked for so long is slowed no more
	stormTell  = 10 * time.Minute       // the log warns once in that time

	// stormSpan is between how many runs of others two of one vertex are close enough to be
	// counted, and how many vertices are counted at most.
	stormSpan = 4096
)

// Storms counts the runs of the vertices that run often. The zero value counts none yet. It is
// used by the loop only.
type Storms[V comparable] struct {
	list   map[V]*storm
	pruned int64
}

// storm counts the runs of one vertex.
type storm struct {
	level float64 // runs, less what the time since has taken off
	at    int64   // of the level
	ended int64   // its last run
	wait  time.Duration
	due   int64 // when it may start; 0 where nothing has asked yet
	loud  bool  // its last run changed something, or failed
	told  int64 // when the log has warned
}

// rise adds to the level. It reports whether that is too high.
func (s *storm) rise(now int64, by float64, o Storm) bool {
	s.level = max(0, s.level-float64(now-s.at)*float64(o.Runs)/float64(o.Within)) + by
	s.at = now
	return s.level > float64(o.Runs)
}

// longer makes the wait twice as long, and the next start due after it.
func (s *storm) longer(from int64) {
	most := stormQuiet
	if s.loud {
		most = stormLoud
	}
	s.wait = min(max(2*s.wait, stormFirst), most)
	s.due = from + int64(s.wait)
}

// An Ask is the wish to start a vertex.
type Ask struct {
	Runs    uint64 // of all vertices so far,
	LastRun uint64 // and the number of the last one of this vertex; 0 for none
	Since   int64  // when the first wish for this run came
}

// of returns the storm of v, nil if it does not run often.
func (p *Storms[V]) of(v V, a Ask, now int64) *storm {
	if s := p.list[v]; s != nil {
		return s
	}
	if a.LastRun == 0 || a.Runs-a.LastRun > stormSpan || !p.room(now) {
		return nil
	}
	s := &storm{at: now}
	if p.list == nil {
		p.list = map[V]*storm{}
	}
	p.list[v] = s
	return s
}

// room reports whether one more vertex can be counted. A vertex that has become
// quiet is counted no more.
func (p *Storms[V]) room(now int64) bool {
	if len(p.list) < stormSpan {
		return true
	}
	if now-p.pruned < int64(time.Second) {
		return false
	}
	p.pruned = now
	for v, s := range p.list {
		if now-max(s.at, s.ended, s.due) > int64(stormCalm) && now-s.told > int64(stormTell) {
			delete(p.list, v)
		}
	}
	return len(p.list) < stormSpan
}

// Wait returns how long a start of v has to wait because v runs too often, and whether the log
// has to say so. With 0 the run counts as begun.
func (p *Storms[V]) Wait(v V, a Ask, now int64, o Storm) (wait time.Duration, tell bool) {
	if o.Runs == 0 {
		return 0, false
	}
	s := p.of(v, a, now)
	switch {
	case s == nil:
		return 0, false
	case s.wait == 0 && !s.rise(now, 1, o):
		return 0, false
	case s.wait == 0:
		s.longer(now)
		if tell = s.told == 0 || now-s.told >= int64(stormTell); tell {
			s.told = now
		}
	case s.due == 0 && s.calm(a.Since):
		*s = storm{at: now, ended: s.ended, told: s.told}
		return 0, false
	case s.due == 0:
		s.longer(s.ended)
	}
	if s.due > now {
		return time.Duration(s.due - now), tell
	}
	s.due = 0
	return 0, tell
}

// calm reports whether nothing has asked for the vertex for long.
func (s *storm) calm(since int64) bool {
	return since-s.ended >= int64(min(2*s.wait, stormCalm))
}

// An End is how a run ended.
type End struct {
	Failed, Changed bool
	Drift           bool          // somebody outside has asked for it, by what he altered
	Took            time.Duration // the run
	Retry           bool          // it is tried again,
	RetryIn         time.Duration // after this
}

// Ran takes the end of a run of v. It returns after which time a failed run is tried again: a
// retry of a vertex that is slowed waits as long as any run of it.
func (p *Storms[V]) Ran(v V, e End, now int64, o Storm) (retryIn time.Duration) {
	s := p.list[v]
	if s == nil {
		return e.RetryIn
	}
	s.ended, s.loud = now, e.Failed || e.Changed && !e.Drift
	switch {
	case s.wait == 0 && e.Failed:
		s.rise(now, stormFailure-1, o)
	case s.wait == 0 && e.Changed && e.Drift:
		s.rise(now, -1, o)
	case s.wait == 0 && e.Drift:
		s.rise(now, min(1, float64(e.Took)/float64(stormOutside))-1, o)
	case s.wait == 0 && e.Changed:
		s.rise(now, stormChange-1, o)
	case s.wait > 0 && e.Retry && e.RetryIn < 2*s.wait:
		s.longer(now)
		e.RetryIn = max(e.RetryIn, s.wait)
		s.due = now + int64(e.RetryIn)
	}
	return e.RetryIn
}

// Slowed reports whether v runs too often.
func (p *Storms[V]) Slowed(v V) bool {
	s := p.list[v]
	return s != nil && s.wait > 0
}

// Succeed counts for a vertex on where another one of its name stands.
func (p *Storms[V]) Succeed(v, old V) {
	if s := p.list[old]; s != nil {
		p.list[v] = s
	}
}

// Remove forgets a vertex.
func (p *Storms[V]) Remove(v V) { delete(p.list, v) }
