package await_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/internal/await"
)

// failing is a test that notes its failure and goes on to its end.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, _ ...any) {
	f.text = format
	panic(f)
}

// TestWaits: a wait ends with its condition, however late, and one in vain with the time of the binary.
func TestWaits(t *testing.T) {
	asked := 0
	await.Until(t, "three questions", func() bool { asked++; return asked == 3 })
	c := make(chan int, 1)
	time.AfterFunc(time.Millisecond, func() { c <- 7 })
	if got := await.Of(t, "a value", c); got != 7 {
		t.Error(got)
	}
	if left := await.Left(); left <= 0 {
		t.Errorf("%s are left", left)
	}
	synctest.Test(t, func(t *testing.T) {
		f := &failing{TB: t}
		defer func() {
			if recover() != any(f) || f.text == "" {
				t.Error("a wait in vain has not failed")
			}
		}()
		await.Of(f, "nothing", make(chan int))
	})
}
