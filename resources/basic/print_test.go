package basic

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestNoop(t *testing.T) {
	r := &NoopRes{}
	f := kindtest.Begin(t, "noop", r)
	kindtest.Want(t, f, r, "")
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "refreshed")
}

// A message is printed by whoever looks first, once, and is no change; so a plan
// shows it and finds nothing to do.
func TestPrintPrintsOncePerMessage(t *testing.T) {
	for _, apply := range []bool{false, true} {
		r := &PrintRes{}
		f := kindtest.Begin(t, "print", r)
		for _, msg := range []string{"hello %s", "bye", ""} {
			r.Msg = msg
			if got := kindtest.Verbs(t, f, r, apply); got != "" || !slices.Equal(f.Logs(), []string{msg}) {
				t.Errorf("%q: %q, printed %q", msg, got, f.Logs())
			}
			if kindtest.Want(t, f, r, ""); len(f.Logs()) != 0 {
				t.Errorf("printed %q again", f.Logs())
			}
		}
		f.SetRefresh(true)
		if got := kindtest.Verbs(t, f, r, false); got != "refreshed" || len(f.Logs()) != 0 {
			t.Errorf("looking: %q, printed %q", got, f.Logs())
		}
		if got := kindtest.Verbs(t, f, r, true); got != "refreshed" || !slices.Equal(f.Logs(), []string{""}) {
			t.Errorf("%q, printed %q", got, f.Logs())
		}
	}
}

// A new message and a notification at once are one line, and the notification is
// passed on.
func TestPrintNewAndNotified(t *testing.T) {
	r := &PrintRes{Msg: "hello"}
	f := kindtest.Begin(t, "print", r)
	f.SetRefresh(true)
	if got := kindtest.Verbs(t, f, r, false); got != "refreshed" || len(f.Logs()) != 0 {
		t.Errorf("looking: %q, printed %q", got, f.Logs())
	}
	if got := kindtest.Verbs(t, f, r, true); got != "refreshed" || !slices.Equal(f.Logs(), []string{"hello"}) {
		t.Errorf("%q, printed %q", got, f.Logs())
	}
	f.SetRefresh(false)
	if kindtest.Want(t, f, r, ""); len(f.Logs()) != 0 {
		t.Errorf("printed %q again", f.Logs())
	}
}

// What a command prints ends in a newline, and a line of a log needs none.
func TestPrintDropsFinalNewline(t *testing.T) {
	r := &PrintRes{Msg: "one\ntwo\n"}
	f := kindtest.Begin(t, "print", r)
	kindtest.Verbs(t, f, r, true)
	if !slices.Equal(f.Logs(), []string{"one\ntwo"}) {
		t.Errorf("printed %q", f.Logs())
	}
}

func TestPrintRefreshOnly(t *testing.T) {
	r := &PrintRes{Msg: "hello", RefreshOnly: true}
	f := kindtest.Begin(t, "print", r)
	kindtest.Want(t, f, r, "")
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "refreshed")
	f.SetRefresh(false)
	kindtest.Want(t, f, r, "")
}

func TestPrintHidesSecrets(t *testing.T) {
	r := &PrintRes{Msg: "canary"}
	f := kindtest.Begin(t, "print", r)
	f.SetRecv(map[string]*engine.Send{"msg": {Secret: true}})
	kindtest.Verbs(t, f, r, true)
	if !slices.Equal(f.Logs(), []string{"(secret)"}) {
		t.Errorf("printed %q", f.Logs())
	}
}

// A group prints what its members print, each once.
func TestPrintGroup(t *testing.T) {
	member := &PrintRes{Msg: "two"}
	member.SetKind("print")
	member.SetName("b")
	owner := &PrintRes{Msg: "one"}
	if owner.GroupKey() != member.GroupKey() || owner.GroupCmp(member) != nil {
		t.Fatal("they are not grouped")
	}
	owner.SetGroup([]engine.Res{member})
	f := kindtest.Begin(t, "print", owner)
	if got := kindtest.Verbs(t, f, owner, true); got != "" || !slices.Equal(f.Logs(), []string{"one", "print[b]: two"}) {
		t.Errorf("%q, printed %q", got, f.Logs())
	}
	kindtest.Want(t, f, owner, "")
	member.Msg = "three"
	if got := kindtest.Verbs(t, f, owner, true); got != "" || !slices.Equal(f.Logs(), []string{"print[b]: three"}) {
		t.Errorf("%q, printed %q", got, f.Logs())
	}
}

