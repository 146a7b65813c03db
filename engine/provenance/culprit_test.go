package provenance_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provenance"
)

// TestCulprit: the words for a process cannot be taken for others, whatever its program is called.
func TestCulprit(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*provenance.Culprit{
		"":                nil,
		"/bin/cp (pid 7)": {PID: 7, Program: "/bin/cp"},
		"pid 7 (gone)":    {PID: 7, Gone: true},
		"/bin/cp (pid 7, user a, unit u.service)":         {PID: 7, Program: "/bin/cp", User: "a", Unit: "u.service"},
		`"/tmp/cp (pid 1)" (pid 7, login "a, user root")`: {PID: 7, Program: "/tmp/cp (pid 1)", Login: "a, user root"},
		`"/tmp/\u202ecp\x1b[2J\xff" (pid 7)`:              {PID: 7, Program: "/tmp/\u202ecp\x1b[2J\xff"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	odd := &provenance.Culprit{PID: 7, Program: "/a\"b\\c\u202e\xff", Unit: "d\n"}
	if got := odd.Plain(); *got != (provenance.Culprit{PID: 7, Program: `/a"b\c\u202e\xff`, Unit: `d\n`}) || (*provenance.Culprit)(nil).Plain() != nil {
		t.Errorf("%+v", got)
	}
}

// TestCauseMerge: the first path counts, and who altered that last; a stranger's change is told
// before one of a resource.
func TestCauseMerge(t *testing.T) {
	t.Parallel()
	a, b := &provenance.Culprit{PID: 1}, &provenance.Culprit{PID: 2}
	none := engine.Cause{}
	for _, c := range []struct {
		name               string
		first, later, want engine.Cause
	}{
		{"nothing first", none, engine.Cause{Path: "/a", Merged: 1, By: a}, engine.Cause{Path: "/a", Merged: 1, By: a}},
		{"nothing later", engine.Cause{Path: "/a", Merged: 1, From: "f[a]"}, none, engine.Cause{Path: "/a", Merged: 1, From: "f[a]"}},
		{"the same path", engine.Cause{Path: "/a", Merged: 1, By: a}, engine.Cause{Path: "/a", Merged: 2, By: b}, engine.Cause{Path: "/a", Merged: 3, By: b}},
		{"then one unknown", engine.Cause{Path: "/a", Merged: 1, By: a}, engine.Cause{Path: "/a", Merged: 1}, engine.Cause{Path: "/a", Merged: 2, By: a}},
		{"another path", engine.Cause{Path: "/a", Merged: 1}, engine.Cause{Path: "/b", Merged: 1, By: b, Resync: true}, engine.Cause{Path: "/a", Merged: 2, Resync: true}},
		{"a resource, then a stranger", engine.Cause{Path: "/a", From: "f[a]", Merged: 1}, engine.Cause{Path: "/b", Merged: 1, By: b}, engine.Cause{Path: "/b", Merged: 2, By: b}},
		{"a stranger, then a resource", engine.Cause{Path: "/a", Merged: 1, By: a}, engine.Cause{Path: "/a", From: "f[a]", Merged: 1}, engine.Cause{Path: "/a", Merged: 2, By: a}},
	} {
		got := c.first
		got.Merge(c.later)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
