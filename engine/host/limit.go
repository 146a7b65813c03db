package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// A LimitError says that the kernel gives no more file watches, by which limit,
// and how much of it this process holds.
type LimitError struct {
	Sysctl string // its name, such as fs.inotify.max_user_watches
	Value  string // its present value, or empty if it could not be read
	Held   int64  // watches that we hold
	Err    error  // the error of the kernel
}

func (e *LimitError) Error() string {
	value := e.Value
	if value == "" {
		value = "unknown"
	}
	return fmt.Sprintf("no more file watches: the limit %s is %s, of which this process holds %d (%v); raise it with sysctl -w %s=N",
		e.Sysctl, value, e.Held, e.Err, e.Sysctl)
}

func (e *LimitError) Unwrap() error { return e.Err }

// A limiter decides how often to ask again for watches that were refused.
type limiter struct {
	hit  bool
	wait time.Duration
	next time.Time
}

const (
	firstWait = 10 * time.Second
	lastWait  = 5 * time.Minute
)

// refuse takes note of a refusal, and reports whether it is the first.
func (l *limiter) refuse(now time.Time) (first bool) {
	first = !l.hit
	if first || !now.Before(l.next) {
		l.wait = min(max(2*l.wait, firstWait), lastWait)
		l.next = now.Add(l.wait)
	}
	l.hit = true
	return first
}

func (l *limiter) waiting(now time.Time) bool { return l.hit && now.Before(l.next) }

// complain says why d is not watched, and returns err.
func (h *hub) complain(d *dir, err error) error {
	if isGone(err) {
		return err
	}
	if sysctl := limitOf(err, h.w != nil); sysctl != "" {
		limit := &LimitError{sysctl, readSysctl(sysctl), h.stats.watches.Load(), err}
		if h.limits.refuse(h.clock.Now()) {
			h.log.Warn("file watches ran out, polling instead", "path", d.path, "error", limit)
		}
		return limit
	}
	if d.sigs == nil {
		h.log.Warn("directory cannot be watched, polling instead", "path", d.path, "error", err)
	}
	return err
}

// limitOf returns the name of the limit that err is about, or "".
func limitOf(err error, watching bool) string {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "fs.inotify.max_user_watches"
	case errors.Is(err, unix.EMFILE) && !watching:
		return "fs.inotify.max_user_instances"
	}
	return ""
}

func readSysctl(name string) string {
	b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// recovered says that what was polled is watched again.
func (h *hub) recovered() {
	if len(h.polled) == 0 && h.limits.hit {
		h.limits = limiter{}
		h.log.Info("file watches are to be had again, polling has ended")
	}
}
