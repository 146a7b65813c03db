package reactor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// TestFindingG7HungCallsAreNamed: an Init or a Cleanup that does not return is in the dump, with its time, and in
// the error of a Run that is abandoned.
func TestFindingG7HungCallsAreNamed(t *testing.T) {
	for _, method := range []string{"Init", "Cleanup"} {
		t.Run(method, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				hang := func() error { <-release; return nil }
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				deaf := &fake{w: w, cleanup: hang}
				if method == "Init" {
					deaf = &fake{w: w, initErr: hang}
				}
				swapped := make(chan error, 1)
				if method == "Init" {
					go func() { swapped <- rg.r.Swap(context.Background(), newDecl(t).add("deaf", deaf).g) }()
				} else {
					rg.swap(newDecl(t).add("deaf", deaf))
					synctest.Wait()
					rg.swap(newDecl(t).add("other", &fake{w: w}))
					swapped <- nil
				}
				synctest.Wait()
				time.Sleep(90 * time.Second)
				dump, err := rg.r.Dump(t.Context())
				if want := "fake[deaf]: its " + method + " runs since 1m30s\n"; err != nil || !strings.Contains(dump, want) {
					t.Errorf("the dump does not say %q: %v\n%s", want, err, dump)
				}
				rg.stop()
				synctest.Wait()
				rg.r.Abandon()
				if err := <-rg.done; err == nil || !strings.Contains(err.Error(), "fake[deaf] (in "+method+")") {
					t.Errorf("abandoned: %v", err)
				}
				<-swapped
				close(release)
			})
		})
	}
}
