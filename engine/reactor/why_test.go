package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
)

// lastRun returns the last run of a vertex.
func (rg *rig) lastRun(name string) reactor.Run {
	rg.t.Helper()
	synctest.Wait()
	runs := rg.runs(name)
	if len(runs) == 0 {
		rg.t.Fatalf("%s was not run", name)
	}
	return runs[len(runs)-1]
}

// triggers writes what asked for a run, and its class, on one line.
func triggers(r reactor.Run) string {
	var list []string
	for _, t := range r.Triggers {
		s := string(t.Cause)
		if t.From != "" {
			s += " " + t.From
		}
		if t.Field != "" {
			s += "." + t.Field
		}
		if t.Path != "" {
			s += " " + t.Source + ":" + t.Path
		}
		if t.Merged > 1 {
			s += fmt.Sprintf(" x%d", t.Merged)
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ") + ": " + r.Class.String()
}

func (rg *rig) wantWhy(name, want string) reactor.Run {
	rg.t.Helper()
	run := rg.lastRun(name)
	if got := triggers(run); got != want {
		rg.t.Errorf("%s was run by %s, want %s", name, got, want)
	}
	return run
}

// TestWhy: every cause of a run is told, with the run that caused it.
func TestWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{Sweep: 24 * time.Hour})
		defer rg.close()
		w := newWorld()
		src, tick := drifting(w, same("wrong"))
		defer close(tick)
		fails := false
		dst := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
			if fails {
				fails = false
				return false, errors.New("no")
			}
			return true, nil
		}}
		dst.MetaParams().Retry, dst.MetaParams().Delay = 9, time.Minute
		polled := &fake{w: w}
		polled.MetaParams().Poll = time.Hour
		rg.swap(newDecl(t).add("src", src).add("dst", dst).add("polled", polled).edges("src!dst"))
		synctest.Wait()
		first := rg.wantWhy("src", "graph: intended")
		rg.wantWhy("polled", "graph: intended")
		if run := rg.wantWhy("dst", "graph, refresh fake[src]: intended"); run.Triggers[1].Run != first.ID || run.Generation != 1 {
			t.Errorf("by run %d, want %d", run.Triggers[1].Run, first.ID)
		}
		fails = true
		tick <- struct{}{}
		by := rg.wantWhy("src", "event: corrective")
		failed := rg.wantWhy("dst", "refresh fake[src]: cascade")
		if failed.Triggers[0].Run != by.ID || failed.State != resgraph.StateFailed {
			t.Errorf("%+v, want it by run %d", failed, by.ID)
		}
		time.Sleep(2 * time.Minute)
		rg.wantWhy("dst", "retry: cascade")
		time.Sleep(64 * time.Minute)
		rg.wantWhy("polled", "poll: corrective")
		time.Sleep(26 * time.Hour)
		rg.wantWhy("dst", "sweep: corrective")
		if err := rg.r.Pause(t.Context(), reactor.Pause{}); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			tick <- struct{}{}
			synctest.Wait()
		}
		if err := rg.r.Resume(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		run := rg.wantWhy("src", "event x5: corrective")
		if run.Waited != 0 {
			t.Errorf("it waited %s", run.Waited)
		}
	})
}

// TestWhyValue: the value that led to a run is named by its field.
func TestWhyValue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		from, tick := ticker(w)
		n := 0
		s := &sender{fake: *from}
		s.check = func(_ context.Context, f *fake, _ bool) (bool, error) {
			n++
			return true, f.init.Send(&sends{Out: fmt.Sprint(n)})
		}
		rg.swap(newDecl(t).add("s", s).add("r", &fake{w: w}, "want=fake[s].out").edges("s>r"))
		rg.rest()
		rg.wantWhy("r", "graph, value fake[s].want: intended")
		tick <- struct{}{}
		up := rg.wantWhy("s", "event: corrective")
		if run := rg.wantWhy("r", "value fake[s].want: cascade"); run.Triggers[0].Run != up.ID {
			t.Errorf("by run %d, want %d", run.Triggers[0].Run, up.ID)
		}
	})
}

// causeHost is a Host whose subscriptions tell what a test wants.
type causeHost struct {
	nullHost
	wake  chan struct{}
	cause events.Cause
}

