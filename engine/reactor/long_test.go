package reactor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFindingBadPathsLongRun: a check that does not come back, as one of a file system that hangs, is named by one warning that says
// what to do. All others go on, and the resource does when the check comes back. A run that takes a minute is no news.
func TestFindingBadPathsLongRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg, log := stormRig(t)
		defer rg.close()
		w := newWorld()
		goOn := make(chan struct{})
		hung, slow, other := &fake{w: w}, &fake{w: w}, &fake{w: w}
		hung.check = func(context.Context, *fake, bool) (bool, error) {
			<-goOn
			return true, nil
		}
		slow.check = func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(time.Minute)
			return true, nil
		}
		rg.swap(newDecl(t).add("hung", hung).add("slow", slow).add("other", other))
		warnings := func() (of []string) {
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "runs for a long time") {
					of = append(of, line)
				}
			}
			return of
		}
		time.Sleep(time.Minute)
		if got := warnings(); len(got) != 0 {
			t.Errorf("after a minute: %v", got)
		}
		time.Sleep(2 * time.Minute)
		got := warnings()
		if len(got) != 1 || !strings.Contains(got[0], "hung") || !strings.Contains(got[0], "does not answer; fix that, or end it") {
			t.Errorf("after three minutes: %v", got)
		}
		time.Sleep(time.Hour)
		if n := len(warnings()); n != 1 {
			t.Errorf("%d warnings of one run", n)
		}
		other.init.Event()
		synctest.Wait()
		if n := w.count("other"); n != 2 {
			t.Errorf("the other resource has run %d times", n)
		}
		close(goOn)
		synctest.Wait()
		if n := len(rg.runs("hung")); n != 1 {
			t.Errorf("the check came back, and %d runs were told", n)
		}
		goOn = make(chan struct{})
		hung.init.Event()
		time.Sleep(4 * time.Minute)
		if n := len(warnings()); n != 2 {
			t.Errorf("%d warnings of two long runs", n)
		}
		close(goOn)
	})
}
