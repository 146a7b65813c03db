package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// stock is where the things of the tests are; its providers note what they are asked.
type stock struct {
	mu     sync.Mutex
	things map[string]provider.Record
	log    []string
	open   int // providers that were made and not closed

	get   func() error                                     // fails a Get
	set   func(*provider.Runtime, []provider.Change) error // instead of the plain one
	watch func(ctx context.Context, armed func(), changed func(...provider.Name)) error
	stamp string
}

func newStock(names ...string) *stock {
	s := &stock{things: map[string]provider.Record{}}
	for _, n := range names {
		s.put(n, "1")
	}
	return s
}

func (s *stock) put(name, a string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things[name] = provider.Record{"ensure": "present", "name": name, "a": a}
}

func (s *stock) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// took returns what was noted since the last call.
func (s *stock) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log
	s.log = nil
	return l
}

// clerk is a provider without anything optional.
type clerk struct{ *stock }

func (s *stock) clerk() provider.Provider { return s.hire(clerk{s}) }

// hire counts a provider.
func (s *stock) hire(p provider.Provider) provider.Provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return p
}

func (c clerk) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	return nil
}

func (c clerk) Get(_ context.Context, _ *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		if f.All {
			c.note("get")
		} else {
			names := make([]string, len(f.Names))
			for i, n := range f.Names {
				names[i] = n.String()
			}
			slices.Sort(names)
			c.note("get %s", strings.Join(names, " "))
		}
		if c.get != nil {
			if err := c.get(); err != nil {
				yield(nil, err)
				return
			}
		}
		c.mu.Lock()
		list := slices.Sorted(maps.Keys(c.things))
		c.mu.Unlock()
		for _, n := range list {
			c.mu.Lock()
			rec := c.things[n]
			c.mu.Unlock()
			if (f.All || f.Has(provider.NameOf(n))) && !yield(rec, nil) {
				return
			}
		}
	}
}

func (c clerk) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	var titles []string
	for _, ch := range changes {
		titles = append(titles, ch.Title)
	}
	slices.Sort(titles)
	c.note("set %s", strings.Join(titles, " "))
	if c.set != nil {
		return c.set(rt, changes)
	}
	c.fulfil(changes...)
	return nil
}

// fulfil brings the changes about.
func (s *stock) fulfil(changes ...provider.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range changes {
		if ch.Should["ensure"] == "absent" {
			delete(s.things, ch.Name.String())
			continue
		}
		rec := provider.Record{}
		maps.Copy(rec, ch.Is.Record)
		maps.Copy(rec, ch.Should)
		s.things[ch.Name.String()] = rec
	}
}

// spy is a clerk that watches.
type spy struct{ clerk }

func (s spy) Watch(ctx context.Context, _ *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	return s.watch(ctx, armed, changed)
}

// stamped is a clerk with a stamp.
type stamped struct{ clerk }

func (s stamped) Stamp(context.Context, *provider.Runtime) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stamp, nil
}

