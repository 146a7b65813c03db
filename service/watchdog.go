package service

import (
	"context"
	"time"
)

// watch feeds systemd's watchdog with the heartbeats of the engine's loop, and with
// nothing else: a loop that hangs is not covered by a timer that runs. Only when the
// service stops, where the loop has ended and systemd has a time limit for it
// (TimeoutStopSec), a timer does.
//
// After three quarters of the watchdog's time without a heartbeat stalled is called, once
// until the next heartbeat: there is still time to say what the loop hangs in.
func (s *Notifier) watch(ctx context.Context, stalled func(context.Context)) {
	patience := time.Duration(1<<63 - 1)
	if s.watchdog > 0 {
		patience = s.watchdog * 3 / 4
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(s.heartbeatEvery())
	defer tick.Stop()
	for {
		select {
		case <-s.heartbeats:
			late.Reset(patience)
			s.alive()
		case <-tick.C:
			if s.isStopping() {
				late.Stop()
				s.alive()
			}
		case <-late.C:
			if stalled != nil {
				stalled(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}
