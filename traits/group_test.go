package traits_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/traits"
)

// part is a resource that notes which of its methods are called.
type part struct {
	traits.Base
	traits.Groupable
	traits.Refreshable

	init  *engine.Init
	calls *[]string
	ok    bool
	fail  string // the method that fails
	panic string // the method that panics
	want  string
}

func (p *part) did(method string) error {
	*p.calls = append(*p.calls, p.Name()+"."+method)
	if p.panic == method {
		panic("oh")
	}
	if p.fail == method {
		return errors.New("no")
	}
	return nil
}

func (p *part) Default() engine.Res         { return &part{} }
func (p *part) Validate() error             { return nil }
func (p *part) Init(i *engine.Init) error   { p.init = i; return p.did("Init") }
func (p *part) Cleanup() error              { return p.did("Cleanup") }
func (p *part) Watch(context.Context) error { return nil }
func (p *part) Cmp(r engine.Res) error {
	if r.(*part).want != p.want {
		return errors.New("want differs")
	}
	return p.did("Cmp")
}

func (p *part) CheckApply(_ context.Context, apply bool) (bool, error) {
	p.init.Change(engine.Change{Field: "f"})
	p.init.Change(engine.Change{Verb: engine.Ran})
	return p.ok, p.did(fmt.Sprint("CheckApply(", apply, ",", p.init.Refresh(), ")"))
}

// owner makes one with members a, b and so on, which are right.
func owner(members ...*part) (*part, *[]string) {
	calls := &[]string{}
	o := &part{calls: calls}
	o.SetKind("part")
	o.SetName("o")
	var list []engine.Res
	for i, m := range members {
		m.calls = calls
		m.SetKind("part")
		m.SetName(string(rune('a' + i)))
		list = append(list, m)
	}
	o.SetGroup(list)
	return o, calls
}

func handle(changes *[]string) *engine.Init {
	return &engine.Init{
		Refresh: func() bool { return true },
		Change:  func(c engine.Change) { *changes = append(*changes, c.Field) },
		VarDir:  func(p string) (string, error) { return p, nil },
		Logf:    func(format string, v ...any) { *changes = append(*changes, fmt.Sprintf(format, v...)) },
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The members are driven in order, each under its own name, and all that one says
// names it.
func TestGroupDrivesItsMembers(t *testing.T) {
	a, b := &part{ok: true}, &part{ok: true}
	o, calls := owner(a, b)
	var said []string
	if err := o.InitGroup(handle(&said)); err != nil {
		t.Fatal(err)
	}
	ok, err := o.CheckGroup(t.Context(), true, true, nil)
	if !ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	b.ok = false
	if ok, err = o.CheckGroup(t.Context(), false, true, nil); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	b.init.Logf("x %d", 7)
	if dir, _ := b.init.VarDir("v"); !strings.Contains(dir, "part") || !strings.Contains(dir, "b") {
		t.Errorf("b keeps its state in %s", dir)
	}
	if err := o.CleanupGroup(); err != nil {
		t.Error(err)
	}
	same(t, *calls, []string{
		"a.Init", "b.Init", "a.CheckApply(true,true)", "b.CheckApply(true,true)",
		"a.CheckApply(false,true)", "b.CheckApply(false,true)", "b.Cleanup", "a.Cleanup",
	})
	one := []string{"part[a].f", "part[a]", "part[b].f", "part[b]"}
	same(t, said, append(append(one, one...), "part[b]: x 7"))
}

// What the owner has found counts as much as what a member finds.
func TestGroupAndItsOwner(t *testing.T) {
	o, _ := owner(&part{ok: true})
	var said []string
	_ = o.InitGroup(handle(&said))
	if ok, err := o.CheckGroup(t.Context(), true, false, nil); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	bad := errors.New("bad")
	if ok, err := o.CheckGroup(t.Context(), true, true, bad); ok || !errors.Is(err, bad) || len(said) != 4 {
		t.Errorf("%t, %v, %q", ok, err, said)
	}
	alone, _ := owner()
	if ok, err := alone.CheckGroup(t.Context(), true, true, nil); !ok || err != nil || alone.InitGroup(nil) != nil || alone.CleanupGroup() != nil {
		t.Errorf("without members: %t, %v", ok, err)
	}
}

// One that fails, or panics, is named, and keeps no other from running; the end of
// the context does.
func TestGroupFaults(t *testing.T) {
	o, calls := owner(&part{fail: "CheckApply(true,true)"}, &part{panic: "CheckApply(true,true)"}, &part{ok: true})
	var said []string
	_ = o.InitGroup(handle(&said))
	*calls = nil
	ok, err := o.CheckGroup(t.Context(), true, true, nil)
	if ok || err == nil || err.Error() != "part[a]: no\npart[b]: CheckApply panicked: oh" {
		t.Errorf("%t, %v", ok, err)
	}
	if p, is := errors.AsType[*callsafe.PanicError](err); !is || len(p.Stack) == 0 {
		t.Error("the place of the panic is lost")
	}
	same(t, *calls, []string{"a.CheckApply(true,true)", "b.CheckApply(true,true)", "c.CheckApply(true,true)"})

	*calls = nil
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := o.CheckGroup(ctx, true, true, nil); err == nil || err.Error() != "enough" || len(*calls) > 0 {
		t.Errorf("%v, %q", err, *calls)
	}
}

func TestGroupInitUndone(t *testing.T) {
	o, calls := owner(&part{fail: "Cleanup"}, &part{}, &part{panic: "Init"}, &part{})
	var said []string
	if err := o.InitGroup(handle(&said)); err == nil || err.Error() != "part[c]: Init panicked: oh\npart[a]: no" {
		t.Errorf("%v", err)
	}
	same(t, *calls, []string{"a.Init", "b.Init", "c.Init", "b.Cleanup", "a.Cleanup"})
}

// Two owners are the same if their members are, in their order.
func TestGroupCmp(t *testing.T) {
	make := func(wants ...string) *part {
		var list []*part
		for _, w := range wants {
			list = append(list, &part{want: w})
		}
		o, _ := owner(list...)
		return o
	}
	if err := make("x", "y").CmpGroup(make("x", "y")); err != nil {
		t.Error(err)
	}
	renamed := make("x", "y")
	renamed.Group()[1].SetName("z")
	other := make("x")
	other.SetGroup([]engine.Res{&all{}})
	other.Group()[0].SetKind("part")
	other.Group()[0].SetName("a")
	broken := make("x")
	broken.Group()[0].(*part).panic = "Cmp"
	if err := make("x").CmpGroup(other); err == nil || err.Error() != "the members of the group differ: part[a] in place of part[a]" {
		t.Errorf("of another type: %v", err)
	}
	for want, err := range map[string]error{
		"the members of the group differ":                              make("x", "y").CmpGroup(make("x")),
		"the members of the group differ: part[z] in place of part[b]": make("x", "y").CmpGroup(renamed),
		"part[b]: want differs":                                        make("x", "y").CmpGroup(make("x", "z")),
		"part[a]: Cmp panicked: oh":                                    broken.CmpGroup(make("x")),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
