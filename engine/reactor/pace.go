package reactor

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/reactivegraph/mgmt/engine"
)

// settleFactor bounds how often settle is waited for anew: who is never quiet is
// looked at after so many times of it.
const settleFactor = 10

// deferral is what the start of a vertex waits for.
type deferral uint8

const (
	notDeferred deferral = iota
	bySettle
	byLimit
	byOutside // see stalls
	byStorm
)

// String returns the metaparameter.
func (d deferral) String() string {
	return [...]string{"", "settle", "limit", "something outside", "a rest, since it runs too often"}[d]
}

// pace says when a vertex may start: the metaparameters settle, limit and burst.
// It is nil for a vertex that has none of them.
type pace struct {
	settle      time.Duration
	first, last int64         // when the events came that no run has answered yet; 0 for none
	bucket      *rate.Limiter // nil for no limit
}

func newPace(m *engine.MetaParams) *pace {
	if m.Settle <= 0 && m.Limit <= 0 {
		return nil
	}
	p := &pace{settle: m.Settle}
	if m.Limit > 0 {
		p.bucket = rate.NewLimiter(rate.Limit(m.Limit), m.Burst)
	}
	return p
}

// inherit goes on where the limit of a predecessor stands.
func (p *pace) inherit(old *pace, now time.Time) {
	if p == nil || old == nil || p.bucket == nil || old.bucket == nil {
		return
	}
	limit, burst := p.bucket.Limit(), p.bucket.Burst()
	p.bucket = old.bucket
	p.bucket.SetLimitAt(now, limit)
	p.bucket.SetBurstAt(now, burst)
}

// heard notes an event.
func (p *pace) heard(now int64) {
	if p == nil || p.settle <= 0 {
		return
	}
	if p.first == 0 {
		p.first = max(now, 1) // 0 is for none
	}
	p.last = now
}

// wait returns how long a start has to wait, 0 for not at all, and for what. With
// 0 the run counts as begun.
func (p *pace) wait(now int64, clock time.Time) (time.Duration, deferral) {
	if p == nil {
		return 0, notDeferred
	}
	if p.first != 0 {
		at := min(p.last+int64(p.settle), p.first+settleFactor*int64(p.settle))
		if at > now {
			return time.Duration(at - now), bySettle
		}
	}
	if p.bucket != nil && !p.bucket.AllowN(clock, 1) {
		short := 1 - p.bucket.TokensAt(clock)
		return time.Duration(short/float64(p.bucket.Limit())*float64(time.Second)) + time.Microsecond, byLimit
	}
	p.first, p.last = 0, 0
	return 0, notDeferred
}

// putOff takes a start back that has to wait, and reports whether it did.
func (r *Reactor) putOff(v *vertex) bool {
	now := r.now()
	d, what := r.stormWait(v, now), byStorm
	if d == 0 {
		d, what = v.pace.wait(now, r.epoch.Add(time.Duration(now)))
	}
	if d == 0 {
		return false
	}
	r.m.Defer(v.slot)
	r.after(d, v, func() {
		v.deferred = notDeferred
		r.m.Wake(v.slot)
	})
	v.deferred = what
	return true
}

// retryDelay is how long the next retry waits after the given number of failures.
func (r *Reactor) retryDelay(m *engine.MetaParams, failures int32) time.Duration {
	if m.DelayMax <= 0 {
		return m.Delay
	}
	return r.within(span{m.Delay, m.DelayMax}, failures-1)
}
