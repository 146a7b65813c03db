package reactor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestFindingR7SilentWatch: a Watch that does not call Running is named after five seconds, once for its kind, and again where another one
// of the kind starts later. A Watch that is ready in time is not.
func TestFindingR7SilentWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log safeBuffer
		w := newWorld()
		rg := newRig(t, reactor.Options{Logger: textLogger(&log), StartTimeout: time.Minute})
		defer rg.close()
		mute := func() *fake {
			return &fake{w: w, watch: func(ctx context.Context, _ *fake) error { <-ctx.Done(); return nil }}
		}
		slow := func() *fake {
			return &fake{w: w, watch: func(ctx context.Context, f *fake) error {
				time.Sleep(4 * time.Second)
				f.init.Running()
				<-ctx.Done()
				return nil
			}}
		}
		told := func() (warnings int, all string) {
			synctest.Wait()
			all = log.String()
			return strings.Count(all, "has not called Init.Running"), all
		}
		rg.swap(newDecl(t).add("a", mute()).add("b", mute()).add("slow", slow()))
		time.Sleep(5*time.Second - 1)
		if n, all := told(); n != 0 {
			t.Errorf("%d warnings too early\n%s", n, all)
		}
		time.Sleep(time.Second)
		if n, all := told(); n != 1 || !strings.Contains(all, "kind=fake method=Watch resource=fake[a] resources=2") {
			t.Errorf("the warning is\n%s", all)
		}
		rg.swap(newDecl(t).add("a", mute()).add("b", mute()).add("slow", slow()).add("c", mute()))
		time.Sleep(10 * time.Second)
		if n, all := told(); n != 2 {
			t.Errorf("%d warnings after another one has started\n%s", n, all)
		}
	})
}
