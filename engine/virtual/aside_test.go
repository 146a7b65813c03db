package virtual

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/callsafe"
)

// TestAside: however many ask, few run at the same time; each caller waits for its own, and
// all are run.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &Kind{asides: make(chan struct{}, asidesAtOnce)}
		var mu sync.Mutex
		var running, ended, back int
		count := func(n *int, by int) {
			mu.Lock()
			defer mu.Unlock()
			*n += by
		}
		open := make(chan struct{})
		for range 3 * asidesAtOnce {
			go func() {
				err := k.Aside(func() error {
					count(&running, 1)
					<-open
					count(&running, -1)
					count(&ended, 1)
					return io.EOF
				})
				if err != io.EOF {
					t.Errorf("the caller gets %v", err)
				}
				count(&back, 1)
			}()
		}
		synctest.Wait()
		if running != asidesAtOnce || back != 0 {
			t.Errorf("%d run and %d callers go on, before one has ended", running, back)
		}
		close(open)
		synctest.Wait()
		if running != 0 || ended != 3*asidesAtOnce || back != ended {
			t.Errorf("%d run, %d have ended, %d callers go on", running, ended, back)
		}
	})
}

// TestAsidePanics: what goes wrong aside is a failure of who asked, and costs no room.
func TestAsidePanics(t *testing.T) {
	k := &Kind{asides: make(chan struct{}, 1)}
	for range 3 {
		err := k.Aside(func() error { panic("broken") })
		if p, ok := errors.AsType[*callsafe.PanicError](err); !ok || p.Value != "broken" || !strings.Contains(string(p.Stack), "TestAsidePanics") {
			t.Errorf("%v", err)
		}
	}
}