func (h *causeHost) Watch(context.Context, []string, events.Options) (events.Subscription, error) {
	return h, nil
}
func (h *causeHost) C() <-chan struct{} { return h.wake }
func (h *causeHost) Close()             {}
func (h *causeHost) Cause() events.Cause {
	c := h.cause
	h.cause = events.Cause{}
	return c
}

// TestWhyCause: what a subscription knows of an event is told, also if the
// resource asks for it itself, who gets all of it too.
func TestWhyCause(t *testing.T) {
	for _, asks := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			h := &causeHost{wake: make(chan struct{})}
			rg := newRig(t, reactor.Options{Host: h})
			defer rg.close()
			w := newWorld()
			var told []events.Cause
			f := &fake{w: w, watch: func(ctx context.Context, f *fake) error {
				sub, err := f.init.Host.Watch(ctx, []string{"/x"}, events.Options{})
				if err != nil {
					return err
				}
				defer sub.Close()
				f.init.Running()
				for {
					select {
					case <-sub.C():
						if asks {
							told = append(told, sub.Cause())
						}
						f.init.Event()
					case <-ctx.Done():
						return nil
					}
				}
			}}
			rg.swap(newDecl(t).add("a", f))
			rg.rest()
			h.cause = events.Cause{Source: "inotify", Path: "/x", Merged: 3}
			h.wake <- struct{}{}
			rg.wantWhy("a", "event inotify:/x x3: corrective")
			if asks && (len(told) != 1 || told[0].Merged != 3) {
				t.Errorf("the resource was told %v", told)
			}
		})
	}
}

// watching is the Watch of a fake that is woken by paths.
func watching(own func() bool, paths ...string) func(context.Context, *fake) error {
	return func(ctx context.Context, f *fake) error {
		var o events.Options
		if own != nil {
			o.Own = events.OwnerFunc(own)
		}
		sub, err := f.init.Host.Watch(ctx, paths, o)
		if err != nil {
			return err
		}
		defer sub.Close()
		f.init.Running()
		for {
			select {
			case <-sub.C():
				f.init.Event()
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// TestWhyCulprit: who made an event is told, without secrets. Of several the last one counts who
// altered the same path. An event that the run of another vertex made is from that one, and tells of
// no process.
func TestWhyCulprit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := simulate.NewHost()
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		w := newWorld()
		var wrote bool
		free := make(chan struct{}, 1)
		resource := func(own func() bool, paths ...string) *fake {
			return &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) {
				free <- struct{}{}
				<-free
				return true, nil
			}, watch: watching(own, paths...)}
		}
		rg.swap(newDecl(t).add("part", resource(func() bool { return wrote }, "/d/part")).add("whole", resource(nil, "/d/part", "/d/whole")))
		rg.rest()
		vi, sed := &provenance.Culprit{PID: 7, Program: "/usr/bin/vi", User: "root"}, &provenance.Culprit{PID: 8, Program: "/bin/sed"}
		for _, c := range []struct {
			name  string
			touch func()
			want  string
			by    *provenance.Culprit
		}{
			{"nothing is known", func() { h.Touch("/d/whole") }, "event fake:/d/whole: corrective", nil},
			{"one", func() { h.TouchBy("/d/whole", vi) }, "event fake:/d/whole: corrective", vi},
			{"the last one", func() { h.TouchBy("/d/whole", vi); h.TouchBy("/d/whole", sed) }, "event fake:/d/whole x2: corrective", sed},
			{"another path", func() { h.TouchBy("/d/whole", vi); h.TouchBy("/d/part", sed) }, "event fake:/d/whole x2: corrective", vi},
			{"lost", func() { h.TouchBy("/d/whole", vi); h.Resync() }, "event fake:/d/whole x2: corrective", vi},
			{"the run of another vertex", func() { wrote = true; h.TouchBy("/d/part", vi); wrote = false }, "event fake[part] fake:/d/part: ", nil},
			{"that, and a stranger", func() {
				wrote = true
				h.TouchBy("/d/part", vi)
				wrote = false
				h.TouchBy("/d/whole", sed)
			}, "event fake:/d/whole x2: corrective", sed},
		} {
			free <- struct{}{}
			h.Touch("/d/whole") // its run goes on while c happens
			synctest.Wait()
			c.touch()
			synctest.Wait()
			<-free
			run := rg.lastRun("whole")
			if got := triggers(run); !strings.HasPrefix(got, c.want) || !reflect.DeepEqual(run.By(), c.by) {
				t.Errorf("%s: %s, by %v", c.name, got, run.By())
			}
		}
	})
}

