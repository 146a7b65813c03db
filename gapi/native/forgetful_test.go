package native_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/internal/await"
)

// forgetful is a World that has forgotten each revision as soon as somebody watches from it, or reads on in a list of it.
type forgetful struct {
	world.World
	lists   bool // lists are forgotten, too
	watches atomic.Int64
	began   atomic.Int64 // the first pages of records
}

func (w *forgetful) Watch(context.Context, string, int64) iter.Seq2[world.Batch, error] {
	w.watches.Add(1)
	return func(yield func(world.Batch, error) bool) {
		yield(world.Batch{}, fmt.Errorf("a test: %w", world.ErrCompacted))
	}
}

func (w *forgetful) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if strings.HasPrefix(prefix, "m/") {
		if w.began.Add(1); w.lists {
			return world.Page{}, fmt.Errorf("a test: %w", world.ErrCompacted)
		}
	}
	return w.World.List(ctx, prefix, o)
}

// TestForgetfulStore: a store that forgets its revisions at once is asked again after a while, and not as fast as it answers: all objects are read each
// time. Where not even a list comes to its end, the host goes on with an empty graph, and does not wait for ever.
func TestForgetfulStore(t *testing.T) {
	for _, lists := range []bool{false, true} {
		r := newRig(t)
		r.create(`{"id":"a"}`)
		w := &forgetful{World: r.w, lists: lists}
		f := native.New(model.Open(w, r.nb.Registry(), model.Options{}), native.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, err := range f.Graphs(ctx, gapi.Env{}) {
				select {
				case first <- err:
				default:
				}
			}
		}()
		begin := time.Now()
		if err := <-first; err != nil {
			t.Error(err)
		}
		for w.began.Load() < 4 && time.Since(begin) < await.Left() {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(begin); w.began.Load() < 4 || took < 250*time.Millisecond {
			t.Errorf("lists %t: it was asked %d times within %s", lists, w.began.Load(), took)
		}
		cancel()
		<-done
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
	}
}
