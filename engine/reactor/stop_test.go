package reactor_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// abandon stops the rig, lets it hang, and gives it up. It returns whom Run names.
func (rg *rig) abandon() []string {
	rg.t.Helper()
	rg.stop()
	time.Sleep(time.Second - time.Nanosecond)
	if who := rg.stopping.Load(); who != nil {
		rg.t.Errorf("named %v too soon", *who)
	}
	time.Sleep(time.Nanosecond)
	synctest.Wait()
	select {
	case err := <-rg.done:
		rg.t.Fatalf("Run returned %v before Abandon", err)
	default:
	}
	rg.r.Abandon()
	select {
	case err := <-rg.done:
		ab, ok := errors.AsType[*reactor.AbandonedError](err)
		if !ok {
			rg.t.Fatalf("Run returned %v", err)
		}
		if who := rg.stopping.Load(); who == nil || !slices.Equal(*who, ab.Resources) {
			rg.t.Errorf("before Abandon it named %v, then %v", who, ab.Resources)
		}
		return ab.Resources
	case <-time.After(time.Hour):
		rg.t.Fatal("Run did not return after Abandon")
		return nil
	}
}

// TestLaw15AbandonWhileSomethingElseHangs: not only Watch and CheckApply may
// ignore the end.
func TestLaw15AbandonWhileSomethingElseHangs(t *testing.T) {
	for name, hang := range map[string]func(w *stage, wait func()) engine.Res{
		"Cleanup": func(w *stage, wait func()) engine.Res {
			return &fake{w: w, cleanup: func() error { wait(); return nil }}
		},
		"End": func(w *stage, wait func()) engine.Res {
			return &sharing{fake: fake{w: w}, key: "k", value: &commons{w: w, end: wait}}
		},
		"Close": func(w *stage, wait func()) engine.Res {
			return &sharing{fake: fake{w: w}, key: "k", value: &commons{w: w, close: wait}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				deaf := hang(w, func() { <-release })
				rg.swap(newDecl(t).add("fine", &fake{w: w}).add("deaf", deaf).add("other", &fake{w: w}))
				synctest.Wait()
				if who := rg.abandon(); !slices.Equal(who, []string{"fake[deaf]"}) {
					t.Errorf("named %v", who)
				}
				close(release)
			})
		})
	}
}

// TestLaw15AbandonDuringInit: neither Run nor the Swap waits for an Init that
// does not return.
func TestLaw15AbandonDuringInit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		swapped := make(chan error, 1)
		go func() {
			d := newDecl(t).add("deaf", &fake{w: w, initErr: func() error { <-release; return nil }})
			swapped <- rg.r.Swap(context.Background(), d.g)
		}()
		synctest.Wait()
		if who := rg.abandon(); !slices.Equal(who, []string{"fake[deaf]"}) {
			t.Errorf("named %v", who)
		}
		synctest.Wait()
		select {
		case err := <-swapped:
			if !errors.Is(err, reactor.ErrStopped) {
				t.Errorf("Swap returned %v", err)
			}
		default:
			t.Error("Swap still waits")
		}
		close(release)
	})
}

// TestLaw15AbandonStillCleansUpTheOthers: what is not stuck leaves nothing behind.
func TestLaw15AbandonStillCleansUpTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		deaf := &fake{w: w, check: func(context.Context, *fake, bool) (bool, error) { <-release; return true, nil }}
		rg.swap(newDecl(t).add("a", &fake{w: w}).add("deaf", deaf).add("b", &fake{w: w}))
		synctest.Wait()
		if who := rg.abandon(); !slices.Equal(who, []string{"fake[deaf]"}) {
			t.Errorf("named %v", who)
		}
		if got := only(w.order(), "cleanup "); !slices.Equal(got, []string{"cleanup b", "cleanup a"}) {
			t.Errorf("cleaned up %v", got)
		}
		close(release)
	})
}