func simple(features provider.Features) provider.Definition {
	return provider.Definition{
		Name: "rec", Doc: "A thing.", Features: features,
		Attributes: []provider.Attribute{
			{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether.", Default: "present", HasDefault: true},
			{Name: "name", Type: "String[1]", Doc: "Its name.", Role: provider.Namevar},
			{Name: "a", Type: "Optional[String]", Doc: "Some text."},
			{Name: "secret", Type: "Optional[String]", Doc: "A secret.", Sensitive: true},
		},
	}
}

// crew is some resources of one kind with their fakes, as the engine would have them.
type crew struct {
	t     *testing.T
	sh    engine.Shared
	res   []engine.Res
	fakes []*enginetest.Fake
	ended []error // what Watch returned
}

// newCrew makes resources of words name=a; a is not managed without the sign, and a
// name alone with a minus before it is to be absent.
func newCrew(t *testing.T, d provider.Definition, mk func() provider.Provider, words ...string) *crew {
	t.Helper()
	k, err := provider.New(d, mk)
	if err != nil {
		t.Fatal(err)
	}
	return crewOf(t, k, words...)
}

func crewOf(t *testing.T, k *provider.Kind, words ...string) *crew {
	t.Helper()
	c := &crew{t: t}
	for _, w := range words {
		name, a, managed := strings.Cut(w, "=")
		r := k.New()
		r.SetKind("rec")
		if rest, gone := strings.CutPrefix(name, "-"); gone {
			name = rest
			must(t, schema.Set(r, "ensure", "absent"))
		}
		r.SetName(name)
		if managed {
			must(t, schema.Set(r, "a", a))
		}
		must(t, r.Validate())
		if c.sh == nil {
			_, open := r.(engine.SharedRes).Shared()
			var err error
			c.sh, err = open(t.Context(), enginetest.NewHost())
			must(t, err)
		}
		f := enginetest.NewInit(t, enginetest.WithShared(c.sh))
		must(t, r.Init(f.Init()))
		c.res, c.fakes = append(c.res, r), append(c.fakes, f)
	}
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run is one CheckApplyBatch of all resources, in a transaction of its own.
func (c *crew) run(apply bool) []engine.Outcome {
	c.sh.Begin()
	defer c.sh.End()
	return c.check(apply, c.res...)
}

func (c *crew) check(apply bool, rs ...engine.Res) []engine.Outcome {
	return rs[0].(engine.Batcher).CheckApplyBatch(c.t.Context(), apply, rs)
}

// end lets all resources go, and closes what they share.
func (c *crew) end() {
	for _, r := range c.res {
		if err := r.Cleanup(); err != nil {
			c.t.Error(err)
		}
	}
	if err := c.sh.Close(); err != nil {
		c.t.Error(err)
	}
}

// watch starts the Watch of each resource, and returns what ends them.
func (c *crew) watch() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	c.ended = make([]error, len(c.res))
	for i, r := range c.res {
		wg.Go(func() { c.ended[i] = r.Watch(ctx) })
	}
	return func() { cancel(); wg.Wait() }
}

// woken returns which resources had an event since the last call.
func (c *crew) woken() []string {
	var names []string
	for i, f := range c.fakes {
		select {
		case <-f.Events():
			names = append(names, c.res[i].Name())
		default:
		}
	}
	return names
}

func wantLog(t *testing.T, s *stock, want ...string) {
	t.Helper()
	if got := s.took(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// wantOuts compares outcomes, written as ok, changed, or a part of the error.
func wantOuts(t *testing.T, got []engine.Outcome, want ...string) {
	t.Helper()
	for i, o := range got {
		word := "changed"
		switch {
		case o.Err != nil:
			word = o.Err.Error()
		case o.OK:
			word = "ok"
		}
		if i >= len(want) || !strings.Contains(word, want[i]) {
			t.Errorf("outcome %d is %q, want %q", i, word, want)
		}
	}
}

// TestOneGet: all resources are read at once, once in a transaction, and what is in
// order is left alone.
func TestOneGet(t *testing.T) {
	s := newStock("x", "y", "z")
	c := newCrew(t, simple(0), s.clerk, "x=1", "y", "-gone")
	defer c.end()
	c.sh.Begin()
	wantOuts(t, c.check(false, c.res[0]), "ok")
	wantOuts(t, c.check(true, c.res[1:]...), "ok", "ok")
	c.sh.End()
	wantLog(t, s, "get")
	wantOuts(t, c.run(false), "ok", "ok", "ok")
	wantLog(t, s, "get")
	if s.open != 0 {
		t.Errorf("%d providers were not closed", s.open)
	}
}

// TestByNames: with a filter those of all resources are asked for, not more; later only
// what is needed.
func TestByNames(t *testing.T) {
	s := newStock("x", "y", "z")
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=1", "y", "gone=1")
	defer c.end()
	c.sh.Begin()
	wantOuts(t, c.check(false, c.res[0]), "ok")
	wantOuts(t, c.check(false, c.res[1:]...), "ok", "changed")
	c.sh.End()
	wantLog(t, s, "get gone x y")
	c.sh.Begin()
	wantOuts(t, c.check(false, c.res[1]), "ok")
	c.sh.End()
	wantLog(t, s, "get y")
}

// TestSetIsRead: what Set has changed is read again at once: by name, or else with all.
func TestSetIsRead(t *testing.T) {
	s := newStock("x", "y")
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=2", "-y", "z=1")
	wantOuts(t, c.run(true), "changed", "changed", "changed")
	wantLog(t, s, "get x y z", "set x y z", "get x y z")
	wantOuts(t, c.run(true), "ok", "ok", "ok")
	c.end()

	s = newStock("x", "y")
	c = newCrew(t, simple(0), s.clerk, "x=2", "-y", "z=1")
	defer c.end()
	c.sh.Begin()
	wantOuts(t, c.check(true, c.res[0]), "changed")
	wantOuts(t, c.check(true, c.res[1:]...), "changed", "changed")
	wantLog(t, s, "get", "set x", "get", "set y z", "get")
	c.sh.End()
	wantLog(t, s)
}

// TestUnverified: a type whose changes take time is believed.
func TestUnverified(t *testing.T) {
	s := newStock()
	s.set = func(*provider.Runtime, []provider.Change) error { return nil }
	c := newCrew(t, simple(provider.Unverified), s.clerk, "x=2")
	defer c.end()
	wantOuts(t, c.run(true), "changed")
	wantLog(t, s, "get", "set x")
}

// TestFindingE6NotBelieved: a Set that has not done it has failed at once, also where things
// can't be read by name.
func TestFindingE6NotBelieved(t *testing.T) {
	for _, f := range []provider.Features{provider.SimpleGetFilter, 0} {
		s := newStock("x")
		s.set = func(*provider.Runtime, []provider.Change) error { return nil }
		c := newCrew(t, simple(f), s.clerk, "x=2", "-y")
		wantOuts(t, c.run(true), `Set reported success, but a is "1" and not "2"`, "ok")
		c.end()
	}
}

// TestAFailedSet: those that it has marked are done, the others have failed, and one
// that it has called failed has failed whatever it returns.
func TestAFailedSet(t *testing.T) {
	s := newStock("x", "y", "z")
	s.set = func(rt *provider.Runtime, changes []provider.Change) error {
		for _, ch := range changes {
			switch ch.Title {
			case "x":
				s.fulfil(ch)
				rt.Log.Updated("x")
			case "y":
				rt.Log.Failed("y", "no such shelf")
			}
		}
		return errors.New("the ladder broke")
	}
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=2", "y=2", "z=2")
	defer c.end()
	wantOuts(t, c.run(true), "changed", "no such shelf", "the ladder broke")
	s.set = func(rt *provider.Runtime, changes []provider.Change) error {
		rt.Log.Failed("y", "no such shelf")
		s.fulfil(changes...)
		return nil
	}
	wantOuts(t, c.run(true), "ok", "no such shelf", "changed")
}

// TestUnavailable: after a Get that failed nobody asks again before a pause is over that
// grows with each; then the watch does, and wakes all when it has succeeded.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y")
		s.get = func() error { return errors.New("the shelf is locked") }
		c := newCrew(t, simple(0), s.clerk, "x=1", "y=1")
		defer c.end()
		defer c.watch()()
		synctest.Wait()
		begin := time.Now()
		wantOuts(t, c.run(true), "the type rec is unavailable: the shelf is locked", "the type rec is unavailable")
		for range 5 {
			wantOuts(t, c.run(true), "the shelf is locked", "the shelf is locked")
		}
		wantLog(t, s, "get")
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		wantLog(t, s, "get", "get") // after one second, and two more
		s.mu.Lock()
		s.get = nil
		s.mu.Unlock()
		c.woken()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := c.woken(); len(got) != 2 {
			t.Errorf("woken: %v after %s", got, time.Since(begin))
		}
		wantLog(t, s, "get")
		wantOuts(t, c.run(true), "ok", "ok")
	})
}

