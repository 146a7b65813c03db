package hold

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// span is the wait for the next try. It doubles each time, from first up to most. Chance takes up
// to half of it away.
type span struct{ first, most time.Duration }

// patience is the span where the graph says nothing of retry. So no wait is shorter than
// a second or longer than ten minutes.
var patience = span{2 * time.Second, 10 * time.Minute}

// scarcities are the errors of a machine that is short of something for a while. Another try costs
// little, and the cause ends without an event.
var scarcities = []struct {
	span
	errs []error
}{
	{span{200 * time.Millisecond, 15 * time.Second}, []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN}},
	{span{2 * time.Second, time.Minute}, []error{syscall.ENOSPC, syscall.EDQUOT}},
	{span{2 * time.Second, time.Minute}, []error{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.ECONNREFUSED, syscall.ETIMEDOUT,
	}},
}

// spanOf returns the span for an error. The delays of the graph go first. A
// vertex that is polled is looked at at least that often.
func spanOf(m *engine.MetaParams, err error) span {
	s := patience
	for _, sc := range scarcities {
		if slices.ContainsFunc(sc.errs, func(no error) bool { return errors.Is(err, no) }) {
			s = sc.span
			break
		}
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		s.most = min(s.most, time.Minute)
	}
	if m.Delay > 0 {
		s.first, s.most = m.Delay, max(s.most, m.Delay)
	}
	if m.DelayMax > 0 {
		s.most = m.DelayMax
	}
	if m.Poll > 0 {
		s.most = min(s.most, m.Poll)
	}
	return s
}

// Backoff says whether and when a vertex that has failed is tried again.
type Backoff struct {
	Once bool                // nothing is tried again unless the graph says so
	Rand func(n int64) int64 // a random number from 0 to below n
}

// Again says whether, and after which time, a vertex is tried again that has been tried
// again so often since it was well. The error of an answer that the resource's own
// command gave is tried again only if the graph says so.
func (b Backoff) Again(m *engine.MetaParams, err error, tried int32) (wait time.Duration, yes bool) {
	switch {
	case engine.IsPermanent(err):
		return 0, false
	case m.Retry != engine.RetryDefault:
		return b.delay(m, tried), more(m.Retry, tried)
	case engine.IsVerdict(err) || b.Once:
		return 0, false
	default:
		return b.within(spanOf(m, err), tried), true
	}
}

// delay is the wait that the graph asks for.
func (b Backoff) delay(m *engine.MetaParams, tried int32) time.Duration {
	if m.DelayMax <= 0 {
		return m.Delay
	}
	return b.within(span{m.Delay, m.DelayMax}, tried)
}

// within is the wait after a number of tries.
func (b Backoff) within(s span, tried int32) time.Duration {
	d := s.first
	for i := int32(0); i < tried && d < s.most; i++ {
		d += min(d, s.most-d) // twice as long, without an overflow
	}
	d = min(d, s.most)
	return d - time.Duration(b.Rand(int64(d/2)+1))
}

// Healed reports whether a Watch that was well for so long has its tries forgotten.
func Healed(well time.Duration) bool { return well > patience.most }

func more(allowed int, tried int32) bool {
	return allowed == engine.RetryForever || int(tried) < allowed
}
