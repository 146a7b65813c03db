package lifecycle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// want compares the calls since the last question.
func (r *rig) want(t *testing.T, calls string) {
	t.Helper()
	if got := r.take(); got != calls {
		t.Errorf("the calls are\n  %s\nwant\n  %s", got, calls)
	}
}

func mustInit(t *testing.T, ls ...*lifecycle.Life) {
	t.Helper()
	for _, l := range ls {
		if err := l.Init(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func mustClean(t *testing.T, ls ...*lifecycle.Life) {
	t.Helper()
	for _, l := range ls {
		if err := l.Cleanup(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrder: the first user opens, the last one closes, and each is cleaned up once.
func TestOrder(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	a, b := r.sharing("a", "k"), r.sharing("b", "k")
	if a.Begun() || a.Share() != nil {
		t.Error("a life has begun before Init")
	}
	mustInit(t, a)
	r.want(t, "shared, open k, init")
	mustInit(t, b)
	r.want(t, "shared, init")
	if a.Share() != b.Share() || a.Res.(*sharing).init.Shared != r.env.SharedOf("k") || r.env.SharedOf("other") != nil {
		t.Error("two things of one key share different values")
	}
	for _, l := range []*lifecycle.Life{a, b, a} {
		if err := l.Share().Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.want(t, "begin")
	mustClean(t, a, a)
	r.want(t, "cleanup")
	mustClean(t, b)
	r.want(t, "cleanup, end, close")
	if n := len(r.env.Shares()); n != 0 || r.env.SharedOf("k") != nil {
		t.Errorf("%d values are open after the last user", n)
	}
	mustInit(t, a) // a life may begin again
	r.want(t, "shared, open k, init")
	mustClean(t, a)
	r.want(t, "cleanup, close")
}

// TestEachMethodFails: each method may panic or err. The error names the method, can be read, and
// nothing remains.
func TestEachMethodFails(t *testing.T) {
	ways := map[string]func() error{
		"panics": func() error { panic("broken") },
		"errs":   func() error { return errors.New("broken") },
	}
	for method, calls := range map[string]string{
		"shared":  "shared",
		"open k":  "shared, open k",
		"init":    "shared, open k, init, close",
		"cleanup": "shared, open k, init, cleanup, close",
		"close":   "shared, open k, init, cleanup, close",
	} {
		for way, do := range ways {
			if method == "shared" && way == "errs" {
				continue // it returns no error
			}
			t.Run(method+" "+way, func(t *testing.T) {
				r := newRig(t, lifecycle.Options{})
				r.on[method] = do
				l := r.sharing("a", "k")
				err := errors.Join(l.Init(t.Context(), nil), l.Cleanup(), l.Cleanup())
				if err == nil || !strings.Contains(err.Error(), "broken") {
					t.Errorf("the error is %v", err)
				}
				if _, panicked := errors.AsType[*callsafe.PanicError](err); panicked != (way == "panics") {
					t.Errorf("the error is a %T", err)
				}
				r.want(t, calls)
				if n := len(r.env.Shares()); n != 0 || l.Begun() {
					t.Errorf("%d values remain open, begun is %t", n, l.Begun())
				}
			})
		}
	}
}

// unreadable is an error whose text can't be taken.
type unreadable struct{}

func (*unreadable) Error() string { panic("no text") }

// TestUnreadableErrors: an error whose methods panic is replaced where it was returned.
func TestUnreadableErrors(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	bad := func() error { return &unreadable{} }
	r.on["init"], r.on["validate"], r.on["read"] = bad, bad, bad
	l := r.life("a")
	_, read := lifecycle.Read(t.Context(), l.Res)
	for _, err := range []error{l.Init(t.Context(), nil), lifecycle.Validate(l.Res, nil), read} {
		if _, ok := errors.AsType[*callsafe.UnreadableError](err); !ok {
			t.Errorf("the error is a %T", err)
		}
	}
}

// TestHangingClose: an Init of a key that is being closed waits. The end of the context of the
// caller ends the wait, and so does the end of the context of the Env.
func TestHangingClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lifecycle.Options{})
		ctx, stop := context.WithCancel(t.Context())
		r.env.Start(ctx)
		release := make(chan struct{})
		r.on["close"] = func() error { <-release; return nil }
		a, b, c := r.sharing("a", "k"), r.sharing("b", "k"), r.sharing("c", "k")
		mustInit(t, a)
		closed := make(chan error, 1)
		go func() { closed <- a.Cleanup() }()
		synctest.Wait()
		if r.env.SharedOf("k") != nil {
			t.Error("a value that is being closed is given away")
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Init(short, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end of the caller gave %v", err)
		}
		late := make(chan error, 2)
		go func() { late <- c.Init(t.Context(), nil) }()
		synctest.Wait()
		stop()
		if err := <-late; !errors.Is(err, lifecycle.ErrStopped) {
			t.Errorf("the end of the engine gave %v", err)
		}
		close(release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestWaitsForClose: after the wait the value is opened anew.
func TestWaitsForClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lifecycle.Options{})
		release := make(chan struct{})
		r.on["close"] = func() error { <-release; return nil }
		a, b := r.sharing("a", "k"), r.sharing("b", "k")
		mustInit(t, a)
		go func() { _ = a.Cleanup() }()
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- b.Init(t.Context(), nil) }()
		synctest.Wait()
		r.want(t, "shared, open k, init, cleanup, close, shared")
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		r.want(t, "open k, init")
		mustClean(t, b)
	})
}

// TestContextOfShared: it ends with the opening's if that is cut, else with the Env's or after Close.
func TestContextOfShared(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	all, stop := context.WithCancel(t.Context())
	r.env.Start(all)
	one, cancel := context.WithCancel(t.Context())
	a, b := r.sharing("a", "k"), r.sharing("b", "other")
	for _, l := range []*lifecycle.Life{a, b} {
		if err := l.Init(one, nil); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if ctx := a.Res.(*sharing).ctx; ctx.Err() != nil {
		t.Error("the context ends with the one that opened the value")
	}
	mustClean(t, a)
	if a.Res.(*sharing).ctx.Err() == nil {
		t.Error("the context goes on after Close")
	}
	stop()
	<-b.Res.(*sharing).ctx.Done()
	mustClean(t, b)
	c := r.sharing("c", "cut")
	over, cut := context.WithCancel(t.Context())
	r.on["open cut"] = func() error { cut(); return nil }
	r.take()
	if err := c.Init(over, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an opening that was cut gave %v", err)
	}
	r.want(t, "shared, open cut, close")
}

// TestKeepShared: a value without a user stays open until the Env is closed.
func TestKeepShared(t *testing.T) {
	r := newRig(t, lifecycle.Options{KeepShared: true})
	for range 2 {
		l := r.sharing("a", "k")
		mustInit(t, l)
		if err := l.Share().Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustClean(t, l)
	}
	r.want(t, "shared, open k, init, begin, cleanup, shared, init, cleanup")
	for _, s := range r.env.Shares() {
		if !s.Begun() || s.End(func() bool { return false }) != nil || !s.Begun() || s.End(func() bool { return true }) != nil || s.Begun() {
			t.Error("End does not ask whether it may")
		}
	}
	r.want(t, "end")
	if err := r.env.Close(); err != nil {
		t.Error(err)
	}
	r.want(t, "close")
}

// TestNoShared: nothing is opened where the owner gives the value.
func TestNoShared(t *testing.T) {
	r := newRig(t, lifecycle.Options{NoShared: true})
	l := r.sharing("a", "k")
	own := &value{s: r.script}
	if err := l.Init(t.Context(), func(i *engine.Init) { i.Shared = own }); err != nil {
		t.Fatal(err)
	}
	if l.Share() != nil || l.Res.(*sharing).init.Shared != engine.Shared(own) {
		t.Error("another value was opened")
	}
	mustClean(t, l)
	r.want(t, "init, cleanup")
}

// TestForget: readings from before an alteration are forgotten before the next use, once.
func TestForget(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	l := r.sharing("a", "k")
	mustInit(t, l)
	defer mustClean(t, l)
	r.take()
	s := l.Share()
	for _, altered := range []bool{false, true, false} {
		if altered {
			s.Alter()
			s.Alter()
		}
		if err := s.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.want(t, "begin, forget")
	if !s.Forgets() || s.Runs() != 3 || (*lifecycle.Share)(nil).Forgets() || (*lifecycle.Share)(nil).Begin(t.Context()) != nil {
		t.Error("the Share tells of itself otherwise")
	}
}

// TestBeginWaits: Begin waits for a running End, and heeds its context.
func TestBeginWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lifecycle.Options{})
		release := make(chan struct{})
		r.on["end"] = func() error { <-release; return nil }
		l := r.sharing("a", "k")
		mustInit(t, l)
		s := l.Share()
		if err := s.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.End(func() bool { return true }) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Begin(short); !errors.Is(err, context.DeadlineExceeded) || !s.Ending() {
			t.Errorf("Begin gave %v while End runs", err)
		}
		close(release)
		if err := s.Begin(t.Context()); err != nil {
			t.Error(err)
		}
		mustClean(t, l)
		r.want(t, "shared, open k, init, begin, end, begin, cleanup, end, close")
	})
}

// TestHandle: the owner completes the handle after the opening and before Init; the other parts
// lead nowhere, and none is nil.
func TestHandle(t *testing.T) {
	r := newRig(t, lifecycle.Options{Program: "p", Hostname: "h", Debug: true})
	l := r.sharing("a", "k")
	err := l.Init(t.Context(), func(i *engine.Init) {
		r.want(t, "shared, open k")
		i.Noop = true
	})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClean(t, l)
	i := l.Res.(*sharing).init
	if !i.Noop || i.Program != "p" || i.Hostname != "h" || !i.Debug {
		t.Errorf("the handle is %+v", i)
	}
	i.Running()
	i.Event()
	i.Busy()()
	i.Change(engine.Change{})
	if i.Refresh() || i.Receives() || i.Recv() != nil || i.Send(1) != nil {
		t.Error("the handle leads somewhere")
	}
}

// TestVarDir: folders are made below the state folder, not under noop or when it is only read, and removed
// with the name.
func TestVarDir(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, lifecycle.Options{StateDir: dir})
	l := r.life("a/../b")
	path, err := l.VarPath("x")
	if err != nil || !strings.HasPrefix(path, dir) || exists(dir, "vars") {
		t.Fatalf("VarPath gave %s, %v, or made a folder", path, err)
	}
	out, err := l.VarDir("../../../../x")
	if err != nil || out != path || !exists(path) {
		t.Errorf("VarDir gave %s, %v, want %s", out, err, path)
	}
	plan := newRig(t, lifecycle.Options{StateDir: dir, ReadOnly: true}).life("a/../b")
	if out, err = plan.VarDir("new"); err != nil || exists(out) || plan.RemoveState() != nil || !exists(path) {
		t.Errorf("a plan made %s, removed %s, or gave %v", out, path, err)
	}
	if err := l.RemoveState(); err != nil || exists(path) {
		t.Errorf("RemoveState gave %v", err)
	}
	if _, err := newRig(t, lifecycle.Options{}).life("a").VarDir(""); err == nil || err.Error() != "thing[a]: there is no state folder" {
		t.Errorf("without a state folder: %v", err)
	}
	temp := newRig(t, lifecycle.Options{TempState: true})
	if out, err = temp.life("a").VarDir("x"); err != nil || !exists(out) {
		t.Fatalf("the temporary folder %s, %v", out, err)
	}
	if err := temp.env.Close(); err != nil || exists(out) {
		t.Errorf("the temporary folder %s remains: %v", out, err)
	}
}