// TestFindingQ6LateEvent: the event of a write that a vertex has seen already comes late, after a stranger has altered its thing. The
// stranger is the cause of its change.
func TestFindingQ6LateEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := simulate.NewHost()
		rg := newRig(t, reactor.Options{Host: h, Sweep: -1})
		defer rg.close()
		w, part, whole := newWorld(), "", ""
		resource := func(own func() bool, path string, is func(*fake) (*string, string)) *fake {
			return &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
				thing, want := is(f)
				ok := *thing == want
				if apply {
					*thing = want
				}
				return ok, nil
			}, watch: watching(own, path)}
		}
		own := true
		declare := func(want string) {
			p := resource(func() bool { return own }, "/d/part", func(f *fake) (*string, string) { return &part, f.Want })
			p.Want = want
			rg.swap(newDecl(t).add("part", p).add("whole", resource(nil, "/d/part", func(*fake) (*string, string) { return &whole, part })).edges("part>whole"))
			synctest.Wait()
		}
		declare("1")
		whole = "x"
		h.Touch("/d/part")
		rg.wantWhy("whole", "event: corrective")
		own, part = false, "y"
		h.Touch("/d/part")
		synctest.Wait()
		own = true
		declare("2")
		h.Touch("/d/part")
		rg.wantWhy("whole", "event fake[part] fake:/d/part: intended")
	})
}

// TestWhyOfManyIsBounded: a vertex below many tells of some of them.
func TestWhyOfManyIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		d := newDecl(t).add("dst", &fake{w: w})
		for i := range 100 {
			d.add(fmt.Sprint(i), &fake{w: w, check: always(false, nil)}).edges(fmt.Sprintf("%d!dst", i))
		}
		rg.swap(d)
		rg.rest()
		if n := len(rg.lastRun("dst").Triggers); n != reactor.MaxTriggers+1 { // and the graph
			t.Errorf("%d triggers", n)
		}
	})
}

// TestRetriesSurvive: a restart does not give anew the retries that were used up.
func TestRetriesSurvive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		w := newWorld()
		for _, want := range []int{4, 4 + 1} {
			rg := newRig(t, reactor.Options{Store: store})
			f := &fake{w: w, check: always(false, errors.New("no"))}
			f.MetaParams().Retry = 3
			rg.swap(newDecl(t).add("a", f))
			time.Sleep(time.Second)
			rg.close()
			if n := w.count("a"); n != want {
				t.Errorf("%d runs, want %d", n, want)
			}
		}
		rg := newRig(t, reactor.Options{Store: store})
		defer rg.close()
		rg.swap(newDecl(t).add("a", &fake{w: w}))
		rg.swap(newDecl(t)) // the name has gone, and what is kept of it
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(store.recs["retry"]); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

// TestReceivedSurvives: after a restart, a value on which was acted before is not
// changed; one on which was not is, and so is another one. The store does not tell
// the value.
func TestReceivedSurvives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const canary = "canary-of-the-store"
		store := &memStore{}
		w := newWorld()
		round := func(secret string, err error) (changed bool) {
			rg := newRig(t, reactor.Options{Store: store})
			defer rg.close()
			s := &sender{fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				return true, f.init.Send(&sends{Secret: schema.NewSecret(secret)})
			}}}
			r := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				changed = f.init.Recv()["want"].Changed
				return true, err
			}}
			rg.swap(newDecl(t).add("s", s).add("r", r, "want=fake[s].secret").edges("s>r"))
			rg.rest()
			return changed
		}
		for i, c := range []struct {
			secret string
			err    error
			want   bool
		}{
			{canary, nil, true}, {canary, nil, false}, {canary + "2", errors.New("no"), true}, {canary + "2", nil, true},
			{canary + "2", nil, false},
		} {
			if got := round(c.secret, c.err); got != c.want {
				t.Errorf("round %d: changed is %t", i, got)
			}
		}
		if s := fmt.Sprintf("%q", store.recs); strings.Contains(s, canary) || len(store.recs["seen"]) != 1 {
			t.Errorf("the store holds %s", s)
		}
	})
}

