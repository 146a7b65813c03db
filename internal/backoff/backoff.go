// Package backoff has the wait before another try.
package backoff

import "time"

// Span is the wait for the next try. It doubles each time, from First up to Most.
type Span struct{ First, Most time.Duration }

// Wait returns the wait after a number of tries. random(n) returns a number from 0 to below n; it takes up to half of the wait away, so
// that those who failed together don't come back together.
func (s Span) Wait(tried int32, random func(n int64) int64) time.Duration {
	d := s.First
	for i := int32(0); i < tried && d < s.Most; i++ {
		d += min(d, s.Most-d) // twice as long, without an overflow
	}
	d = min(d, s.Most)
	return d - time.Duration(random(int64(d/2)+1))
}
