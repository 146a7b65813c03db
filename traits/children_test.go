package traits_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/traits"
)

// kid is a child that notes what is done with it, and does as it is told: ok,
// change, fail or panic.
type kid struct {
	traits.Base
	Do string `yaml:"do"`

	log  *[]string
	init *engine.Init
}

type kidSends struct {
	Do string `yaml:"do"`
}

func (*kid) Default() engine.Res         { return &kid{} }
func (*kid) Watch(context.Context) error { panic("the Watch of a child is never called") }
func (*kid) Sends() any                  { return kidSends{} }
func (k *kid) Cmp(o engine.Res) error    { return engine.CmpFields(k, o) }
func (k *kid) note(what string) error {
	*k.log = append(*k.log, what+" "+k.Name())
	if k.Do == what+" fails" {
		return errors.New("it does not")
	}
	if k.Do == what+" panics" {
		panic("oh")
	}
	return nil
}
func (k *kid) Validate() error { return k.note("validate") }
func (k *kid) Cleanup() error  { return k.note("cleanup") }

func (k *kid) Init(i *engine.Init) error {
	k.init = i
	return k.note("init")
}

func (k *kid) CheckApply(_ context.Context, apply bool) (bool, error) {
	if err := k.note(fmt.Sprint("run ", apply)); err != nil {
		return false, err
	}
	if err := k.init.Send(&kidSends{k.Do}); err != nil {
		return false, err
	}
	if k.Do == "change" {
		k.init.Change(engine.Change{Field: "do", To: "x"})
	}
	return k.Do != "change", nil
}

// family makes children of words "name=what".
func family(log *[]string, words ...string) []engine.Res {
	var list []engine.Res
	for _, w := range words {
		name, do, _ := strings.Cut(w, "=")
		list = append(list, traits.Child("kid", name, &kid{Do: do, log: log}))
	}
	return list
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantLog(t *testing.T, log *[]string, want string) {
	t.Helper()
	if got := strings.Join(*log, ", "); got != want {
		t.Errorf("it did %q, want %q", got, want)
	}
	*log = nil
}

// TestChildren: they live in order and end in reverse, their changes are the
// composite's, and what they send can be had.
func TestChildren(t *testing.T) {
	var log []string
	var c traits.Children
	f := enginetest.NewInit(t)
	ok(t, c.Init(f.Init(), family(&log, "a=ok", "b=change")...))
	for _, apply := range []bool{false, true} {
		f.Reset()
		if all, err := c.CheckApply(t.Context(), apply); all || err != nil {
			t.Errorf("%t, %v", all, err)
		}
		if got := fmt.Sprint(f.Changes()); got != `[kid[b].do: (none) -> "x"]` {
			t.Errorf("the changes are %s", got)
		}
	}
	if c.Handle(0).Sent() != (kidSends{"ok"}) || f.Sent() != nil {
		t.Errorf("sent %v, the composite %v", c.Handle(0).Sent(), f.Sent())
	}
	ok(t, c.Cleanup())
	wantLog(t, &log, "init a, init b, run false a, run false b, run true a, run true b, cleanup b, cleanup a")
	ok(t, c.Cleanup())
	wantLog(t, &log, "")
	if all, err := c.CheckApply(t.Context(), true); !all || err != nil {
		t.Errorf("with no children: %t, %v", all, err)
	}
}

// TestChildrenInitFails: those that were initialised are cleaned up again.
func TestChildrenInitFails(t *testing.T) {
	for do, why := range map[string]string{"init fails": "kid[b]: it does not", "init panics": "kid[b]: Init panicked: oh"} {
		var log []string
		var c traits.Children
		err := c.Init(enginetest.NewInit(t).Init(), family(&log, "a=ok", "b="+do, "c=ok")...)
		if err == nil || err.Error() != why {
			t.Errorf("%s: %v", do, err)
		}
		wantLog(t, &log, "init a, init b, cleanup a")
	}
}

// TestChildrenFail: an error ends it, but without apply one after a change that
// was not made is a change that can't be told.
func TestChildrenFail(t *testing.T) {
	for _, c := range []struct {
		family  []string
		apply   bool
		err     string
		changes string
		log     string
	}{
		{[]string{"a=ok", "b=run true fails", "c=ok"}, true, "kid[b]: it does not", "[]", "run true a, run true b"},
		{[]string{"a=change", "b=run true panics"}, true, "kid[b]: CheckApply panicked: oh", `[kid[a].do: (none) -> "x"]`, "run true a, run true b"},
		{[]string{"a=ok", "b=run false fails", "c=ok"}, false, "kid[b]: it does not", "[]", "run false a, run false b"},
		{
			[]string{"a=change", "b=run false fails", "c=ok"}, false, "",
			`[kid[a].do: (none) -> "x" kid[b]: (none) -> (unknown)]`, "run false a, run false b",
		},
	} {
		var log []string
		var kids traits.Children
		f := enginetest.NewInit(t)
		ok(t, kids.Init(f.Init(), family(&log, c.family...)...))
		log = nil
		all, err := kids.CheckApply(t.Context(), c.apply)
		if all || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%v: %t, %v", c.family, all, err)
		}
		if got := fmt.Sprint(f.Changes()); got != c.changes {
			t.Errorf("%v: the changes are %s", c.family, got)
		}
		wantLog(t, &log, c.log)
		ok(t, kids.Cleanup())
	}
}

