package reactor

import (
	"log/slog"
	"time"
)

// longRun is how long a run may take before a warning names its resource. It is longer than most transactions of a package
// manager, and short enough for a person who waits.
const longRun = 2 * time.Minute

// lookOut has the loop look for long runs as long as there are runs. The loop looks at all vertices at once, and not with an alarm
// for each run: that costs a run nothing. At rest there is no alarm.
func (l *loop) lookOut() {
	if !l.lookout {
		l.lookout = true
		l.after(longRun/2, nil, l.tellLong)
	}
}

// tellLong warns once of each run that has not come back for a long time. Such a run can't be ended: a call of the kernel about a
// file system that does not answer comes back with the file system.
func (l *loop) tellLong() {
	l.lookout = false
	for _, v := range l.bySlot {
		if v == nil || !v.run.inRun || v.run.job == nil {
			continue
		}
		l.lookOut()
		if j := v.run.job; !j.told && time.Duration(l.moment-j.started) >= longRun {
			j.told = true
			l.log.Warn("runs for a long time: a command may need it, or a file system, a device or a program does not answer; fix that, or end it; only what depends on the resource waits",
				slog.String("resource", v.ID), slog.Duration("for", time.Duration(l.moment-j.started)))
		}
	}
}
