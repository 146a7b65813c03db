package look

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/gapi"
)

// Follow yields a thing as it is, and again each time that it has changed, until the
// context ends. It looks when the resource's own Watch says so. Several changes may be
// one. An error of a look is yielded, and the next look may succeed; one of the Watch
// is the last.
func (l *Inspector) Follow(ctx context.Context, t Target) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		x, err := l.open(ctx, t)
		if err != nil {
			yield(Observation{}, err)
			return
		}
		x.closing(yield, func() (bool, error) { return x.follow(ctx, yield) })
	}
}

// snapshot is what one look has shown, to be compared with the next one.
type snapshot struct {
	shown gapi.Shown
	err   string
}

// follow yields until the context or the Watch ends, and reports whether more may be
// yielded. The error is that of the Watch.
func (x *looked) follow(ctx context.Context, yield func(Observation, error) bool) (on bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- lifecycle.Call("Watch", func() error { return x.Res.Watch(ctx) }) }()
	over := false
	defer func() {
		if cancel(); !over {
			<-ended
		}
	}()
	for last := (snapshot{}); ; {
		s, err := x.read(ctx)
		x.l.rest()
		if ctx.Err() != nil {
			return true, nil
		}
		now := snapshot{shown: s.Shown}
		if err != nil {
			err = x.fault(err)
			now.err = err.Error()
		}
		if !reflect.DeepEqual(now, last) && !yield(s, err) {
			return false, nil
		}
		last = now
		select {
		case <-x.woken:
		case <-ctx.Done():
			return true, nil
		case err := <-ended:
			over = true
			return true, x.watchEnd(ctx, err)
		}
	}
}

// watchEnd returns why a Watch that was not told to has ended.
func (x *looked) watchEnd(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		err = errors.New("it gives no reason")
	}
	return x.fault(fmt.Errorf("its Watch has ended: %w", err))
}
