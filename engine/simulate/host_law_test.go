package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/simulate"
)

// concerned says, in the words of Host.Touch, whether a watch of one path is about another path.
func concerned(watched, touched string, o events.Options) bool {
	inside := func(p, dir string) bool { return p != dir && (dir == "/" || strings.HasPrefix(p, dir+"/")) }
	switch {
	case watched == touched, inside(watched, touched):
		return true
	case o.Contents && path.Dir(touched) == watched && touched != watched:
		return true
	}
	return o.Recurse && inside(touched, watched)
}

// TestWatchesOfAHost plays watches, touches and ends on a host. Each watch hears of what concerns it, once for each touch, and its
// first cause stands for those that came before it was asked.
func TestWatchesOfAHost(t *testing.T) {
	paths := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/a/b/c", "/ab", "/a/bc", "/d", "/d/"})
	rapid.Check(t, func(t *rapid.T) {
		h := simulate.NewHost()
		type open struct {
			s      events.Subscription
			paths  []string
			o      events.Options
			merged int
			first  string
			resync bool
		}
		var all []*open
		t.Repeat(map[string]func(*rapid.T){
			"watch": func(t *rapid.T) {
				w := &open{paths: rapid.SliceOfN(paths, 1, 2).Draw(t, "paths"), o: events.Options{Contents: rapid.Bool().Draw(t, "contents"), Recurse: rapid.Bool().Draw(t, "recurse")}}
				s, err := h.Watch(context.Background(), w.paths, w.o)
				if err != nil {
					t.Fatal(err)
				}
				w.s = s
				all = append(all, w)
			},
			"touch": func(t *rapid.T) {
				p, n := paths.Draw(t, "path"), 0
				for _, w := range all {
					if slices.ContainsFunc(w.paths, func(watched string) bool { return concerned(path.Clean(watched), path.Clean(p), w.o) }) {
						if w.merged == 0 {
							w.first = p
						}
						w.merged++
						n++
					}
				}
				if got := h.Touch(p); got != n {
					t.Fatalf("%s wakes %d, want %d", p, got, n)
				}
			},
			"resync": func(t *rapid.T) {
				for _, w := range all {
					if w.merged == 0 {
						w.first = ""
					}
					w.merged++
					w.resync = true
				}
				if got := h.Resync(); got != len(all) {
					t.Fatalf("a resync wakes %d of %d", got, len(all))
				}
			},
			"ask": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("there is no watch")
				}
				w := rapid.SampledFrom(all).Draw(t, "watch")
				woken := false
				select {
				case <-w.s.C():
					woken = true
				default:
				}
				c := w.s.Cause()
				if woken != (w.merged > 0) || c.Merged != w.merged || c.Resync != w.resync || c.Path != w.first {
					t.Fatalf("woken %t by %+v, want %d from %q, resync %t", woken, c, w.merged, w.first, w.resync)
				}
				w.merged, w.first, w.resync = 0, "", false
			},
			"close": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("there is no watch")
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "watch")
				all[i].s.Close()
				all[i].s.Close()
				all = slices.Delete(all, i, i+1)
			},
			"": func(t *rapid.T) {
				if got := h.Subscriptions(); len(got) != len(all) {
					t.Fatalf("%v are open, want %d", got, len(all))
				}
			},
		})
	})
}

// TestEndsOfWatches: a context that ends closes a watch of paths. One of facts lasts until it is closed. A context that has ended opens none.
func TestEndsOfWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := simulate.NewHost()
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := h.Watch(ctx, []string{"/a"}, events.Options{}); err != nil {
			t.Fatal(err)
		}
		facts, err := h.WatchFacts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := h.SetFacts(engine.Facts{Hostname: "x"}); n != 1 || facts.Cause().Source != "facts" || h.Facts().Hostname != "x" {
			t.Errorf("new facts wake %d", n)
		}
		if n := h.Touch("/a"); n != 1 {
			t.Errorf("a path wakes %d", n)
		}
		if got := h.Subscriptions(); len(got) != 1 || !slices.Equal(got[0], []string{"/a"}) {
			t.Errorf("a watch of facts is among those of paths: %v", got)
		}
		cancel()
		synctest.Wait()
		if n, m := h.Touch("/a"), h.SetFacts(engine.Facts{}); n != 0 || m != 1 {
			t.Errorf("after the end a path wakes %d, and new facts %d", n, m)
		}
		if facts.Close(); h.SetFacts(engine.Facts{}) != 0 {
			t.Error("a watch of facts that was closed is woken")
		}
		for what, err := range map[string]error{"Watch": second(h.Watch(ctx, nil, events.Options{})), "WatchFacts": second(h.WatchFacts(ctx)), "Command": second(h.Command(ctx, engine.Command{Argv: []string{"x"}}))} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s after the end: %v", what, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestFaultsOfAHost: what a host refuses, with its words, and what it does when a test brings a part.
