package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"pgregory.net/rapid"
)

// TestClockNeverGoesBack: a timer may move the clock as well, further than the Advance that called
// it. Neither the end of that Advance nor a negative one takes the time back.
func TestClockNeverGoesBack(t *testing.T) {
	c := NewClock()
	begin := c.Now()
	late := false
	c.AfterFunc(time.Second, func() { c.Advance(time.Minute) })
	c.AfterFunc(30*time.Second, func() { late = true })
	c.Advance(2 * time.Second)
	if got := c.Now().Sub(begin); got != 61*time.Second || !late {
		t.Errorf("the clock stands at %s, want 1m1s; the later timer was called: %t", got, late)
	}
	c.Advance(-time.Hour)
	if got := c.Now().Sub(begin); got != 61*time.Second {
		t.Errorf("after a negative Advance the clock stands at %s, want 1m1s", got)
	}
}

// TestClockNext: Next is the earliest timer that is set, in whatever order they were set, and an
// Advance up to it calls it.
func TestClockNext(t *testing.T) {
	c := NewClock()
	if at, ok := c.Next(); ok {
		t.Errorf("a new clock has a timer at %s", at)
	}
	begin, called := c.Now(), 0
	for _, d := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		c.AfterFunc(d, func() { called++ })
	}
	for i := range 3 {
		at, ok := c.Next()
		if want := time.Duration(i+1) * time.Second; !ok || at.Sub(begin) != want {
			t.Fatalf("timer %d is at %s, %t; want %s", i, at.Sub(begin), ok, want)
		}
		if c.Advance(at.Sub(c.Now()) - 1); called != i {
			t.Errorf("timer %d was called too early", i)
		}
		if c.Advance(1); called != i+1 {
			t.Errorf("timer %d was not called at its time", i)
		}
	}
	if _, ok := c.Next(); ok {
		t.Error("a timer is left, and all were called")
	}
}

// due is a timer of the model.
type due struct {
	id int
	at time.Duration // since the beginning
}

// TestClockModel plays random steps on a clock and on a sorted list of timers. Both call the same
// timers in the same order, and agree on which of them could be stopped.
func TestClockModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewClock()
		begin := c.Now()
		var model []due
		var now time.Duration
		var stops []func() bool
		var got, want []string
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id, d := len(stops), time.Duration(rapid.IntRange(-2, 5).Draw(t, "in"))*time.Second
				stops = append(stops, c.AfterFunc(d, func() { got = append(got, fmt.Sprint(id, " ", c.Now().Sub(begin))) }))
				model = append(model, due{id, now + d})
			},
			"stop": func(t *rapid.T) {
				if len(stops) == 0 {
					t.Skip("no timer yet")
				}
				id := rapid.IntRange(0, len(stops)-1).Draw(t, "timer")
				is := slices.IndexFunc(model, func(d due) bool { return d.id == id })
				if stopped := stops[id](); stopped != (is >= 0) {
					t.Fatalf("stop of timer %d: %t", id, stopped)
				}
				if is >= 0 {
					model = slices.Delete(model, is, is+1)
				}
			},
			"advance": func(t *rapid.T) {
				d := time.Duration(rapid.IntRange(0, 4).Draw(t, "by")) * time.Second
				c.Advance(d)
				slices.SortStableFunc(model, func(a, b due) int { return int(a.at - b.at) })
				for len(model) > 0 && model[0].at <= now+d {
					want = append(want, fmt.Sprint(model[0].id, " ", max(now, model[0].at)))
					model = model[1:]
				}
				now += d
			},
			"": func(t *rapid.T) {
				if !slices.Equal(got, want) || c.Now().Sub(begin) != now {
					t.Fatalf("called %v at %s, want %v at %s", got, c.Now().Sub(begin), want, now)
				}
			},
		})
	})
}

// TestSleepers: the clock knows who sleeps by it. A sleeper whose timer or context has ended is awake.
func TestSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		type key struct{}
		one, end := context.WithCancel(context.WithValue(context.Background(), key{}, "one"))
		two := context.WithValue(context.Background(), key{}, "two")
		want := func(names ...string) {
			t.Helper()
			var got []string
			for _, ctx := range c.Sleepers() {
				got = append(got, ctx.Value(key{}).(string))
			}
			if slices.Sort(got); !slices.Equal(got, names) {
				t.Errorf("%q sleep, want %q", got, names)
			}
		}
		var errs [2]error
		for i, ctx := range []context.Context{one, two} {
			go func() { errs[i] = clock.Sleep(ctx, c, time.Minute) }()
		}
		synctest.Wait()
		want("one", "two")
		end()
		want("two")
		c.Advance(time.Minute)
		synctest.Wait()
		want()
		if !errors.Is(errs[0], context.Canceled) || errs[1] != nil || c.Waking() != 0 || len(c.asleep) != 0 {
			t.Errorf("%v; %d timers and %d sleepers are left", errs, c.Waking(), len(c.asleep))
		}
	})
}