// TestUnavailableWakesTheOthers: who has seen that a type is unavailable, or that it is
// there again, is not woken by that.
func TestUnavailableWakesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y")
		c := newCrew(t, simple(0), s.clerk, "x=1", "y=1")
		defer c.end()
		wantOuts(t, c.run(true), "ok", "ok")
		for _, want := range []string{"the shelf is locked", "ok"} {
			s.get = nil
			if want != "ok" {
				s.get = func() error { return errors.New(want) }
			}
			c.sh.Begin()
			wantOuts(t, c.check(true, c.res[0]), want)
			c.sh.End()
			stop := c.watch() // it tells of what came before
			synctest.Wait()
			stop()
			if got := c.woken(); !slices.Equal(got, []string{"y"}) {
				t.Errorf("%s: woken: %v", want, got)
			}
			time.Sleep(time.Second) // it may be asked again
		}
	})
}

// TestPoll: without a Watcher all is read now and then, and only those are woken whose
// record is another one; with a stamp it is read only where that is another one.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y", "other")
		d := simple(0)
		d.Poll = 10 * time.Second
		c := newCrew(t, d, s.clerk, "x=1", "y=1")
		defer c.end()
		defer c.watch()()
		wantOuts(t, c.run(true), "ok", "ok")
		s.took()
		s.put("y", "2")
		s.put("other", "2")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if got := c.woken(); !slices.Equal(got, []string{"y"}) {
			t.Errorf("woken: %v", got)
		}
		wantLog(t, s, "get")
		c.sh.Begin()
		wantOuts(t, c.check(true, c.res[1]), "changed") // by the record that woke it
		c.sh.End()
		wantLog(t, s, "set y", "get")
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		d := simple(0)
		d.Poll = 10 * time.Second
		c := newCrew(t, d, func() provider.Provider { return s.hire(stamped{clerk{s}}) }, "x=1")
		defer c.end()
		defer c.watch()()
		wantOuts(t, c.run(true), "ok")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		s.took()
		time.Sleep(time.Minute)
		synctest.Wait()
		wantLog(t, s)
		s.put("x", "2")
		s.mu.Lock()
		s.stamp = "another"
		s.mu.Unlock()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		wantLog(t, s, "get")
		if got := c.woken(); len(got) != 1 {
			t.Errorf("woken: %v", got)
		}
	})
}