// TestChildrenCancelled: no child is begun after the end of the context.
func TestChildrenCancelled(t *testing.T) {
	var log []string
	var c traits.Children
	ok(t, c.Init(enginetest.NewInit(t).Init(), family(&log, "a=ok")...))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := c.CheckApply(ctx, true); all || !errors.Is(err, context.Canceled) {
		t.Errorf("%t, %v", all, err)
	}
	wantLog(t, &log, "init a")
}

// TestChildrenApply: what was reported is made and not reported again; afterwards
// all is.
func TestChildrenApply(t *testing.T) {
	var log []string
	var c traits.Children
	f := enginetest.NewInit(t)
	ok(t, c.Init(f.Init(), family(&log, "a=change", "b=ok")...))
	log = nil
	if err := c.Apply(t.Context()); err != nil || len(f.Changes()) != 0 {
		t.Errorf("%v, %v", err, f.Changes())
	}
	wantLog(t, &log, "run true a, run true b")
	if _, err := c.CheckApply(t.Context(), true); err != nil || len(f.Changes()) != 1 {
		t.Errorf("%v, %v", err, f.Changes())
	}
	ok(t, c.Cleanup())
	ok(t, c.Init(f.Init(), family(&log, "a=run true fails")...))
	if err := c.Apply(t.Context()); err == nil {
		t.Error("a child failed, and Apply did not")
	}
}

// TestChildrenFollow: who wants the same goes on, who wants something else is
// exchanged, with the same handle; who can't be is tried again.
func TestChildrenFollow(t *testing.T) {
	var log []string
	var c traits.Children
	ok(t, c.Init(enginetest.NewInit(t).Init(), family(&log, "a=ok", "b=ok")...))
	handle := c.Handle(1)
	log = nil
	ok(t, c.Follow(family(&log, "a=ok", "b=change")...))
	wantLog(t, &log, "validate b, cleanup b, init b")
	if c.Handle(1) != handle {
		t.Error("there is another handle")
	}
	if all, err := c.CheckApply(t.Context(), true); all || err != nil {
		t.Errorf("%t, %v", all, err)
	}
	log = nil
	for _, bad := range [][]string{{"a=ok"}, {"a=ok", "c=ok"}, {"a=validate fails", "b=change"}} {
		if err := c.Follow(family(&log, bad...)...); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	wantLog(t, &log, "validate a")
	if err := c.Follow(family(&log, "a=ok", "b=init fails")...); err == nil {
		t.Error("Init failed, and Follow did not")
	}
	wantLog(t, &log, "validate b, cleanup b, init b")
	if err := c.Follow(family(&log, "a=ok", "b=init fails")...); err == nil {
		t.Error("Init failed again, and Follow did not")
	}
	wantLog(t, &log, "validate b, init b")
	ok(t, c.Follow(family(&log, "a=ok", "b=cleanup fails")...))
	wantLog(t, &log, "validate b, init b")
	if err := c.Follow(family(&log, "a=ok", "b=ok")...); err == nil {
		t.Error("Cleanup failed, and Follow did not")
	}
	ok(t, c.Cleanup()) // of each successful Init there is one
	wantLog(t, &log, "validate b, cleanup b, cleanup a")
}

// TestValidateChildren: all that is wrong is said, with whose it is.
func TestValidateChildren(t *testing.T) {
	var log []string
	err := traits.ValidateChildren(family(&log, "a=validate fails", "b=ok", "c=validate panics")...)
	if err == nil || err.Error() != "kid[a]: it does not\nkid[c]: Validate panicked: oh" {
		t.Errorf("%v", err)
	}
	if !slices.Equal(log, []string{"validate a", "validate b", "validate c"}) {
		t.Errorf("%v", log)
	}
}