func exists(elems ...string) bool {
	_, err := os.Stat(filepath.Join(elems...))
	return err == nil
}

// TestMake: a resource has its defaults, its parameters, its kind and its name, and the
// metaparameters that decoding has overwritten.
func TestMake(t *testing.T) {
	s := &script{}
	reg := engine.NewRegistry()
	if err := reg.Register("thing", func() engine.Res { return &thing{s: s} }); err != nil {
		t.Fatal(err)
	}
	decode := func(res engine.Res) error {
		r := res.(*thing)
		if r.Want != "by default" {
			t.Errorf("decoded before the defaults: %q", r.Want)
		}
		*r = thing{s: s, Want: "declared"}
		return nil
	}
	res, err := lifecycle.Make(reg, lifecycle.Wanted{Kind: "thing", Name: "a"}, decode)
	if err != nil || res.String() != "thing[a]" || res.(*thing).Want != "declared" || !res.MetaParams().Equal(new(engine.MetaParams)) {
		t.Errorf("made %v, %v", res, err)
	}
	ready := &thing{s: s, Want: "by default"}
	if res, err = lifecycle.Make(reg, lifecycle.Wanted{Kind: "thing", Name: "b", Ready: ready}, decode); err != nil || res != engine.Res(ready) || ready.Name() != "b" {
		t.Errorf("made %v, %v of a ready one", res, err)
	}
	for text, bad := range map[string]func(engine.Res) error{
		"no":                 func(engine.Res) error { return errors.New("no") },
		"making it panicked": func(engine.Res) error { panic("no") },
		"unknown":            nil,
	} {
		kind := "thing"
		if bad == nil {
			kind = "other"
		}
		if res, err = lifecycle.Make(reg, lifecycle.Wanted{Kind: kind}, bad); err == nil || res != nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: made %v, %v", text, res, err)
		}
	}
}