// TestWatch: a resource is running when the Watcher is armed; its news wake whom they
// concern; its end is that of the resources' Watch.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y")
		news, broken, arm := make(chan []provider.Name), make(chan error), make(chan struct{})
		s.watch = func(ctx context.Context, armed func(), changed func(...provider.Name)) error {
			<-arm
			armed()
			for {
				select {
				case n := <-news:
					changed(n...)
				case err := <-broken:
					return err
				case <-ctx.Done():
					return nil
				}
			}
		}
		c := newCrew(t, simple(provider.SimpleGetFilter), func() provider.Provider { return s.hire(spy{clerk{s}}) }, "x=1", "y=1")
		defer c.end()
		stop := c.watch()
		synctest.Wait()
		if n := c.fakes[0].RunningCount(); n != 0 {
			t.Error("running, and not armed")
		}
		close(arm)
		synctest.Wait()
		if n := c.fakes[0].RunningCount(); n != 1 {
			t.Error("not running")
		}
		wantOuts(t, c.run(true), "ok", "ok")
		s.took()
		s.put("x", "2")
		news <- []provider.Name{provider.NameOf("x"), provider.NameOf("foreign")}
		synctest.Wait()
		if got := c.woken(); !slices.Equal(got, []string{"x"}) {
			t.Errorf("woken: %v", got)
		}
		wantLog(t, s, "get x")
		news <- []provider.Name{provider.NameOf("y")}
		synctest.Wait()
		wantLog(t, s, "get y")
		if got := c.woken(); got != nil {
			t.Errorf("woken: %v", got)
		}
		broken <- errors.New("the spy was seen")
		synctest.Wait()
		stop()
		for _, err := range c.ended {
			if err == nil || err.Error() != "the spy was seen" {
				t.Errorf("Watch returned %v", err)
			}
		}
	})
}

// TestOwnChangesWakeNobody: what Set has changed is no news.
func TestOwnChangesWakeNobody(t *testing.T) {
	for _, features := range []provider.Features{0, provider.SimpleGetFilter} {
		synctest.Test(t, func(t *testing.T) {
			s := newStock("x", "y")
			d := simple(features)
			d.Poll = 10 * time.Second
			c := newCrew(t, d, s.clerk, "x=2", "y=1", "z=1")
			defer c.end()
			defer c.watch()()
			wantOuts(t, c.run(true), "changed", "ok", "changed")
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := c.woken(); got != nil {
				t.Errorf("woken: %v", got)
			}
		})
	}
}

