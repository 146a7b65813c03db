package host

import (
	"fmt"
	"path/filepath"
	"testing"
)

// Ten thousand subscriptions to files of one directory cost one watch, little
// memory each, no goroutine, and go in no time.
func TestManySubscriptionsAreCheap(t *testing.T) {
	const n, limit = 10000, 1536
	dir := t.TempDir()
	h := newHost(t, Options{})
	first := watch(t, h, plain, filepath.Join(dir, "first"))
	paths := make([]string, n)
	for i := range paths {
		paths[i] = filepath.Join(dir, fmt.Sprint(i))
	}
	watches, before := h.Stats().Watches, heap()
	subs := make([]interface{ Close() }, n)
	for i, p := range paths {
		subs[i] = watch(t, h, plain, p)
	}
	if each := (heap() - before) / n; each > limit {
		t.Errorf("%d bytes for each", each)
	}
	if st := h.Stats(); st.Subscriptions != n+1 || st.Watches != watches {
		t.Errorf("stats %+v", st)
	}
	for _, s := range subs {
		s.Close()
	}
	first.Close()
	empty(t, h)
}