// TestSharedEndsNotDuringARun: neither a Watch that fails, nor a swap, nor a graph
// at rest ends what a run still uses.
func TestSharedEndsNotDuringARun(t *testing.T) {
	for name, disturb := range map[string]func(rg *rig, d *decl){
		"the Watch fails": func(*rig, *decl) {},
		"it leaves":       func(rg *rig, d *decl) { rg.swap(d) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld()
				rg := newRig(t, reactor.Options{})
				defer rg.close()
				com := &commons{w: w}
				other := func() *sharing { return &sharing{fake: fake{w: w}, key: "k", value: com} }
				busy := other()
				busy.check = func(context.Context, *fake, bool) (bool, error) {
					time.Sleep(time.Minute)
					w.note("run ended")
					return true, nil
				}
				busy.watch = func(ctx context.Context, f *fake) error {
					f.init.Running()
					select {
					case <-time.After(time.Second):
						return errors.New("lost")
					case <-ctx.Done():
						return nil
					}
				}
				rg.swap(newDecl(t).add("busy", busy).add("other", other()))
				time.Sleep(time.Millisecond)
				disturb(rg, newDecl(t).add("other", other()))
				time.Sleep(time.Hour)
				synctest.Wait()
				log := w.order()
				from, to := slices.Index(log, "run busy"), slices.Index(log, "run ended")
				if from < 0 || to < from || slices.Contains(log[from:to], "end") {
					t.Errorf("End came during a run: %v", log)
				}
			})
		})
	}
}

// TestSharedIsOpenedAfterTheOneBeforeIsClosed: it lives once per key.
func TestSharedIsOpenedAfterTheOneBeforeIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		mk := func(name string) *decl {
			com := &commons{w: w, close: func() { time.Sleep(time.Second) }}
			return newDecl(t).add(name, &sharing{fake: fake{w: w}, key: "k", value: com})
		}
		rg.swap(mk("a"))
		rg.rest()
		rg.swap(newDecl(t))
		synctest.Wait() // it is being closed
		rg.swap(mk("b"))
		rg.rest()
		var got []string
		for _, l := range w.order() {
			if l == "close" || l == "open k" {
				got = append(got, l)
			}
		}
		if want := []string{"open k", "close", "open k"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestLaw9PanicInWhatIsShared is the failure of the vertex that asked for it.
func TestLaw9PanicInWhatIsShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{})
		defer rg.close()
		com := &commons{w: w, begin: func() { panic("boom") }, end: func() { panic("boom") }}
		late := &commons{w: w, end: func() { panic("boom") }}
		rg.swap(newDecl(t).add("a", &sharing{fake: fake{w: w}, key: "k", value: com}).
			add("b", &sharing{fake: fake{w: w}, key: "late", value: late}).add("fine", &fake{w: w}))
		if c := rg.rest(); c[resgraph.StateFailed] != 1 || c[resgraph.StateOK] != 2 {
			t.Errorf("counts %v", c)
		}
	})
}

// TestAskedWhileStopping: Run waits for a method that ignores its context, and that
// is when an operator asks what it waits for.
func TestAskedWhileStopping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rg := newRig(t, reactor.Options{})
		rg.swap(newDecl(t).add("a", &fake{w: newWorld(), check: func(context.Context, *fake, bool) (bool, error) {
			time.Sleep(time.Minute)
			return true, nil
		}}))
		synctest.Wait()
		rg.stop()
		time.Sleep(time.Second)
		if s := rg.state("a"); s.State != resgraph.StateRunning {
			t.Errorf("it is %s", s.State)
		}
		if text, err := rg.r.Dump(t.Context()); err != nil || !strings.Contains(text, "fake[a]: running: its CheckApply runs since 1s") {
			t.Errorf("%v\n%s", err, text)
		}
		if err := <-rg.done; err != nil {
			t.Fatal(err)
		}
		if _, err := rg.r.Statuses(t.Context()); !errors.Is(err, reactor.ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// goneStore gives nothing once it was told to stop.
type goneStore struct{ memStore }

func (*goneStore) Records(ctx context.Context, _ string) iter.Seq2[records.Record, error] {
	return func(yield func(records.Record, error) bool) {
		if ctx.Err() != nil {
			yield(records.Record{}, ctx.Err())
		}
	}
}

// Who is told to stop before anything was started has not failed.
func TestStoppedBeforeTheStart(t *testing.T) {
	r, err := reactor.New(reactor.Options{Host: nullHost{}, World: nullWorld{}, Store: &goneStore{}, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Run(ctx); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if err := r.Swap(t.Context(), newDecl(t).g); !errors.Is(err, reactor.ErrStopped) {
		t.Errorf("Swap returned %v", err)
	}
}