// TestSecretsOfOthers: what one vertex holds secret is in nothing that another one
// says, neither a declared, a sent nor a received one.
func TestSecretsOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const canary = "canary-7f3a"
		var out strings.Builder
		rg := newRig(t, reactor.Options{Logger: textLogger(&out)})
		defer rg.close()
		w := newWorld()
		s := &sender{fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			return true, f.init.Send(&sends{Secret: schema.NewSecret(canary)})
		}}}
		cat := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			f.init.Logf("read %s", canary)
			f.init.Change(engine.Change{Field: "x", From: []any{"<" + canary + ">"}, To: map[string]any{"k": canary}})
			return false, fmt.Errorf("exit 1: %s", canary)
		}}
		other := &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			f.init.Change(engine.Change{Field: "x", From: []any{"<" + canary + ">"}, To: map[string]any{"k": canary}})
			return false, nil
		}}
		rg.swap(newDecl(t).add("s", s).add("cat", cat).add("other", other).edges("s>cat", "s>other"))
		rg.rest()
		said := fmt.Sprintf("%s %v %+v", out.String(), rg.lastRun("cat").Err, rg.lastRun("other").Changes)
		if strings.Contains(said, canary) || strings.Count(said, schema.Redacted) < 4 {
			t.Errorf("said: %s", said)
		}
	})
}

// TestDump: it says of everything that is not settled what it waits for.
func TestDump(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		w := newWorld()
		hangs := &fake{w: w, check: func(ctx context.Context, _ *fake, _ bool) (bool, error) { <-ctx.Done(); return true, nil }}
		bad := &fake{w: w, watch: func(context.Context, *fake) error { return errors.New("no such thing") }}
		bad.MetaParams().Retry, bad.MetaParams().Delay = 1, 20*time.Second
		silent := &fake{w: w, watch: func(ctx context.Context, _ *fake) error { <-ctx.Done(); return nil }}
		rg.swap(newDecl(t).add("hangs", hangs).add("below", &fake{w: w}).add("bad", bad).add("silent", silent).edges("hangs>below"))
		time.Sleep(time.Second)
		text, err := rg.r.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"fake[hangs]: running: its CheckApply runs since 1s",
			"fake[below]: waiting: waits for fake[hangs]",
			"fake[bad]: failed: Watch: no such thing; tried again in 19s",
			"fake[silent]: starting: its Watch has not said Running",
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	})
}

// TestBeat: the loop says that it is alive.
func TestBeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := 0
		rg := newRig(t, reactor.Options{Heartbeat: func() { n++ }, HeartbeatEvery: 10 * time.Second})
		time.Sleep(time.Minute + time.Second)
		rg.close()
		if n != 7 {
			t.Errorf("%d heartbeats", n)
		}
	})
}

// TestLeftoversOfNamesThatAreGone: what an earlier process has left of a name that
// the first graph does not have is forgotten; of the others it is used up.
func TestLeftoversOfNamesThatAreGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		key := func(parts ...string) string { return strings.Join(parts, "\x00") }
		store := &memStore{recs: map[string]map[string][]byte{
			"refresh": {key("fake[gone]", "fake[x]", "7"): {1}, key("fake[a]", "fake[x]", "8"): {1}, "nonsense": {1}},
			"intent":  {"fake[gone]": {1}},
			"retry":   {"fake[gone]": []byte("3"), "fake[a]": []byte("x")},
			"seen":    {key("fake[gone]", "want"): {1}},
		}}
		w := newWorld()
		rg := newRig(t, reactor.Options{Store: store})
		refreshed := false
		rg.swap(newDecl(t).add("a", &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
			refreshed = f.init.Refresh()
			return true, nil
		}}))
		rg.rest()
		rg.close()
		if !refreshed {
			t.Error("a was not refreshed")
		}
		delete(store.recs["refresh"], "nonsense")
		delete(store.recs["retry"], "fake[a]")
		for table, recs := range store.recs {
			if len(recs) > 0 {
				t.Errorf("left in %s: %q", table, recs)
			}
		}
	})
}