// TestWrongRecords: a record that is not as the definition says fails its resource, a
// list that can't be sorted all of them.
func TestWrongRecords(t *testing.T) {
	for _, tt := range []struct {
		name string
		rec  provider.Record
		want string
	}{
		{"type", provider.Record{"name": "x", "a": int64(1)}, "a value that does not fit: rec.a expects"},
		{"attribute", provider.Record{"name": "x", "aa": "1"}, `an attribute "aa", which a rec does not have (did you mean "a"?)`},
		{"secret", provider.Record{"name": "x", "secret": int64(7)}, "rec.secret expects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStock("y")
			s.things["x"] = tt.rec
			c := newCrew(t, simple(0), s.clerk, "x", "y=1")
			defer c.end()
			wantOuts(t, c.run(true), tt.want, "ok")
		})
	}
	for _, tt := range []struct {
		name string
		rec  provider.Record
		want string
	}{
		{"nameless", provider.Record{"a": "1"}, "record 1 of Get: it has no name, which is a namevar"},
		{"nil", nil, "record 1 of Get: it is nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStock("y")
			s.things["x"] = tt.rec
			c := newCrew(t, simple(0), s.clerk, "x", "y=1")
			defer c.end()
			wantOuts(t, c.run(true), tt.want, "unavailable")
		})
	}
	t.Run("twice", func(t *testing.T) {
		s := newStock("x", "y")
		s.things["z"] = provider.Record{"name": "x"}
		c := newCrew(t, simple(0), s.clerk, "x", "y=1")
		defer c.end()
		wantOuts(t, c.run(true), "Get has returned x twice", "ok")
	})
}

// TestPanics: a panic of Get is an outage, one of Set fails the call.
func TestPanics(t *testing.T) {
	s := newStock("x")
	s.set = func(*provider.Runtime, []provider.Change) error { panic("ouch") }
	c := newCrew(t, simple(0), s.clerk, "x=2", "y=1")
	wantOuts(t, c.run(true), "Set panicked: ouch", "Set panicked: ouch")
	c.end()
	s.get = func() error { panic("ouch") }
	c = newCrew(t, simple(0), s.clerk, "x=2", "y=1")
	defer c.end()
	wantOuts(t, c.run(true), "Get panicked: ouch", "unavailable")
}

// TestInputIsProtected: a Set that alters what it is given fails, and alters nothing
// for anybody else.
func TestInputIsProtected(t *testing.T) {
	s := newStock("x")
	s.set = func(_ *provider.Runtime, changes []provider.Change) error {
		s.fulfil(changes...)
		changes[0].Should["a"] = "3"
		return nil
	}
	c := newCrew(t, simple(provider.SimpleGetFilter), s.clerk, "x=2")
	defer c.end()
	wantOuts(t, c.run(true), "Set has altered what it was given: what should be")
	if a, _ := schema.Get(c.res[0], "a"); a != "2" {
		t.Errorf("a is %v", a)
	}
}

// TestASetThatHangs: it ends with its context, and so do those that wait for their
// turn.
func TestASetThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x", "y")
		ctx, cancel := context.WithCancelCause(t.Context())
		s.set = func(*provider.Runtime, []provider.Change) error { <-ctx.Done(); return context.Cause(ctx) }
		c := newCrew(t, simple(0), s.clerk, "x=2", "y=2")
		defer c.end()
		var wg sync.WaitGroup
		c.sh.Begin()
		for _, r := range c.res {
			wg.Go(func() {
				_, err := r.CheckApply(ctx, true)
				if err == nil || !strings.Contains(err.Error(), "told to end") {
					t.Errorf("the error is %v", err)
				}
			})
		}
		synctest.Wait()
		cancel(errors.New("told to end"))
		wg.Wait()
		c.sh.End()
	})
}

// TestAlone: a resource that shares nothing, as the child of another, works by itself.
func TestAlone(t *testing.T) {
	s := newStock("x")
	k, err := provider.New(simple(0), s.clerk)
	must(t, err)
	r := k.New()
	r.SetKind("rec")
	r.SetName("x")
	must(t, schema.Set(r, "a", "2"))
	must(t, r.Validate())
	f := enginetest.NewInit(t)
	must(t, r.Init(f.Init()))
	ok, err := r.CheckApply(t.Context(), true)
	if ok || err != nil {
		t.Error(ok, err)
	}
	ok, err = r.CheckApply(t.Context(), true)
	if !ok || err != nil {
		t.Error(ok, err)
	}
	must(t, r.Cleanup())
	if s.open != 0 {
		t.Errorf("%d providers were not closed", s.open)
	}
}

// TestSends: what a thing is can be received by others.
func TestSends(t *testing.T) {
	s := newStock("x")
	s.things["x"]["secret"] = "psst"
	c := newCrew(t, simple(0), s.clerk, "x")
	defer c.end()
	wantOuts(t, c.run(true), "ok")
	v, err := schema.Encode(c.fakes[0].Sent())
	must(t, err)
	m := v.(map[string]any)
	if m["a"] != "1" || m["name"] != "x" || !schema.Equal(m["secret"], schema.NewSecret("psst")) {
		t.Errorf("%v", m)
	}
	if _, ok := m["secret"].(schema.Secret); !ok {
		t.Errorf("the secret is sent as a %T", m["secret"])
	}
}

