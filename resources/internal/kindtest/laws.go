package kindtest

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// Main runs the tests of a package of kinds, and fails if they leave a goroutine behind.
func Main(m *testing.M) {
	// A shell that runs the tests with nohup, or in the background, ignores these signals. Each program that
	// a test starts would ignore them as well.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	goleak.VerifyTestMain(m)
}

// WatchEnds fails the test unless the Watch of a resource returns as soon as its context ends, however often it begins
// again. h is the machine; nil stands for the host of NewHost.
func WatchEnds(t *testing.T, kind string, r engine.Res, h engine.Host) {
	t.Helper()
	if h == nil {
		h = NewHost(t)
	}
	f := Begin(t, kind, r, enginetest.WithHost(h))
	for range 5 {
		f.Restart()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Watch(ctx) }()
		if _, ok := r.(engine.UnwatchedRes); !ok {
			f.WaitRunning(t)
		}
		cancel()
		select {
		case err := <-ended:
			Must(t, err)
		case <-time.After(enginetest.Patience):
			t.Fatal("Watch does not return")
		}
	}
}
