package svc

import (
	"context"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
)

// young is how long a life is at most that makes the next one be watched for twice as long: a service that ends every few seconds
// does not serve, whatever stable is.
const young = time.Minute

// slack is how far the start of one life may be told differently: some managers count in seconds.
const slack = time.Second

// lives is what is known of the lives of a service that has to run. Only the holder of the lock of seen uses it.
type lives struct {
	looked   bool
	counts   bool          // the manager counts how often it starts the service again
	up       time.Time     // since when it is up; zero while it is not
	steady   bool          // it has stayed up for long enough
	restarts int           // by the manager, as it counts
	base     int           // of them, before the crashes
	seen     int           // crashes where the manager does not count
	begun    time.Time     // since when it is not steady; zero while it is
	before   bool          // it had crashed before the first look, so begun is later than the first crash
	longer   time.Duration // what it has to stay up at least, since it has ended soon before
	reason   string        // of the last crash
	killed   int           // lives in a row that a signal has ended before the service was steady, sent by nobody who was seen
}

// kills is how often in a row a service may be killed right after its start until it counts as one that kills itself.
const kills = 5

// crashes is how often in a row it has ended by itself before it was steady.
func (l *lives) crashes(info *backends.Info) int {
	n := l.restarts - l.base + l.seen
	if is(info, restarting) && l.restarts >= l.base && l.seen == 0 {
		n++
	}
	return n
}

// is reports what a manager may say of a service.
func is(info *backends.Info, what func(*backends.Info) *bool) bool {
	if info == nil {
		return false
	}
	b := what(info)
	return b != nil && *b
}

func restarting(i *backends.Info) *bool { return i.Restarting }
func ending(i *backends.Info) *bool     { return i.Ending }
func failed(i *backends.Info) *bool     { return i.Failed }

// busy reports whether something is on its way with the service.
func busy(info *backends.Info) bool { return info != nil && info.Job != nil || is(info, ending) }

// phase is what a life has come to.
type phase int

const (
	down     phase = iota // it does not run, and its manager leaves it so
	fresh                 // it runs, and may still end right after its start
	steady                // it runs
	crashing              // it ends again and again, and its manager starts it again
)

// phase is judged by the last look.
func (l *lives) phase(info *backends.Info) phase {
	up := state(info) == Running
	switch {
	case up && l.steady:
		return steady
	case is(info, restarting), l.crashes(info) > 0 && (up || busy(info)):
		return crashing
	case up:
		return fresh
	}
	return down
}

// left is how long the service has to stay up still.
func (l *lives) left(now time.Time, stable time.Duration) time.Duration {
	if stable == 0 {
		return 0
	}
	return max(stable, l.longer) - now.Sub(l.up)
}

// begin is called right before the service is started.
func (l *lives) begin(now time.Time) {
	*l = lives{looked: true, counts: l.counts, begun: now, longer: l.longer, killed: l.killed}
}

// look takes note of a look at the service. The manager says of life what it knows.
func (l *lives) look(now time.Time, stable time.Duration, info *backends.Info, life backends.LifeInfo) {
	first := !l.looked
	l.looked = true
	if l.up.After(now) { // the clock was set back
		l.up = now
	}
	again, asked := false, false // it was started since the last look: by its manager, by request
	if life.Restarts != nil {
		l.counts = true
		again, asked = *life.Restarts > l.restarts, *life.Restarts < l.restarts
		l.restarts = *life.Restarts
		l.before = l.before || first && again
	}
	if asked {
		l.base, l.begun, l.before = 0, now, false
	}
	if state(info) != Running {
		l.ended(now, is(info, restarting) || is(info, ending) || is(info, failed))
		return
	}
	since := now
	if life.Up != nil {
		since = now.Add(-*life.Up)
	}
	switch {
	case first && life.Up == nil:
		l.up, l.steady = now, true // whoever has started it knows better
		return
	case !l.up.IsZero() && (again || asked || life.Up != nil && since.Sub(l.up) > slack):
		l.ended(since, again)
		l.up = since
	case l.up.IsZero():
		l.up = since
	}
	if l.steady = l.steady || life.Ready != nil && *life.Ready || l.left(now, stable) <= 0; l.steady {
		l.base, l.seen, l.begun, l.before, l.reason, l.killed = l.restarts, 0, time.Time{}, false, "", 0
	}
}

// ended takes note that a life has ended, if there was one: by itself, or by what others did.
func (l *lives) ended(now time.Time, itself bool) {
	if l.up.IsZero() {
		return
	}
	if lived := now.Sub(l.up); itself && lived >= young {
		l.longer = 0
	} else if itself && l.steady {
		l.longer = 2 * lived
	}
	if itself && !l.counts {
		l.seen++
	}
	if l.begun.IsZero() {
		l.begun = now
	}
	l.up, l.steady = time.Time{}, false
}

// judged looks at the life of a service that has to run, and returns the phase that it is in. The lock is held.
func (r *Res) judged(ctx context.Context, m *virtual.Module, info *backends.Info) (phase, error) {
	if r.State != Running {
		return r.seen.lives.phase(info), nil // by this look alone
	}
	var life backends.LifeInfo
	if (state(info) == Running || is(info, restarting) || busy(info)) && m.Needs(backends.Life.Name()) == nil {
		var err error
		if life, _, err = backends.Life.Call(ctx, m, r.Args()); err != nil {
			return down, err
		}
	}
	r.seen.lives.look(r.now(), r.Stable, info, life)
	return r.seen.lives.phase(info), nil
}

