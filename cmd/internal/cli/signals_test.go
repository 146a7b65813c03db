package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/internal/await"
)

// signals listens for a test and notes what it is told.
type signals struct {
	t         *testing.T
	ctx       context.Context
	told      chan string
	abandoned chan struct{}
	exited    chan int
	arrived   chan os.Signal // each one sent, when it is in every listener's queue
}

func listen(t *testing.T, a *App, reload bool) (*signals, func()) {
	s := &signals{t: t, told: make(chan string), abandoned: make(chan struct{}), exited: make(chan int), arrived: make(chan os.Signal, 1)}
	signal.Notify(s.arrived, heard()...)
	t.Cleanup(func() { signal.Stop(s.arrived) })
	a.Exit = func(code int) { s.exited <- code }
	hooks := SignalHooks{
		Tell:    func(sig os.Signal, what string) { s.told <- sig.String() + ": " + what },
		Abandon: func() { s.abandoned <- struct{}{}; <-s.abandoned },
	}
	if reload {
		hooks.Reload = func() { s.told <- "reload" }
	}
	ctx, stop := a.OnSignals(t.Context(), hooks)
	s.ctx = ctx
	return s, stop
}

// send sends a signal and waits until it has arrived: any thread may take it, so
// that without this the next one could overtake it, and one that comes when nobody
// listens any more ends the tests.
func (s *signals) send(sig syscall.Signal, want string) {
	s.t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		s.t.Fatal(err)
	}
	select {
	case got := <-s.arrived:
		if got != sig {
			s.t.Fatalf("%v arrived, %v was sent", got, sig)
		}
	case <-time.After(await.Left()):
		s.t.Fatalf("%v has not arrived", sig)
	}
	if want == "" {
		return
	}
	select {
	case got := <-s.told:
		if !strings.HasPrefix(got, want) {
			s.t.Fatalf("told %q, want %q", got, want)
		}
	case <-time.After(await.Left()):
		s.t.Fatalf("told nothing, want %q", want)
	}
}

// TestSignals: the first ends the context, the second abandons, the third exits
// even while abandoning goes on.
func TestSignals(t *testing.T) {
	s, stop := listen(t, &App{}, false)
	s.send(syscall.SIGTERM, "terminated: stopping")
	<-s.ctx.Done()
	if sig, ok := errors.AsType[SignalError](context.Cause(s.ctx)); !ok || sig.Signal != syscall.SIGTERM {
		t.Errorf("the cause is %v", context.Cause(s.ctx))
	}
	s.send(syscall.SIGINT, "interrupt: not waiting")
	<-s.abandoned
	s.send(syscall.SIGINT, "")
	if code := <-s.exited; code != 130 {
		t.Errorf("the code is %d", code)
	}
	s.abandoned <- struct{}{}
	stop()
}

// What sends a signal to the program and to its group has sent one.
func TestSignalSentTwice(t *testing.T) {
	ch := make(chan os.Signal, 3)
	ch <- syscall.SIGTERM
	ch <- syscall.SIGINT
	ch <- syscall.SIGTERM
	if got := others(ch, syscall.SIGTERM); !slices.Equal(got, []os.Signal{syscall.SIGINT}) {
		t.Errorf("beside SIGTERM came %v", got)
	}
}

// TestHangup: SIGHUP reloads where that has a sense, is no ending and no
// impatience; elsewhere it ends.
func TestHangup(t *testing.T) {
	s, stop := listen(t, &App{}, true)
	s.send(syscall.SIGHUP, "reload")
	s.send(syscall.SIGHUP, "reload")
	if s.ctx.Err() != nil {
		t.Error("it has ended the context")
	}
	s.send(syscall.SIGINT, "interrupt: stopping")
	s.send(syscall.SIGHUP, "")
	s.send(syscall.SIGINT, "interrupt: not waiting")
	<-s.abandoned
	s.abandoned <- struct{}{}
	stop()

	s, stop = listen(t, &App{}, false)
	s.send(syscall.SIGHUP, "hangup: stopping")
	<-s.ctx.Done()
	stop()
}

// TestHangupOfTheTerminal: when the terminal goes, SIGHUP ends.
func TestHangupOfTheTerminal(t *testing.T) {
	far, near := enginetest.Terminal(t)
	s, stop := listen(t, &App{Err: near}, true)
	defer stop()
	s.send(syscall.SIGHUP, "reload")
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	s.send(syscall.SIGHUP, "hangup: stopping")
	<-s.ctx.Done()
}
