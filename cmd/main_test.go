package cmd

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// asProgram is a variable of the environment that makes the test program mgmt itself, so that a test can kill it.
const asProgram = "MGMT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	// Who runs the tests with nohup, or in the background, ignores these, and so would all that is started.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	if os.Getenv(asProgram) != "" {
		Main()
	}
	goleak.VerifyTestMain(m)
}
