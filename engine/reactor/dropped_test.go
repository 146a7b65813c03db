package reactor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestFindingC10DroppedRefresh: a target that leaves the graph before it was refreshed is
// named in the log, and its refresh is gone.
func TestFindingC10DroppedRefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := &safeBuffer{}
		rg := newRig(t, reactor.Options{Sweep: -1, Logger: textLogger(log)})
		defer rg.close()
		w := newWorld()
		changed := false
		src := func() *fake {
			return &fake{w: w, check: func(_ context.Context, _ *fake, apply bool) (bool, error) {
				was := changed
				changed = changed || apply
				return was, nil
			}}
		}
		bad := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { return false, errors.New("no") }}
		rg.swap(newDecl(t).add("src", src()).add("dst", bad).edges("src!dst"))
		synctest.Wait()
		if text := log.String(); strings.Contains(text, "dropped") {
			t.Errorf("too early:\n%s", text)
		}
		rg.swap(newDecl(t).add("src", src()))
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, "the refresh is dropped") || !strings.Contains(text, "resource=fake[dst] from=fake[src]") {
			t.Errorf("the log says:\n%s", text)
		}
	})
}
