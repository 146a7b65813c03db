package systemd1

import (
	"context"
	"sync"
	"sync/atomic"
)

// Sharing is a host whose users have systemd read its files together: it reads them for a second or
// so where there are many units, and once something is enabled it calls all of them out of date.
type Sharing interface {
	Turn() *Turn // of one manager; not nil
}

// Turn merges the calls that several callers make at the same time. A caller during a call waits
// until it has been done again, once for all callers. The zero value is ready.
type Turn struct {
	begun atomic.Int64 // how often it was begun
	once  sync.Once
	held  chan struct{} // of capacity 1; full while it is done
	good  int64         // which was the last that succeeded; changed while held
}

// take does it, unless another caller begins it after now and succeeds.
func (t *Turn) take(ctx context.Context, do func() error) error {
	t.once.Do(func() { t.held = make(chan struct{}, 1) })
	asked := t.begun.Load()
	select {
	case t.held <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.held }()
	if t.good > asked {
		return nil
	}
	number := t.begun.Add(1)
	err := do()
	if err == nil {
		t.good = number
	}
	return err
}