func TestFaultsOfAHost(t *testing.T) {
	ctx := context.Background()
	h := simulate.NewHost()
	if _, err := h.Watch(ctx, []string{"/a", "b"}, events.Options{}); err == nil || err.Error() != `watch "b": the path is not absolute` || len(h.Subscriptions()) > 0 {
		t.Errorf("a path that is not absolute: %v, %v", err, h.Subscriptions())
	}
	lost := errors.New("no watches are left")
	h.FailWatch(lost)
	if err := second(h.Watch(ctx, []string{"/a"}, events.Options{})); !errors.Is(err, lost) {
		t.Error(err)
	}
	h.FailWatch(nil)
	if err := second(h.Watch(ctx, []string{"/a"}, events.Options{})); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		argv []string
		run  func(context.Context, engine.Command) (*engine.Result, error)
		want string
	}{
		{nil, nil, "a command without a program"},
		{[]string{"nft", "list"}, nil, `command "nft": not found`},
		{[]string{"nft"}, func(context.Context, engine.Command) (*engine.Result, error) { return nil, lost }, lost.Error()},
		{[]string{"nft", "-a"}, func(_ context.Context, c engine.Command) (*engine.Result, error) {
			return &engine.Result{ExitCode: len(c.Argv)}, nil
		}, "<nil>"},
	} {
		h.SetCommand(c.run)
		r, err := h.Command(ctx, engine.Command{Argv: c.argv})
		if fmt.Sprint(err) != c.want || err == nil && r.ExitCode != len(c.argv) {
			t.Errorf("%v: %v, %v", c.argv, r, err)
		}
	}
	if got := h.Commands(); len(got) != 3 || got[0].Argv[0] != "nft" || len(got[2].Argv) != 2 {
		t.Errorf("the commands were %v", got)
	}
	if err := second(h.Bus(ctx, bus.System)); err == nil || !strings.Contains(err.Error(), "bus") {
		t.Error(err)
	}
	h.SetBus(func(context.Context, bus.Kind) (bus.Bus, error) { return nil, lost })
	if err := second(h.Bus(ctx, bus.System)); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, own := h.Clock().(*simulate.Clock); own {
		t.Error("a host has the clock of a test before it is given one")
	}
	c := simulate.NewClock()
	if h.SetClock(c); h.Clock() != clock.Clock(c) {
		t.Error("a host does not take its clock")
	}
	if h.SetClock(nil); h.Clock() != clock.Clock(clock.System{}) {
		t.Error("a host keeps a clock that was taken away")
	}
}

// TestDelivering: a wake-up is on its way from the change until its reader waits again, or ends. A change that the reader has made itself wakes
// nobody, and wake-ups that came together are one.
func TestDelivering(t *testing.T) {
	h := simulate.NewHost()
	var wakes uint64
	want := func(n int, more uint64) {
		t.Helper()
		got, now := h.Delivering()
		if got != n || now != wakes+more {
			t.Errorf("%d are woken, by %d more wake-ups; want %d by %d", got, now-wakes, n, more)
		}
		wakes = now
	}
	own := false
	a, errA := h.Watch(t.Context(), []string{"/a"}, events.Options{Own: events.OwnerFunc(func() bool { return own })})
	b, errB := h.Watch(t.Context(), []string{"/a", "/b"}, events.Options{})
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	want(0, 0)
	h.Touch("/a")
	want(2, 2)
	h.Touch("/a")
	want(2, 2)
	<-a.C()
	want(2, 0) // it acts on that
	h.Touch("/a")
	a.C()
	want(2, 2) // it has acted on the first one, and the next one is there
	<-a.C()
	a.C()
	want(1, 0)
	own = true
	h.Touch("/a")
	want(1, 1)
	b.Close()
	want(0, 0)
	h.Touch("/c")
	want(0, 0)
}
