package reactor

import (
	"errors"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Storm says when a resource runs too often: more than Runs times within a time. A run that
// changed something counts four times, a run that failed ten times. The resource is then
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

	stormFirst = 100 * time.Millisecond // the first wait,
	stormQuiet = time.Second            // the longest if it has nothing to say,
	stormLoud  = time.Minute            // and if it has
	stormCalm  = 10 * time.Second       // who is not asked for so long is slowed no more
	stormTell  = 10 * time.Minute       // the log warns once in that time

	// stormSpan is between how many runs of others two of one vertex are close enough to be
	// counted, and how many vertices are counted at most.
	stormSpan = 4096
)

// storms counts the runs of the vertices that run often.
type storms struct {
	list   map[*vertex]*storm
	pruned int64
}

// storm counts the runs of one vertex.
type storm struct {
	level float64 // runs, less what the time since has taken off
	at    int64   // of the level
	ended int64   // its last run
	wait  time.Duration
	due   int64 // when it may start; 0 for nobody has asked yet
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

// stormOf returns what is known of v, nil if it does not run often.
func (r *Reactor) stormOf(v *vertex) *storm {
	if s := r.storms.list[v]; s != nil {
		return s
	}
	if v.lastRun == 0 || r.runs-v.lastRun > stormSpan || !r.roomForStorm() {
		return nil
	}
	s := &storm{at: r.now()}
	if r.storms.list == nil {
		r.storms.list = map[*vertex]*storm{}
	}
	r.storms.list[v] = s
	return s
}

// roomForStorm reports whether one more vertex can be counted; those that have become
// quiet are counted no more.
func (r *Reactor) roomForStorm() bool {
	p := &r.storms
	if len(p.list) < stormSpan {
		return true
	}
	now := r.now()
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

// stormWait returns how long a start of v has to wait because it runs too often.
func (r *Reactor) stormWait(v *vertex, now int64) time.Duration {
	o := r.opt.Storm
	if o.Runs == 0 {
		return 0
	}
	s := r.stormOf(v)
	switch {
	case s == nil:
		return 0
	case s.wait == 0 && !s.rise(now, 1, o):
		return 0
	case s.wait == 0:
		s.longer(now)
		r.tellStorm(v, s, now)
	case s.due == 0 && r.calm(v, s, now):
		*s = storm{at: now, ended: s.ended, told: s.told}
		return 0
	case s.due == 0:
		s.longer(s.ended)
	}
	if s.due > now {
		return time.Duration(s.due - now)
	}
	s.due = 0
	return 0
}

// calm reports whether nothing has asked for v for long.
func (r *Reactor) calm(v *vertex, s *storm, now int64) bool {
	if v.asked != nil {
		now = v.asked.since
	}
	return now-s.ended >= int64(min(2*s.wait, stormCalm))
}

func (r *Reactor) tellStorm(v *vertex, s *storm, now int64) {
	if s.told > 0 && now-s.told < int64(stormTell) {
		return
	}
	s.told = now
	cause := Cause("")
	if v.asked != nil && len(v.asked.list) > 0 {
		cause = v.asked.list[0].Cause
	}
	r.log.Warn("runs too often, and is slowed down until it is quiet again", slog.String("resource", v.id),
		slog.String("because", string(cause)), slog.Int("runs", r.opt.Storm.Runs), slog.Duration("within", r.opt.Storm.Within))
}

// stormRan takes the end of a run. A retry of one that is slowed waits as long as any run
// of it.
func (r *Reactor) stormRan(v *vertex, run *Run) {
	s := r.storms.list[v]
	if s == nil {
		return
	}
	failed := run.State == engine.StateFailed
	s.ended, s.loud = r.now(), failed || run.Changed
	switch {
	case s.wait == 0 && failed:
		s.rise(s.ended, stormFailure-1, r.opt.Storm)
	case s.wait == 0 && run.Changed:
		s.rise(s.ended, stormChange-1, r.opt.Storm)
	case s.wait > 0 && run.Retry && run.RetryIn < 2*s.wait:
		s.longer(s.ended)
		run.RetryIn = max(run.RetryIn, s.wait)
		s.due = s.ended + int64(run.RetryIn)
	}
}

// slowed reports whether v runs too often.
func (r *Reactor) slowed(v *vertex) bool {
	s := r.storms.list[v]
	return s != nil && s.wait > 0
}