// odd is a thing whose Default the test sets.
type odd struct {
	thing
	base func() engine.Res
}

func (o *odd) Default() engine.Res { return o.base() }

// TestCopy: a copy has the kind, the name and the parameters, secrets too, and metaparameters of its own. A resource that can't be
// copied gives an error.
func TestCopy(t *testing.T) {
	s := &script{}
	res := named(&thing{s: s, Want: "declared", Pass: schema.NewSecret(canary)}, "a")
	res.MetaParams().Poll = time.Minute
	made, err := lifecycle.Copy(res, &engine.MetaParams{Retry: 3})
	if err != nil {
		t.Fatal(err)
	}
	got := made.(*thing)
	if made == res || got.String() != "thing[a]" || got.Want != "declared" || got.Pass.Reveal() != canary || got.s != s {
		t.Errorf("the copy is %+v", got)
	}
	if !got.MetaParams().Equal(&engine.MetaParams{Retry: 3}) || res.MetaParams().Poll != time.Minute {
		t.Errorf("the metaparameters are %+v, and were %+v", got.MetaParams(), res.MetaParams())
	}
	for want, base := range map[string]func() engine.Res{
		"has no Default":      func() engine.Res { return nil },
		"copying it panicked": func() engine.Res { panic("no") },
	} {
		made, err := lifecycle.Copy(named(&odd{thing: thing{s: s}, base: base}, "a"), &engine.MetaParams{})
		if err == nil || made != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, made, err)
		}
	}
}