func (r *Res) now() time.Time { return engine.ClockOf(r.Handle().Host).Now() }

// serves says of a service with which nothing is to be done whether it does what it is for.
func (r *Res) serves(ctx context.Context, m *virtual.Module, info *backends.Info, p phase) error {
	switch {
	case r.State != Running:
	case p == crashing:
		return r.crashing(ctx, m, info)
	case p == fresh:
		return &failure.WaitError{For: r.stays(), Again: max(r.seen.lives.left(r.now(), r.Stable), time.Millisecond)}
	}
	return nil
}

// stays says what a service has to do that was started just now.
func (r *Res) stays() string {
	return fmt.Sprintf("%s to stay up for %s", r.Name(), max(r.Stable, r.seen.lives.longer).Round(time.Millisecond))
}

// crashing is the error about a service that ends again and again. Its manager starts it again, so that is left to it: a start by
// mgmt would count among those after which systemd gives up.
func (r *Res) crashing(ctx context.Context, m *virtual.Module, info *backends.Info) error {
	l := &r.seen.lives
	if state(info) != Running {
		l.reason = r.reason(ctx, m)
	}
	n, times := l.crashes(info), "once"
	if n > 1 {
		times = fmt.Sprintf("%d times", n)
	}
	text := "crashing, " + times
	if l.before {
		text += " so far"
	} else if within := rounded(r.now().Sub(l.begun)); !l.begun.IsZero() && within != "0s" {
		text += " in " + within
	}
	if l.reason != "" {
		text += ": " + l.reason
	}
	return fmt.Errorf("%s", text)
}

// rounded shows a time as a person would say it.
func rounded(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// soon is rounded, with words for what is too short to be counted.
func soon(d time.Duration) string {
	if text := rounded(d); text != "0s" {
		return text
	}
	return "right"
}

// reason asks why the service does not run; empty where nobody knows.
func (r *Res) reason(ctx context.Context, m *virtual.Module) string {
	if m.Needs(backends.Reason.Name()) != nil {
		return ""
	}
	why, _, err := backends.Reason.Call(ctx, m, r.Args())
	if err != nil {
		return err.Error()
	}
	return why
}

// byOthers reports whether others have ended a service that was started just now; asked says that somebody was seen who asked for it. That
// is no failure of the service: whoever stops it, it is looked at again at once. The error has one that was killed started once more; it
// may have done that itself, so kills is the limit.
func (r *Res) byOthers(ctx context.Context, m *virtual.Module, asked bool) (bool, error) {
	l := &r.seen.lives
	if !asked {
		if m.Needs(backends.Life.Name()) != nil {
			return false, nil
		}
		life, result, err := backends.Life.Call(ctx, m, r.Args())
		if err != nil || !result.Found || life.Down == nil || !r.now().Add(-*life.Down).After(l.begun) {
			return false, nil // it has not been up since, or nobody knows: the error of the start counts
		}
		yes := func(b *bool) bool { return b != nil && *b }
		asked = yes(life.Stopped)
		if !asked && yes(life.Killed) && l.killed < kills {
			l.killed++
			return true, &failure.WaitError{For: fmt.Sprintf("the next start of %s, which was killed", r.Name()), Again: time.Millisecond}
		}
	}
	if asked {
		l.killed = 0
	}
	return asked, nil
}

// lasts waits until a service that was started just now has stayed up for long enough, or others have ended it. The error says that it
// has ended by itself. The run keeps no other one waiting meanwhile.
func (r *Res) lasts(ctx context.Context, m *virtual.Module) error {
	h := r.Handle().Host
	defer hosting.Waits(ctx, h)()
	c := engine.ClockOf(h)
	sub, err := m.Watch(ctx, []string{backends.Watched(r.Name(), r.Session)})
	if err != nil {
		return err
	}
	asked := false           // somebody was seen who does something with it
	var told <-chan struct{} // nothing where the manager tells of nothing
	if sub != nil {
		defer sub.Close()
		told = sub.C()
	}
	for {
		info, err := r.look(ctx, m)
		if err != nil {
			return err
		}
		asked = asked || info != nil && info.Job != nil
		since := r.seen.lives.begun
		if up := r.seen.lives.up; !up.IsZero() {
			since = up
		}
		p, err := r.judged(ctx, m, info)
		switch {
		case err != nil:
			return err
		case p == crashing:
			return r.crashing(ctx, m, info)
		case p == down && busy(info): // it ends, or somebody else does something with it: the end of that decides
		case p == down:
			if by, err := r.byOthers(ctx, m, asked); by {
				return err
			}
			return fmt.Errorf("%s has ended %s after its start: %s", r.Name(), soon(r.now().Sub(since)), r.reason(ctx, m))
		case p == steady:
			return nil
		}
		left := again
		if p == fresh {
			left = r.seen.lives.left(r.now(), r.Stable)
		}
		timer := clock.NewTimer(c, left)
		awake := clock.Asleep(ctx, c)
		select {
		case <-timer.C:
		case <-told:
			if sub.Cause().Resync { // another manager, which knows nothing of this subscription: only the time counts now
				told = nil
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		awake()
		timer.Stop()
		if err != nil {
			return err
		}
	}
}