// A group is another one when a member wants something else.
func TestGroupsDiffer(t *testing.T) {
	owner := func(r engine.Res, group func([]engine.Res), text string) engine.Res {
		m := &PrintRes{Msg: text}
		m.SetKind("print")
		m.SetName("m")
		group([]engine.Res{m})
		return r
	}
	a, b, c := &PrintRes{}, &PrintRes{}, &PrintRes{}
	d, e, f := &NoopRes{}, &NoopRes{}, &NoopRes{}
	for _, x := range [][3]engine.Res{
		{owner(a, a.SetGroup, "x"), owner(b, b.SetGroup, "x"), owner(c, c.SetGroup, "y")},
		{owner(d, d.SetGroup, "x"), owner(e, e.SetGroup, "x"), owner(f, f.SetGroup, "y")},
	} {
		if err := x[0].Cmp(x[1]); err != nil {
			t.Error(err)
		}
		if err := x[0].Cmp(x[2]); err == nil || err.Error() != "print[m]: msg differs" {
			t.Errorf("%T: %v", x[0], err)
		}
	}
}

// One that prints at once and one that waits for a notification are not grouped;
// those that wait are notified together, and each prints.
func TestPrintThatWaits(t *testing.T) {
	a, b, c := &PrintRes{}, &PrintRes{Msg: "b", RefreshOnly: true}, &PrintRes{Msg: "c", RefreshOnly: true}
	if a.GroupKey() == b.GroupKey() || b.GroupKey() != c.GroupKey() {
		t.Error("grouped by the wrong key")
	}
	c.SetKind("print")
	c.SetName("c")
	b.SetGroup([]engine.Res{c})
	f := kindtest.Begin(t, "print", b)
	kindtest.Want(t, f, b, "")
	f.SetRefresh(true)
	if got := kindtest.Verbs(t, f, b, true); got != "refreshed print[c] refreshed" || !slices.Equal(f.Logs(), []string{"b", "print[c]: c"}) {
		t.Errorf("%q, printed %q", got, f.Logs())
	}
}

// group makes a noop that owns tests with the given parameters.
func group(members ...*TestRes) *NoopRes {
	owner := &NoopRes{}
	var all []engine.Res
	for i, m := range members {
		m.SetKind("test")
		m.SetName(string(rune('a' + i)))
		all = append(all, m)
	}
	owner.SetGroup(all)
	return owner
}

func TestGroupRunsAllMembers(t *testing.T) {
	last := &TestRes{Differs: 1}
	r := group(&TestRes{CheckError: "bad"}, &TestRes{}, &TestRes{CheckError: "worse"}, last)
	f := kindtest.Begin(t, "noop", r)
	if got := kindtest.Verbs(t, f, r, true); got != "error: test[a]: bad\ntest[c]: worse" {
		t.Errorf("got %q", got)
	}
	if last.run.changed != 1 {
		t.Error("one that failed kept another from running")
	}
}

func TestGroupInitFails(t *testing.T) {
	a, b, c := &TestRes{CleanupError: "stuck"}, &TestRes{InitError: "no"}, &TestRes{}
	r := group(a, b, c)
	f := kindtest.Begin(t, "noop", &NoopRes{})
	err := r.Init(f.Init())
	if err == nil || err.Error() != "test[b]: no\ntest[a]: stuck" {
		t.Errorf("got %v", err)
	}
	if c.run != nil {
		t.Error("it went on")
	}
}

func TestGroupCleanupGoesOn(t *testing.T) {
	err := group(&TestRes{CleanupError: "one"}, &TestRes{}, &TestRes{CleanupError: "two"}).Cleanup()
	if err == nil || !strings.Contains(err.Error(), "test[c]: two\ntest[a]: one") {
		t.Errorf("got %v", err)
	}
}

func TestValueSendsWhatItHolds(t *testing.T) {
	for _, v := range []any{nil, "text", int64(3), []any{"a"}, map[string]any{"k": true}} {
		r := &ValueRes{Any: v}
		f := kindtest.Begin(t, "value", r)
		for _, apply := range []bool{false, true} {
			if got := kindtest.Verbs(t, f, r, apply); got != "" {
				t.Errorf("%v: %q", v, got)
			}
			if s, ok := f.Sent().(*ValueSends); !ok || s == nil {
				t.Errorf("%v: sent %v", v, f.Sent())
			}
		}
		same := &ValueRes{Any: v}
		same.SetKind("value")
		if err := r.Cmp(same); err != nil {
			t.Errorf("%v: %v", v, err)
		}
		same.Any = "other"
		if r.Cmp(same) == nil {
			t.Errorf("%v equals another", v)
		}
	}
}

func TestValueSendFails(t *testing.T) {
	r := &ValueRes{}
	f := kindtest.Begin(t, "value", r)
	f.Init().Send = func(any) error { return errors.New("no") }
	if got := kindtest.Verbs(t, f, r, true); got != "error: no" {
		t.Errorf("got %q", got)
	}
}
