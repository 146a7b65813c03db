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
	ByValue // a value of a vertex that flaps
)

// String returns the metaparameter, or the reason in words.
func (d Deferral) String() string {
	return [...]string{"", "settle", "limit", "something outside", "a rest, since it runs too often", "a value of a resource that is left alone"}[d]
}

// throttle says when a vertex may start: the metaparameters settle, limit and burst.
// It is nil for a vertex that has none of them.
type throttle struct {
	settle      time.Duration
	first, last int64         // when the events came that no run has answered yet; 0 for none
	bucket      *rate.Limiter // nil for no limit
}

// newThrottle returns the one that metaparameters ask for, nil for none.
func newThrottle(m *engine.MetaParams) *throttle {
	if m.Settle <= 0 && m.Limit <= 0 {
		return nil
	}
	t := &throttle{settle: m.Settle}
	if m.Limit > 0 {
		t.bucket = rate.NewLimiter(rate.Limit(m.Limit), m.Burst)
	}
	return t
}

// IsThrottled reports whether a start of the vertex may have to wait for settle or limit.
func (v *Vertex) IsThrottled() bool { return v.throttle != nil }

// Inherit goes on where the limit of a predecessor stands.
func (v *Vertex) Inherit(old *Vertex, now time.Time) {
	t, o := v.throttle, old.throttle
	if t == nil || o == nil || t.bucket == nil || o.bucket == nil {
		return
	}
	limit, burst := t.bucket.Limit(), t.bucket.Burst()
	t.bucket = o.bucket
	t.bucket.SetLimitAt(now, limit)
	t.bucket.SetBurstAt(now, burst)
}

// Heard notes an event.
func (v *Vertex) Heard(now int64) {
	t := v.throttle
	if t == nil || t.settle <= 0 {
		return
	}
	if t.first == 0 {
		t.first = max(now, 1) // 0 is for none
	}
	t.last = now
}

// Wait returns how long a start has to wait, 0 for not at all, and for what. With
// 0 the run counts as begun.
func (v *Vertex) Wait(now int64, clock time.Time) (time.Duration, Deferral) {
	t := v.throttle
	if t == nil {
		return 0, NotDeferred
	}
	if t.first != 0 {
		at := min(t.last+int64(t.settle), t.first+settleFactor*int64(t.settle))
		if at > now {
			return time.Duration(at - now), BySettle
		}
	}
	if t.bucket != nil && !t.bucket.AllowN(clock, 1) {
		short := 1 - t.bucket.TokensAt(clock)
		return time.Duration(short/float64(t.bucket.Limit())*float64(time.Second)) + time.Microsecond, ByLimit
	}
	t.first, t.last = 0, 0
	return 0, NotDeferred
}

// Defer notes the reason for which a start waits.
func (v *Vertex) Defer(why Deferral) { v.deferred = why }

// Deferred returns the reason for which the start of the vertex waits.
func (v *Vertex) Deferred() Deferral { return v.deferred }

// EndDeferral ends the wait. It reports whether there was one.
func (v *Vertex) EndDeferral() (was bool) {
	was = v.deferred != NotDeferred
	v.deferred = NotDeferred
	return was
}
