package resources

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	_ "github.com/reactivegraph/mgmt/resources/account"
	_ "github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	_ "github.com/reactivegraph/mgmt/resources/pkg"
	_ "github.com/reactivegraph/mgmt/resources/svc"
)

func TestMain(m *testing.M) {
	// Who runs the tests with nohup, or in the background, ignores these, and so would all that is started.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	goleak.VerifyTestMain(m)
}

func TestRootKey(t *testing.T) {
	for path, want := range map[string]string{"": "", "cmd": "cmd", "env.A": "env", "args[0]": "args", "a[0].b": "a"} {
		if got := received.RootKey(path); got != want {
			t.Errorf("rootKey(%q) = %q, want %q", path, got, want)
		}
	}
}