// TestDecodePart: a required parameter may be missing. Any other fault is found.
func TestDecodePart(t *testing.T) {
	ty, err := schema.TypeOf(&note{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value map[string]any
		want  string
	}{{map[string]any{"level": "high"}, ""}, {map[string]any{}, ""}, {map[string]any{"level": "odd"}, "odd"}, {map[string]any{"txt": "x"}, "txt"}, {map[string]any{"text": []any{}}, "text"}} {
		n, err := schema.NodeOf(c.value)
		if err != nil {
			t.Fatal(err)
		}
		err = lifecycle.DecodePart(ty, n, &note{}).Err()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.value, err, c.want)
		}
	}
}

// TestValidate: the resource knows what it will receive, and the parts of its error stay.
func TestValidate(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	res := r.life("a").Res.(*thing)
	first, second := errors.New("first"), errors.New("second")
	r.on["validate"] = func() error {
		if res.Recv()["want"] == nil {
			t.Error("the resource was not told of what it will receive")
		}
		return errors.Join(first, second)
	}
	err := lifecycle.Validate(res, map[string]*engine.Send{"want": {Res: schema.Ref{Kind: "x", Name: "y"}}})
	if parts, ok := err.(interface{ Unwrap() []error }); !ok || len(parts.Unwrap()) != 2 {
		t.Errorf("the error is a %T", err)
	}
	r.on["validate"] = func() error { panic("no") }
	if err := lifecycle.Validate(res, nil); err == nil || !strings.Contains(err.Error(), "Validate panicked") {
		t.Errorf("a panic gave %v", err)
	}
}

// TestList: each thing comes with its error, a panic is the last error, and the sequence is ended
// whatever the reader does.
func TestList(t *testing.T) {
	r := newRig(t, lifecycle.Options{})
	res := r.life("").Res
	read := func(ctx context.Context, most int) (seen []string) {
		for x, err := range lifecycle.List(ctx, res) {
			switch {
			case err != nil:
				seen = append(seen, err.Error())
			default:
				seen = append(seen, x.Name())
			}
			if len(seen) == most {
				break
			}
		}
		return seen
	}
	wantList := func(want string, got []string) {
		t.Helper()
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("listed %s, want %s", text, want)
		}
	}
	wantList("a, b", read(t.Context(), 0))
	r.want(t, "list a, list b, list ends")
	wantList("a", read(t.Context(), 1))
	r.want(t, "list a, list ends")
	r.on["list a"] = func() error { return errors.New("not seen") }
	wantList("not seen, b", read(t.Context(), 0))
	r.on["list b"] = func() error { panic("no") }
	wantList("not seen, List panicked: no", read(t.Context(), 0))
	r.take()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	wantList("", read(over, 0))
	delete(r.on, "list a")
	r.on["list ends"] = func() error { panic("late") }
	wantList("a", read(t.Context(), 1))
	func() {
		defer func() {
			if recover() != "of the reader" {
				t.Error("a panic of the reader was caught")
			}
		}()
		delete(r.on, "list ends")
		for range lifecycle.List(t.Context(), res) {
			panic("of the reader")
		}
	}()
	r.on["read"] = func() error { panic("no") }
	if was, err := lifecycle.Read(t.Context(), res); was != nil || err == nil {
		t.Errorf("read %v, %v", was, err)
	}
}
