package hosts_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
)

// TestWarnLost: the log tells a store that refuses this host from one that cannot be reached. Both say what goes on.
func TestWarnLost(t *testing.T) {
	for class, want := range map[error]string{
		engine.ErrUnavailable: `msg="the store is out of reach" of=facts meanwhile="the last state goes on" error="`,
		engine.ErrRefused:     `msg="the store refuses this host: mgmt hosts allow gives a host its rights" of=facts meanwhile="the last state goes on" error="`,
	} {
		var b strings.Builder
		hosts.WarnLost(slog.New(slog.NewTextHandler(&b, nil)), fmt.Errorf("%w: why", class), "the last state goes on", "of", "facts")
		if log := b.String(); !strings.Contains(log, want+class.Error()+`: why"`) {
			t.Errorf("%s lacks %s", log, want)
		}
	}
}