// asking is a host in which nobody writes.
type asking struct{ *simulate.Host }

func (asking) Writing(context.Context, string) bool { return false }

// TestFindingK1LaterWriter: of the writers until a run alters a thing, the last one is who altered it, although an earlier one had woken it,
// and whether or not the loop has heard of the last one before the run looks.
func TestFindingK1LaterWriter(t *testing.T) {
	for name, pause := range map[string]time.Duration{"at once": 0, "heard": time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { laterWriter(t, pause) })
		})
	}
}

func laterWriter(t *testing.T, pause time.Duration) {
	h := asking{simulate.NewHost()}
	rg := newRig(t, reactor.Options{Host: h})
	defer rg.close()
	cp, mv := &provenance.Culprit{PID: 7}, &provenance.Culprit{PID: 8}
	again := false
	f := &fake{w: newWorld(), check: func(ctx context.Context, f *fake, apply bool) (bool, error) {
		if !apply || !again {
			return !again, nil
		}
		again = false
		h.TouchBy("/d/f", mv) // after the run has begun
		time.Sleep(pause)
		if f.init.Host.(hosting.Writers).Writing(ctx, "/d/f") {
			t.Error("somebody writes")
		}
		f.init.Change(engine.Change{Field: "content"})
		return false, nil
	}}
	f.watch = watching(nil, "/d/f")
	rg.swap(newDecl(t).add("f", f))
	rg.rest()
	again = true
	h.TouchBy("/d/f", cp)
	time.Sleep(2 * pause)
	synctest.Wait()
	changed := 0
	for _, run := range rg.runs("f") {
		if len(run.Changes) == 0 {
			continue
		}
		changed++
		if !reflect.DeepEqual(run.By(), mv) {
			t.Errorf("by %+v, want %+v: %s", run.By(), mv, triggers(run))
		}
	}
	if changed != 1 {
		t.Errorf("%d runs have changed it", changed)
	}
}

// TestFindingQ5PathIsLearnt: a Watch may say Event before what its subscriptions know reaches the run. The run then tells of that.
func TestFindingQ5PathIsLearnt(t *testing.T) {
	known := reactor.Trigger{Cause: reactor.CauseEvent, Source: "inotify", Path: "/f", By: &provenance.Culprit{PID: 7}}
	list := reactor.Joined(reactor.Joined(nil, reactor.Trigger{Cause: reactor.CauseEvent}), known)
	later := known
	later.Path, later.By = "/g", nil
	list = reactor.Joined(list, later)
	known.Merged = 3
	if len(list) != 1 || list[0].Path != known.Path || list[0].By != known.By || list[0].Source != known.Source || list[0].Merged != 3 {
		t.Errorf("%+v", list)
	}
}

// TestFindingQ5LookOfTheWriter: what reads a part is of the class of the run that has written it, also where a run that only looks at the part
// goes on when the event comes.
func TestFindingQ5LookOfTheWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := simulate.NewHost()
		rg := newRig(t, reactor.Options{Host: h})
		defer rg.close()
		w := newWorld()
		wrong := true
		part := &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			if !wrong {
				time.Sleep(time.Second) // a look that finds all right
				return true, nil
			}
			f.init.Change(engine.Change{Field: "content"})
			wrong = !apply
			return false, nil
		}}
		part.watch = watching(func() bool { return true }, "/part")
		read := false
		whole := &fake{w: w, check: func(_ context.Context, f *fake, apply bool) (bool, error) {
			if read {
				f.init.Change(engine.Change{Field: "content"})
				read = !apply
				return false, nil
			}
			return true, nil
		}}
		whole.watch = watching(nil, "/part")
		rg.swap(newDecl(t).add("part", part).add("whole", whole).edges("whole>part"))
		rg.rest()
		read = true
		part.init.Event()
		synctest.Wait()
		h.Touch("/part")
		rg.rest()
		for _, run := range rg.runs("whole") {
			if run.Changed && run.Class != reactor.Intended {
				t.Errorf("%s: %s", run.Class, triggers(run))
			}
		}
		if read {
			t.Error("the whole was not made")
		}
	})
}
