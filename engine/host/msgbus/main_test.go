package msgbus

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHost(t testing.TB, o host.Options) *host.Host {
	t.Helper()
	h, err := host.New(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const patience = 5 * time.Minute

// woken waits for a wake-up.
func woken(t testing.TB, s events.Subscription) events.Cause {
	t.Helper()
	select {
	case <-s.C():
		return s.Cause()
	case <-time.After(patience):
		t.Fatal("no wake-up came")
		return events.Cause{}
	}
}

// drain takes a wake-up that is there; the zero Cause stands for none.
func drain(s events.Subscription) (c events.Cause) {
	select {
	case <-s.C():
		return s.Cause()
	default:
		return events.Cause{}
	}
}
