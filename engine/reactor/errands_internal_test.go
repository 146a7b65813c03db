package reactor

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestErrands: all are done, none before one that came earlier has begun, few at a
// time, and who has them done waits for that.
func TestErrands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e errands
		var mu sync.Mutex
		var begun []int
		now, most := 0, 0
		var all sync.WaitGroup
		for i := range 10 * errandsAtOnce {
			all.Go(func() {
				done := false
				e.run(func() {
					mu.Lock()
					now++
					most = max(most, now)
					begun = append(begun, i)
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					now--
					mu.Unlock()
					done = true
				})
				if !done {
					t.Errorf("run returned before errand %d was done", i)
				}
			})
			synctest.Wait()
		}
		start := time.Now()
		all.Wait()
		synctest.Wait()
		if most != errandsAtOnce || len(begun) != 10*errandsAtOnce {
			t.Errorf("%d errands were done, %d at once", len(begun), most)
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("they took %s", d)
		}
		for i, n := range begun {
			if i/errandsAtOnce != n/errandsAtOnce {
				t.Fatalf("errand %d was the %dth to begin", n, i)
			}
		}
		if e.running != 0 || e.waiting != nil {
			t.Errorf("at rest there are %d goroutines, %d errands", e.running, len(e.waiting))
		}
	})
}
