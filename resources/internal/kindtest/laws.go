package kindtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Main runs the tests of a package of kinds, and fails if they leave a goroutine
// behind. Each package of a kind calls it from TestMain.
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

// WatchEnds fails the test unless the Watch of a resource returns as soon as its
// context ends, however often it begins again. h is the machine; nil stands for the
// host of NewHost. Five rounds find a subscription that is not closed, or a state
// that is not set back. The time limit is await.Left().
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
		if _, ok := engine.As[engine.UnwatchedRes](r); !ok {
			f.WaitRunning(t)
		}
		cancel()
		select {
		case err := <-ended:
			Must(t, err)
		case <-time.After(await.Left()):
			t.Fatal("Watch does not return")
		}
	}
}

// Canary is the secret of the tests: no change and no line of a log may have it. A
// test puts it where secrets are, and looks for it where they must not be.
const Canary = "canary-51f0"

// Part is a case of NotForAll: a resource that writes a part of a file.
type Part struct {
	Before string                       // the text of the file before; empty for no file
	Mode   uint32                       // its mode before; 0 for no file
	Make   func(path string) engine.Res // the resource that alters it
	Shown  bool                         // whether its changes show the text, since everyone may read the file
}

// NotForAll fails the test unless the changes and log lines of each resource show
// Canary exactly where Shown says so. A file that shuts other users out, by its mode
// before or after, shows no text. The keys of parts name the subtests. Each has a
// file of its own in one folder.
func NotForAll(t *testing.T, kind string, parts map[string]Part) {
	t.Helper()
	dir := t.TempDir()
	for name, c := range parts {
		t.Run(name, func(t *testing.T) {
			path := dir + "/" + strings.ReplaceAll(name, " ", "-")
			if c.Mode != 0 {
				Lay(t, path, c.Before)
				Must(t, unix.Chmod(path, c.Mode))
			}
			r := c.Make(path)
			f := Begin(t, kind, r)
			if got := Verbs(t, f, r, true) + fmt.Sprint(f.Logs()); strings.Contains(got, Canary) != c.Shown || strings.Contains(got, "error") {
				t.Error(got)
			}
		})
	}
}
