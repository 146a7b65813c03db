package reactor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// readable is a fake whose thing can be read.
type readable struct {
	fake
	Own string `yaml:"own"`
	is  engine.Res
	err error
}

func (r *readable) Read(context.Context) (engine.Res, error) { return r.is, r.err }

// TestFindingL1AbsentIsToChange: under noop, a check that fails below a resource that would change leaves one thing certain: what is
// not there will be made. So it is with a value that is not there yet, unless that says which thing it is.
func TestFindingL1AbsentIsToChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll})
		defer rg.close()
		needs := always(false, errors.New("needs a"))
		told := func(_ context.Context, f *fake, _ bool) (bool, error) {
			f.init.Change(engine.Change{Field: "want", To: "x"})
			return false, errors.New("needs a")
		}
		unread := &readable{fake: fake{w: w}}
		unread.MetaParams().Unread = "the secret s"
		rg.swap(newDecl(t).add("a", &sender{fake{w: w, check: always(false, nil)}}).
			add("absent", &readable{fake: fake{w: w, check: needs}}).
			add("told", &readable{fake: fake{w: w, check: told}}).
			add("there", &readable{fake: fake{w: w, check: needs}, is: &fake{}}).
			add("unreadable", &readable{fake: fake{w: w, check: needs}, err: errors.New("no")}).
			add("plain", &fake{w: w, check: needs}).
			add("lone", &readable{fake: fake{w: w, check: needs}}).
			add("receives", &readable{fake: fake{w: w}}, "own=fake[a].out").
			add("has", &readable{fake: fake{w: w}, is: &fake{}}, "own=fake[a].out").
			add("unread", unread).
			edges("a>absent", "a>told", "a>there", "a>unreadable", "a>plain", "a>receives", "a>has"))
		rg.rest()
		for name, want := range map[string]resgraph.State{
			"absent": resgraph.StateWouldChange, "told": resgraph.StateWouldChange, "there": resgraph.StateUnknown,
			"unreadable": resgraph.StateUnknown, "plain": resgraph.StateUnknown, "lone": resgraph.StateFailed,
			"receives": resgraph.StateWouldChange, "has": resgraph.StateUnknown, "unread": resgraph.StateWouldChange,
		} {
			if s := rg.state(name); s.State != want {
				t.Errorf("%s is %s, want %s", name, s.State, want)
			}
		}
		for _, name := range []string{"receives", "has", "unread"} {
			if n := w.count(name); n != 0 {
				t.Errorf("%s was checked %d times without all of its parameters", name, n)
			}
		}
		for name, want := range map[string]engine.Change{"absent": {Verb: engine.Created}, "told": {Field: "want", To: "x"}} {
			if r := rg.runs(name); len(r) != 1 || len(r[0].Changes) != 1 || r[0].Changes[0].Field != want.Field || r[0].Changes[0].Verb != want.Verb {
				t.Errorf("%s ran as %+v", name, r)
			}
		}
		if r := rg.runs("receives"); len(r) != 1 || len(r[0].Changes) != 2 || r[0].Changes[1].To != any(engine.Unknown) {
			t.Errorf("receives ran as %+v", r)
		}
		if s := rg.state("has"); s.Until != "fake[a]" {
			t.Errorf("has is unknown until %q", s.Until)
		}
	})
}

// placed is a readable that is not there, and has no place.
type placed struct{ readable }

func (*placed) Place(context.Context) error { return errors.New("no folder") }

// TestFindingL1PlaceThatIsBrought: what has no place is to be made where what comes before may bring one, as a package does. A command is not
// counted on for that.
func TestFindingL1PlaceThatIsBrought(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll})
		defer rg.close()
		change, needs := always(false, nil), always(false, errors.New("no folder"))
		rg.swap(newDecl(t).add("package", &readable{fake: fake{w: w, check: change}, is: &fake{}}).
			add("command", &fake{w: w, check: change}).
			add("brought", &placed{readable{fake: fake{w: w, check: needs}}}).
			add("behind", &placed{readable{fake: fake{w: w, check: needs}}}).
			edges("package>brought", "command>behind"))
		rg.rest()
		for name, want := range map[string]resgraph.State{"brought": resgraph.StateWouldChange, "behind": resgraph.StateUnknown} {
			if s := rg.state(name); s.State != want {
				t.Errorf("%s is %s, want %s", name, s.State, want)
			}
		}
	})
}

// copying is a layer of no effects.
type copying struct{ reactor.Layer }

func (copying) Late() map[string][]reactor.Looker { return nil }

// TestFindingL1LooksBesideACopy: what fails while something that it looks at is copied for others is looked at once more.
func TestFindingL1LooksBesideACopy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		rg := newRig(t, reactor.Options{Noop: reactor.NoopAll, Layer: copying{}})
		defer rg.close()
		fails := func(moved bool) *fake {
			return &fake{w: w, check: func(_ context.Context, f *fake, _ bool) (bool, error) {
				if w.count(f.Name()) > 1 {
					return true, nil
				}
				if moved {
					f.init.Host.(reactor.Looker).Moved()
				}
				return false, errors.New("it was altered meanwhile")
			}}
		}
		rg.swap(newDecl(t).add("copied", fails(true)).add("stays", fails(false)))
		rg.rest()
		for name, want := range map[string]resgraph.State{"copied": resgraph.StateOK, "stays": resgraph.StateFailed} {
			if s := rg.state(name); s.State != want {
				t.Errorf("%s is %s, want %s", name, s.State, want)
			}
		}
	})
}
