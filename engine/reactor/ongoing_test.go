package reactor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// talking is a host whose commands have a newest line, and take ten minutes.
type talking struct{ engine.Host }

func (talking) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if c.Newest != nil {
		c.Newest.Follow(func() []byte { return []byte("first\nUnpacking " + strings.Join(c.Argv, " ") + " \n") })
		defer c.Newest.Follow(nil)
	}
	select {
	case <-time.After(10 * time.Minute):
	case <-ctx.Done():
	}
	return &engine.Result{}, nil
}

// TestFindingQ15Ongoing: what runs is named with its time, the oldest first, and what runs in one call is one run. A
// command that shows its lines says how far it is; the line of another one, and of a command that has ended, is shown nowhere.
func TestFindingQ15Ongoing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Host: talking{newSlowHost()}})
		defer rg.close()
		command := func(c engine.Command) func(context.Context, *fake, bool) (bool, error) {
			return func(ctx context.Context, f *fake, _ bool) (bool, error) {
				_, err := f.init.Host.Command(ctx, c)
				return true, err
			}
		}
		quiet := &fake{w: w, check: command(engine.Command{Argv: []string{"openssl"}})}
		slept := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(30 * time.Second)
			return true, nil
		}}
		batch := func(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
			outs := make([]engine.Outcome, len(members))
			for i := range outs {
				outs[i].OK = apply
			}
			if apply {
				h := members[1].(*batched).init.Host
				_, _ = h.Command(ctx, engine.Command{Argv: []string{"nginx"}, Newest: new(engine.Newest)})
			}
			return outs
		}
		d := newDecl(t).add("slept", slept).add("late", quiet).edges("slept>late")
		for _, n := range []string{"a", "b", "c"} {
			d.add(n, &batched{fake: fake{w: w}, group: "g", batch: batch})
		}
		rg.swap(d)
		time.Sleep(time.Minute)
		s, err := rg.r.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list := s.Ongoing
		want := []reactor.Ongoing{
			{Resource: "fake[a]", Others: 2, For: time.Minute, Line: "Unpacking nginx"},
			{Resource: "fake[late]", For: 30 * time.Second},
		}
		if len(list) != len(want) || list[0] != want[0] || list[1] != want[1] {
			t.Errorf("running: %+v, want %+v", list, want)
		}
		time.Sleep(15 * time.Minute)
		if s, err := rg.r.Snapshot(t.Context()); err != nil || len(s.Ongoing) != 0 {
			t.Errorf("at rest: %+v, %v", s.Ongoing, err)
		}
	})
}