// located is a clerk whose things are in files.
type located struct {
	clerk
	dir string
}

func (l located) Files(wanted provider.Record) []string {
	return []string{l.dir + "/" + wanted["name"].(string)}
}

// finding is a clerk that looks for the files of its things.
type finding struct{ located }

func (finding) Files(provider.Record) []string { return nil }

func (f finding) SearchFiles(wanted provider.Record) []string { return f.located.Files(wanted) }

// TestLocator: a change of the file that a thing is in is seen at once, and concerns its
// resource alone.
func TestLocator(t *testing.T) {
	for _, hire := range []func(located) provider.Provider{
		func(l located) provider.Provider { return l.clerk.hire(l) },
		func(l located) provider.Provider { return l.clerk.hire(finding{l}) },
	} {
		testLocator(t, hire)
	}
}

func testLocator(t *testing.T, hire func(located) provider.Provider) {
	t.Helper()
	s := newStock("x", "y")
	d := simple(provider.SimpleGetFilter)
	c := newCrew(t, d, func() provider.Provider { return hire(located{clerk{s}, "/things"}) }, "x=1", "y=1")
	defer c.end()
	defer c.watch()()
	for _, f := range c.fakes {
		f.WaitRunning(t)
	}
	wantOuts(t, c.run(true), "ok", "ok")
	s.took()
	s.put("x", "2")
	s.put("y", "2") // which no file tells
	c.fakes[0].Host().Touch("/things/x")
	c.fakes[0].WaitEvent(t)
	if got := c.woken(); got != nil {
		t.Errorf("woken too: %v", got)
	}
	wantLog(t, s, "get x")
}

// TestMissing: a resource that has failed because a folder is missing is woken when it
// comes, though the thing is as absent as before; also while it still runs. Another
// failure is no reason.
func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		fail   func(*provider.Runtime) error
		during bool
		want   []string
	}{
		"returned": {func(*provider.Runtime) error {
			return &fs.PathError{Op: "open", Path: "/things/x", Err: fs.ErrNotExist}
		}, false, []string{"x"}},
		"logged":     {func(rt *provider.Runtime) error { rt.Log.FailedBy("x", syscall.ENOTDIR); return nil }, false, []string{"x"}},
		"meanwhile":  {func(*provider.Runtime) error { return fs.ErrNotExist }, true, []string{"x"}},
		"other":      {func(*provider.Runtime) error { return errors.New("no luck") }, false, nil},
		"other then": {func(*provider.Runtime) error { return errors.New("no luck") }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStock()
				c := newCrew(t, simple(provider.SimpleGetFilter), func() provider.Provider { return s.hire(located{clerk{s}, "/things"}) }, "x=1")
				defer c.end()
				defer c.watch()()
				synctest.Wait()
				s.set = func(rt *provider.Runtime, _ []provider.Change) error {
					if test.during {
						c.fakes[0].Host().Touch("/things/x")
						synctest.Wait()
					}
					return test.fail(rt)
				}
				c.run(true)
				if !test.during {
					c.fakes[0].Host().Touch("/things/x")
				}
				synctest.Wait()
				if got := c.woken(); !slices.Equal(got, test.want) {
					t.Errorf("woken: %v, want %v", got, test.want)
				}
			})
		})
	}
}

// TestWrongThings: an error about one thing fails its resource alone.
func TestWrongThings(t *testing.T) {
	s := newStock("x", "y")
	bad := func() provider.Provider { return s.hire(spoiled{clerk{s}}) }
	c := newCrew(t, simple(0), bad, "x=1", "y=1")
	wantOuts(t, c.run(true), "x is damaged", "ok")
	wantOuts(t, c.run(true), "x is damaged", "ok") // and nobody waits for a pause to be over
	c.end()
	c = newCrew(t, simple(provider.Find), bad, "x=1", "y=1")
	defer c.end()
	wantOuts(t, c.run(true), "x is damaged", "ok")
}

// spoiled is a clerk that can't read the thing x.
type spoiled struct{ clerk }

