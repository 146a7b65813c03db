package systemd1

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// TestTurn: who asks while it is being done is served by the next time, all of them by one.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn Turn
		var wg sync.WaitGroup
		hold, times := make(chan error), 0
		do := func() error { times++; return <-hold }
		errs := make(chan error, 10)
		ask := func(n int) {
			for range n {
				wg.Go(func() { errs <- turn.take(t.Context(), do) })
			}
			synctest.Wait()
		}
		ask(1)
		ask(5)
		hold <- nil // the first
		synctest.Wait()
		hold <- nil // the five
		wg.Wait()
		if times != 2 {
			t.Errorf("done %d times for one and five", times)
		}
		// A failure serves nobody else.
		ask(1)
		ask(2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := turn.take(ctx, do); !errors.Is(err, context.Canceled) {
			t.Errorf("under an ended context: %v", err)
		}
		bad := errors.New("bad")
		hold <- bad
		hold <- bad
		hold <- nil
		wg.Wait()
		close(errs)
		failed := 0
		for err := range errs {
			if err != nil {
				failed++
			}
		}
		if times != 5 || failed != 2 {
			t.Errorf("done %d times, %d failures", times, failed)
		}
		// Who asks when nothing is being done has it done.
		close(hold)
		_ = turn.take(t.Context(), do)
		_ = turn.take(t.Context(), do)
		if times != 7 {
			t.Errorf("done %d times", times)
		}
	})
}
