package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// SignalHooks are what a verb does at signals.
// Its functions run on the goroutine of listening, one at a time. A tell that blocks
// would delay the next signal.
type SignalHooks struct {
	// Tell writes a line for the user, and gets the result in words for the second argument.
	Tell func(os.Signal, string) // an ending, and its result
	// Abandon runs on a goroutine of its own, since it may take as long as the killing of
	// children.
	Abandon func() // wait no longer
	// Reload is called before the first ending signal only, and must not block.
	Reload func() // at SIGHUP; nil where that ends the program like the others
}

// SignalError is why a context ended.
// It is the cause of the context that OnSignals returns, so context.Cause tells a signal from
// another end.
type SignalError struct{ os.Signal }

func (e SignalError) Error() string { return "signal " + e.String() }

// heard are the signals that the program listens to. A terminal that is closed sends
// SIGHUP, and a reader of an answer that has gone SIGPIPE.
// SIGQUIT is not among them: it dumps the resources and ends nothing, see dumper.
// A signal that the process was started to ignore is not heard, apart from SIGINT and SIGTERM.
func heard() []os.Signal {
	return append([]os.Signal{syscall.SIGINT, syscall.SIGTERM}, unignored(syscall.SIGHUP, syscall.SIGPIPE)...)
}

// unignored returns the signals that the process does not ignore: a program that was
// started with nohup ignores some, and goes on doing so.
func unignored(list ...os.Signal) []os.Signal {
	return slices.DeleteFunc(list, signal.Ignored)
}

// notify leads the signals that are not ignored into a channel. Without one there it
// does nothing: of no signals at all the library would make all.
func notify(ch chan os.Signal, list ...os.Signal) {
	if list = unignored(list...); len(list) > 0 {
		signal.Notify(ch, list...)
	}
}

// OnSignals returns a context that ends at the first signal, with a SignalError.
// The second one abandons, the third one ends the process at once. SIGHUP reloads
// where there is a hook for it, unless it means that the terminal has gone; an earlier
// signal does so too. A program that reloads is a daemon, which SIGPIPE does not end. The
// returned function stops listening.
// The caller calls the returned function once, when its work is over; it waits for the goroutine
// and for abandon.
func (a *App) OnSignals(ctx context.Context, hooks SignalHooks) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &listening{SignalHooks: hooks, cancel: cancel, exit: a.Exit, terminals: terminals(a), outputs: outputs(a), done: make(chan struct{})}
	// Three places are enough for the signals that one user can send before the first is
	// taken.
	ch, pipes := make(chan os.Signal, 3), make(chan os.Signal, 1)
	signals := heard()
	if hooks.Reload != nil { // each line without a reader sends a SIGPIPE: they must not crowd the others out
		signals = slices.DeleteFunc(signals, func(s os.Signal) bool { return s == syscall.SIGPIPE })
		notify(pipes, syscall.SIGPIPE)
	}
	signal.Notify(ch, signals...)
	var wg sync.WaitGroup
	wg.Go(func() {
		l.takeEarly(a.Early)
		l.listen(ch)
	})
	return ctx, func() {
		signal.Stop(ch)
		signal.Stop(pipes)
		close(l.done)
		wg.Wait()
		l.abandoning.Wait()
		cancel(nil)
	}
}

// Interruptible is OnSignals for a verb that waits for others, and has a last word for its user. The first signal ends the context, and the
// third one ends the process. The returned function stops listening.
func (a *App) Interruptible(ctx context.Context) (context.Context, func()) {
	return a.OnSignals(ctx, SignalHooks{Tell: func(os.Signal, string) {}, Abandon: func() {}})
}

// listening is the goroutine of OnSignals.
type listening struct {
	SignalHooks
	cancel     context.CancelCauseFunc
	exit       func(int)
	terminals  []int // file descriptors
	outputs    []int // also those
	done       chan struct{}
	abandoning sync.WaitGroup // the third signal does not wait for it
	endings    int            // so far
}

