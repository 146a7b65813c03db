package httpd

import (
	"log/slog"
	"sync"
	"time"
)

// refusals counts the requests of peers that may not ask. The first one is told at once, and then
// one a minute with the number of the others: a caller that asks a thousand times fills no log.
type refusals struct {
	mu   sync.Mutex
	told time.Time
	more int // since then
}

const refusalsEvery = time.Minute

// add counts one, and reports whether to tell of it, and of how many others.
func (r *refusals) add(now time.Time) (others int, tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told.IsZero() && now.Sub(r.told) < refusalsEvery {
		r.more++
		return 0, false
	}
	others, r.more, r.told = r.more, 0, now
	return others, true
}

// end logs how many there were since the last line.
func (r *refusals) end(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more > 0 {
		log.Warn("more requests over the socket were refused", slog.Int("others", r.more))
		r.more = 0
	}
}
