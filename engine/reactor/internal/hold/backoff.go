package hold

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/internal/backoff"
)

// patience is the wait where the graph says nothing of retry. So no wait is shorter than
// a second or longer than ten minutes.
var patience = backoff.Span{First: 2 * time.Second, Most: 10 * time.Minute}

// scarcities are the errors of a machine that is short of something for a while. Another try costs
// little, and the cause ends without an event.
var scarcities = []struct {
	backoff.Span
	errs []error
}{
	{backoff.Span{First: 200 * time.Millisecond, Most: 15 * time.Second}, []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN}},
	{backoff.Span{First: 2 * time.Second, Most: time.Minute}, []error{syscall.ENOSPC, syscall.EDQUOT}},
	{backoff.Span{First: 2 * time.Second, Most: time.Minute}, []error{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.ECONNREFUSED, syscall.ETIMEDOUT,
	}},
}

// spanOf returns the span for an error. The delays of the graph go first. A
// vertex that is polled is looked at at least that often.
func spanOf(m *engine.MetaParams, err error) backoff.Span {
	s := patience
	for _, sc := range scarcities {
		if slices.ContainsFunc(sc.errs, func(no error) bool { return errors.Is(err, no) }) {
			s = sc.Span
			break
		}
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		s.Most = min(s.Most, time.Minute)
	}
	if m.Delay > 0 {
		s.First, s.Most = m.Delay, max(s.Most, m.Delay)
	}
	if m.DelayMax > 0 {
		s.Most = m.DelayMax
	}
	if m.Poll > 0 {
		s.Most = min(s.Most, m.Poll)
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
	case failure.IsPermanent(err):
		return 0, false
	case m.Retry != engine.RetryDefault:
		return b.delay(m, tried), more(m.Retry, tried)
	case failure.IsVerdict(err) || b.Once:
		return 0, false
	default:
		return spanOf(m, err).Wait(tried, b.Rand), true
	}
}

// delay is the wait that the graph asks for.
func (b Backoff) delay(m *engine.MetaParams, tried int32) time.Duration {
	if m.DelayMax <= 0 {
		return m.Delay
	}
	return backoff.Span{First: m.Delay, Most: m.DelayMax}.Wait(tried, b.Rand)
}

// Healed reports whether a Watch that was well for so long has its tries forgotten.
func Healed(well time.Duration) bool { return well > patience.Most }

func more(allowed int, tried int32) bool {
	return allowed == engine.RetryForever || int(tried) < allowed
}