// listen takes signals until the end. Several that have come at once are taken together,
// so a double Ctrl-C is not lost.
// It leaves when done is closed. A signal that is still in the channel is then dropped,
// since the program ends anyway.
func (l *listening) listen(ch <-chan os.Signal) {
	for {
		select {
		case sig := <-ch:
			// Only the first signal needs the wait. Later ones show impatience, and are taken at
			// once.
			var more []os.Signal
			if l.endings == 0 {
				more = others(ch, sig)
			}
			l.take(sig)
			for _, sig := range more {
				l.take(sig)
			}
		case <-l.done:
			return
		}
	}
}

// takeEarly takes a SIGHUP that came before the daemon listened, if there is one; see package
// early. It is taken like any other: it reloads, or ends a run whose terminal has gone.
func (l *listening) takeEarly(ch <-chan os.Signal) {
	select {
	case sig := <-ch:
		l.take(sig)
	default:
	}
}

// echo is how long after a signal the same signal does not count again: timeout(1)
// and the like send theirs to the program and then to its process group, it too.
const echo = time.Millisecond

// others waits that long, and returns what came meanwhile but the same signal again.
// The wait is 1 ms, which no person notices.
func others(ch <-chan os.Signal, sig os.Signal) (list []os.Signal) {
	time.Sleep(echo)
	for {
		select {
		case next := <-ch:
			if next != sig {
				list = append(list, next)
			}
		default:
			return list
		}
	}
}

// take decides about one signal: reload, an orderly end, a quick end, or an end at once.
func (l *listening) take(sig os.Signal) {
	switch {
	case sig == syscall.SIGHUP && l.Reload != nil && !l.hungUp():
		if l.endings == 0 {
			l.Reload()
		}
		return
	case sig == syscall.SIGPIPE && l.endings > 0:
		return // each unread line sends one; it does not mean impatience
	case sig == syscall.SIGPIPE && !unread(l.outputs...):
		return // a client of ours has gone, as clients do
	}
	switch l.endings++; l.endings {
	case 1:
		if sig != syscall.SIGPIPE { // who has read enough of an answer needs no word
			l.Tell(sig, "stopping; once more to stop waiting")
		}
		l.cancel(SignalError{Signal: sig})
	case 2:
		l.Tell(sig, "not waiting any longer; once more to exit at once")
		l.abandoning.Go(l.Abandon)
	default:
		// A shell reports a process that ended by a signal in the same way.
		l.exit(128 + int(sig.(syscall.Signal)))
	}
}

// hungUp reports whether a terminal that was there has gone.
// A daemon that was started without a terminal has none to lose, so each SIGHUP is a
// reload there.
// The terminals are those at the start. For the kernel, a terminal that has gone is none.
func (l *listening) hungUp() bool {
	for _, fd := range l.terminals {
		if !term.IsTerminal(fd) {
			return true
		}
	}
	return false
}

// unread reports whether one of these streams has no reader any more.
// poll(2) with a time of 0 does not wait. POLLERR is the answer for a pipe, POLLHUP for a
// terminal.
func unread(fds ...int) bool {
	for _, fd := range fds {
		poll := []unix.PollFd{{Fd: int32(fd)}}
		if n, err := unix.Poll(poll, 0); err == nil && n > 0 && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return true
		}
	}
	return false
}

// outputs returns the descriptors to which the program writes.
func outputs(a *App) []int { return append(descriptor(a.Out), descriptor(a.Err)...) }

// descriptor returns that of a stream, if it has one.
func descriptor(w io.Writer) []int {
	if f, ok := w.(*os.File); ok {
		return []int{int(f.Fd())}
	}
	return nil
}

// LeftAlone reports whether an error is nothing but that the reader of the answer
// has gone, as head does when it has enough.
// An EPIPE of another stream, such as a socket, is an error like any other.
func LeftAlone(a *App, err error) bool {
	return errors.Is(err, syscall.EPIPE) && unread(descriptor(a.Out)...)
}

// terminals returns the descriptors of the program that are terminals.
func terminals(a *App) []int {
	var list []int
	for _, s := range []any{a.In, a.Out, a.Err} {
		if f, ok := s.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			list = append(list, int(f.Fd()))
		}
	}
	return list
}
