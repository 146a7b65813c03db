package lazy_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/lazy"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/engine/world/worldtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const history = 600 // more than any test of the suite writes before it compacts

// TestWorld: what is opened late is a World like any other.
func TestWorld(t *testing.T) {
	worldtest.Run(t, func(*testing.T) worldtest.Backend {
		clock := enginetest.NewClock()
		inner := memory.New(memory.WithClock(clock), memory.WithHistory(history))
		return worldtest.Backend{
			World:     lazy.New(func() (world.World, error) { return inner, nil }),
			Advance:   clock.Advance,
			Bookmarks: true,
			Lose: func(*testing.T) world.World {
				other := inner.Join()
				inner.Abandon()
				return other
			},
			Compact: func(t *testing.T) {
				for range 2 * history {
					if _, _, err := inner.Txn(t.Context(), nil, []world.Op{{Key: "filler"}}); err != nil {
						t.Fatal(err)
					}
				}
			},
		}
	})
}

// TestUnused: nothing is opened before the first use, nor for Limits and Close, nor after Close.
func TestUnused(t *testing.T) {
	opened := 0
	w := lazy.New(func() (world.World, error) { opened++; return memory.New(), nil })
	if w.Limits() != world.DefaultLimits() {
		t.Error("other limits")
	}
	select {
	case <-w.Used():
		t.Error("it says that it is used")
	default:
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if _, err := w.Get(t.Context(), "a"); !errors.Is(err, world.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if opened != 0 {
		t.Errorf("it was opened %d times", opened)
	}
}

// TestFails: an opening that fails is tried again by the next call, and by each method.
func TestFails(t *testing.T) {
	bad := errors.New("no room")
	var err error = bad
	tries := 0
	w := lazy.New(func() (world.World, error) { tries++; return memory.New(), err })
	defer w.Close()
	ctx := t.Context()
	calls := []func() error{
		func() error { _, err := w.Get(ctx, "a"); return err },
		func() error { _, err := w.List(ctx, "", world.ListOptions{}); return err },
		func() error { _, _, err := w.Txn(ctx, nil, nil); return err },
		func() error { _, err := w.Lease(ctx, time.Minute); return err },
		func() error {
			for _, err := range w.Watch(ctx, "", 0) {
				return err
			}
			return nil
		},
	}
	for i, call := range calls {
		if got := call(); !errors.Is(got, bad) || tries != i+1 {
			t.Errorf("call %d: %v after %d tries", i, got, tries)
		}
	}
	err = nil
	if _, got := w.Lease(ctx, time.Minute); got != nil {
		t.Error(got)
	}
	if _, _, got := w.Txn(ctx, nil, []world.Op{{Key: "a"}}); got != nil || tries != len(calls)+1 {
		t.Errorf("%v after %d tries", got, tries)
	}
	<-w.Used()
}

// keptWorld is a store with a file.
type keptWorld struct {
	world.World
	err error
}

func (w keptWorld) Keep() error { return w.err }

// TestFindingQ10KeepLazy: a store that was opened keeps its file, and before that there is none.
func TestFindingQ10KeepLazy(t *testing.T) {
	gone := errors.New("it is gone")
	inner := keptWorld{memory.New(), gone}
	w := lazy.New(func() (world.World, error) { return inner, nil })
	if err := w.Keep(); err != nil {
		t.Errorf("before it was opened: %v", err)
	}
	if _, err := w.List(t.Context(), "", world.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Keep(); !errors.Is(err, gone) {
		t.Errorf("of a store that was opened: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