func (s spoiled) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		for rec, err := range s.clerk.Get(ctx, rt, f) {
			if err == nil && rec["name"] == "x" {
				err = errors.New("x is damaged")
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (s spoiled) Find(_ context.Context, _ *provider.Runtime, n provider.Name) (provider.Record, bool, error) {
	if n == provider.NameOf("x") {
		return nil, false, errors.New("x is damaged")
	}
	return s.things[n.String()], true, nil
}

// TestAGetThatHangs: it is ended after a while, and that is an outage.
func TestAGetThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStock("x")
		c := newCrew(t, simple(provider.Find), func() provider.Provider { return s.hire(stuck{clerk{s}}) }, "x=1")
		defer c.end()
		begin := time.Now()
		wantOuts(t, c.run(true), "reading has not ended after 5m0s")
		if d := time.Since(begin); d != 5*time.Minute {
			t.Errorf("after %s", d)
		}
	})
}

// TestCommandsThatHang: how long commands may read is what their definition says.
func TestCommandsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for timeout, want := range map[time.Duration]time.Duration{0: provider.DefaultTimeout, time.Hour: time.Hour, time.Second: time.Second} {
			x := &provider.External{Get: []string{"/bin/get"}, Set: []string{"/bin/set"}, Timeout: timeout}
			c := newCrew(t, simple(0), x.New, "x=1")
			c.fakes[0].Host().SetCommand(func(ctx context.Context, _ engine.Command) (*engine.Result, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
			begin := time.Now()
			wantOuts(t, c.run(true), fmt.Sprintf("the get command of rec (/bin/get): it has not ended within %s", want))
			if d := time.Since(begin); d != want {
				t.Errorf("after %s, not %s", d, want)
			}
			c.end()
		}
	})
}

// stuck is a clerk that finds nothing before its context ends.
type stuck struct{ clerk }

func (s stuck) Find(ctx context.Context, _ *provider.Runtime, _ provider.Name) (provider.Record, bool, error) {
	<-ctx.Done()
	return nil, false, context.Cause(ctx)
}

// The engine tells of a change, so the log of a provider does not tell of it again; of
// what went wrong, and in its own words, it does.
func TestFindingD10ChangesAreLoggedOnce(t *testing.T) {
	s := newStock("x")
	s.set = func(rt *provider.Runtime, changes []provider.Change) error {
		err := rt.Log.Updating("x", func() error {
			rt.Log.AttributeChanged("v", 1, 2, provider.Of("x"))
			return nil
		})
		s.fulfil(changes...)
		return err
	}
	c := newCrew(t, simple(0), s.clerk, "x=2")
	defer c.end()
	wantOuts(t, c.run(true), "changed")
	if logs := c.fakes[0].Logs(); len(logs) > 0 {
		t.Errorf("the log has %q", logs)
	}
}

// TestFindingD10CreatedShowsValues: a thing that is created is told with the values that it
// gets, and a sensitive value is not shown.
func TestFindingD10CreatedShowsValues(t *testing.T) {
	c := newCrew(t, simple(0), newStock().clerk, "x=1", "y")
	defer c.end()
	must(t, schema.Set(c.res[0], "secret", schema.NewSecret("canary")))
	wantOuts(t, c.run(true), "changed", "changed")
	for i, want := range []string{`[created a: (none) -> "1" secret: (none) -> (secret)]`, "[created]"} {
		if got := fmt.Sprint(c.fakes[i].Changes()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLogsWhereTheyBelong: what a provider says of one resource of a batch is in the log
// of that one.
func TestLogsWhereTheyBelong(t *testing.T) {
	s := newStock("x", "y", "z")
	s.set = func(rt *provider.Runtime, changes []provider.Change) error {
		for _, ch := range changes {
			rt.Log.Info("at work", provider.Of(ch.Title))
			rt.Log.Updated(ch.Title)
		}
		s.fulfil(changes...)
		return nil
	}
	c := newCrew(t, simple(0), s.clerk, "x=2", "y=2", "z=2")
	defer c.end()
	wantOuts(t, c.run(true), "changed", "changed", "changed")
	for i, f := range c.fakes {
		logs := strings.Join(f.Logs(), "\n")
		if name := c.res[i].Name(); !strings.Contains(logs, "title="+name) || strings.Count(logs, "title=") != 1 {
			t.Errorf("the log of %s is\n%s", name, logs)
		}
	}
}
