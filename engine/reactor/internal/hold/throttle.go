package hold

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/reactivegraph/mgmt/engine"
)

// settleFactor bounds how often settle is waited for anew: a vertex that is never quiet is
// looked at after so many times of it.
const settleFactor = 10

// A Deferral is what the start of a vertex waits for.
type Deferral uint8

const (
	NotDeferred Deferral = iota
	BySettle
	ByLimit
	ByOutside // something outside of the graph
	ByStorm
)

// String returns the metaparameter, or the reason in words.
func (d Deferral) String() string {
	return [...]string{"", "settle", "limit", "something outside", "a rest, since it runs too often"}[d]
}

// Throttle says when a vertex may start: the metaparameters settle, limit and burst.
// It is nil for a vertex that has none of them.
type Throttle struct {
	settle      time.Duration
	first, last int64         // when the events came that no run has answered yet; 0 for none
	bucket      *rate.Limiter // nil for no limit
}

// NewThrottle returns the pace that metaparameters ask for, nil for none.
func NewThrottle(m *engine.MetaParams) *Throttle {
	if m.Settle <= 0 && m.Limit <= 0 {
		return nil
	}
	p := &Throttle{settle: m.Settle}
	if m.Limit > 0 {
		p.bucket = rate.NewLimiter(rate.Limit(m.Limit), m.Burst)
	}
	return p
}

// Inherit goes on where the limit of a predecessor stands.
func (p *Throttle) Inherit(old *Throttle, now time.Time) {
	if p == nil || old == nil || p.bucket == nil || old.bucket == nil {
		return
	}
	limit, burst := p.bucket.Limit(), p.bucket.Burst()
	p.bucket = old.bucket
	p.bucket.SetLimitAt(now, limit)
	p.bucket.SetBurstAt(now, burst)
}

// Heard notes an event.
func (p *Throttle) Heard(now int64) {
	if p == nil || p.settle <= 0 {
		return
	}
	if p.first == 0 {
		p.first = max(now, 1) // 0 is for none
	}
	p.last = now
}

// Wait returns how long a start has to wait, 0 for not at all, and for what. With
// 0 the run counts as begun.
func (p *Throttle) Wait(now int64, clock time.Time) (time.Duration, Deferral) {
	if p == nil {
		return 0, NotDeferred
	}
	if p.first != 0 {
		at := min(p.last+int64(p.settle), p.first+settleFactor*int64(p.settle))
		if at > now {
			return time.Duration(at - now), BySettle
		}
	}
	if p.bucket != nil && !p.bucket.AllowN(clock, 1) {
		short := 1 - p.bucket.TokensAt(clock)
		return time.Duration(short/float64(p.bucket.Limit())*float64(time.Second)) + time.Microsecond, ByLimit
	}
	p.first, p.last = 0, 0
	return 0, NotDeferred
}
