package engine_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/schema"
	"pgregory.net/rapid"
)

// TestFactsMap: each fact is there by its name, as a plain value, also an unknown one.
func TestFactsMap(t *testing.T) {
	facts := engine.Facts{Hostname: "one", Addresses: []string{"192.0.2.1"}, OSMajorRelease: 12, SystemdBooted: true, CPUs: 2, Memory: 3 << 30}
	got := facts.Map()
	for name, want := range map[string]any{
		"hostname": "one", "fqdn": "", "osmajorrelease": int64(12), "systemd_booted": true, "cpus": int64(2), "memory": int64(3 << 30),
	} {
		if got[name] != want {
			t.Errorf("%s is %#v, want %#v", name, got[name], want)
		}
	}
	if a := fmt.Sprint(got["addresses"]); a != "[192.0.2.1]" {
		t.Errorf("addresses are %s", a)
	}
	if n := reflect.TypeFor[engine.Facts]().NumField(); len(got) != n {
		t.Errorf("%d facts of %d are in the map", len(got), n)
	}
}

// TestRegisterResource: the default registry gets the kind, and a second kind of the name is a fault of the program.
func TestRegisterResource(t *testing.T) {
	engine.RegisterResource("engine_test_thing", newThing)
	r, err := engine.DefaultRegistry().New("engine_test_thing")
	if err != nil || r.Kind() != "engine_test_thing" {
		t.Fatalf("%v, %v", r, err)
	}
	if err := callsafe.Do("init", func() error { engine.RegisterResource("engine_test_thing", newThing); return nil }); err == nil || !strings.Contains(err.Error(), "engine_test_thing") {
		t.Errorf("registered twice: %v", err)
	}
}

// made has a parameter of each role.
type made struct {
	plainRes
	Size   int           `yaml:"size"`
	Empty  string        `yaml:"empty"`
	Like   string        `yaml:"like"`
	Secret schema.Secret `yaml:"secret"`
}

func (*made) Default() engine.Res { return &made{Like: "usual"} }

// TestMadeWith: the values with which a thing is created are told in the order of the type, without defaults and empty texts,
// and a secret stays one.
func TestMadeWith(t *testing.T) {
	m := &made{Size: 3, Like: "usual", Secret: schema.NewSecret("canary")}
	var got []string
	for _, c := range engine.MadeWith(m) {
		if c.From != nil || c.Verb != engine.Updated {
			t.Errorf("%s is no value from nothing: %+v", c.Field, c)
		}
		got = append(got, c.String())
	}
	if text := strings.Join(got, "; "); text != "size: (none) -> 3; secret: (none) -> (secret)" {
		t.Errorf("it is made with %s", text)
	}
	if list := engine.MadeWith(&made{Like: "usual"}); len(list) > 0 {
		t.Errorf("a thing as by default is made with %v", list)
	}
}

// TestUnknownText: the value that can't be told has one word, in every output.
func TestUnknownText(t *testing.T) {
	text, err := engine.Unknown.MarshalText()
	if err != nil || string(text) != engine.Unknown.String() || string(text) != "(unknown)" {
		t.Errorf("%s, %v", text, err)
	}
}

// metaParams draws metaparameters that Validate accepts.
func metaParams(t *rapid.T) *engine.MetaParams {
	m := new(engine.MetaParams)
	m.Retry = rapid.SampledFrom([]int{0, 1, 7, engine.RetryForever, engine.RetryNever}).Draw(t, "retry")
	m.Timeout = time.Duration(rapid.IntRange(0, 1000).Draw(t, "timeout")) * time.Millisecond
	if m.Delay = time.Duration(rapid.IntRange(0, 5).Draw(t, "delay")) * time.Second; m.Delay > 0 {
		m.DelayMax = m.Delay * time.Duration(rapid.IntRange(1, 3).Draw(t, "delaymax"))
	}
	m.Hidden, m.Realize = rapid.Bool().Draw(t, "hidden"), rapid.Bool().Draw(t, "realize")
	if rapid.Bool().Draw(t, "with noop") {
		m.Noop = new(rapid.Bool().Draw(t, "noop"))
	}
	m.Sema = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}(:[1-9])?`), 0, 3, func(s string) string { n, _, _ := strings.Cut(s, ":"); return n }).Draw(t, "sema")
	if len(m.Sema) == 0 {
		m.Sema = nil
	}
	m.Drift = rapid.SampledFrom([]engine.Drift{"", engine.DriftFix, engine.DriftReport}).Draw(t, "drift")
	return m
}

// TestMetaParamsLaws: Equal and Cmp agree, are symmetric, and what Outright says means the same.
func TestMetaParamsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := metaParams(t), metaParams(t)
		if err := a.Validate(); err != nil {
			t.Fatalf("%+v: %v", a, err)
		}
		if a.Equal(b) != (a.Cmp(b) == nil) || a.Equal(b) != b.Equal(a) {
			t.Errorf("%+v and %+v are equal: %t, and compare: %v", a, b, a.Equal(b), a.Cmp(b))
		}
		o := a.Outright()
		if o.AutoEdges() != a.AutoEdges() || o.AutoGroups() != a.AutoGroups() || !o.Outright().Equal(o) {
			t.Errorf("%+v outright is %+v", a, o)
		}
		if err := o.Validate(); err != nil {
			t.Errorf("%+v outright: %v", a, err)
		}
	})
}

// TestClockOf: a host brings its clock; others have that of the machine.
func TestClockOf(t *testing.T) {
	c := enginetest.NewClock()
	if engine.ClockOf(clockHost{clock: c}) != clock.Clock(c) {
		t.Error("the clock of the host is not taken")
	}
	for _, h := range []engine.Host{nil, enginetest.NewHost(), clockHost{}} {
		if engine.ClockOf(h) != clock.Clock(clock.System{}) {
			t.Errorf("%T has another clock", h)
		}
	}
}

type clockHost struct {
	engine.Host
	clock clock.Clock
}

func (h clockHost) Clock() clock.Clock { return h.clock }

// TestCauseMerge: the first path counts, and who altered that last; a stranger's change is told
// before one of a resource.
func TestCauseMerge(t *testing.T) {
	t.Parallel()
	a, b := &provenance.Culprit{PID: 1}, &provenance.Culprit{PID: 2}
	none := events.Cause{}
	for _, c := range []struct {
		name               string
		first, later, want events.Cause
	}{
		{"nothing first", none, events.Cause{Path: "/a", Merged: 1, By: a}, events.Cause{Path: "/a", Merged: 1, By: a}},
		{"nothing later", events.Cause{Path: "/a", Merged: 1, From: "f[a]"}, none, events.Cause{Path: "/a", Merged: 1, From: "f[a]"}},
		{"the same path", events.Cause{Path: "/a", Merged: 1, By: a}, events.Cause{Path: "/a", Merged: 2, By: b}, events.Cause{Path: "/a", Merged: 3, By: b}},
		{"then one unknown", events.Cause{Path: "/a", Merged: 1, By: a}, events.Cause{Path: "/a", Merged: 1}, events.Cause{Path: "/a", Merged: 2, By: a}},
		{"another path", events.Cause{Path: "/a", Merged: 1}, events.Cause{Path: "/b", Merged: 1, By: b, Resync: true}, events.Cause{Path: "/a", Merged: 2, Resync: true}},
		{"a resource, then a stranger", events.Cause{Path: "/a", From: "f[a]", Merged: 1}, events.Cause{Path: "/b", Merged: 1, By: b}, events.Cause{Path: "/b", Merged: 2, By: b}},
		{"a stranger, then a resource", events.Cause{Path: "/a", Merged: 1, By: a}, events.Cause{Path: "/a", From: "f[a]", Merged: 1}, events.Cause{Path: "/a", Merged: 2, By: a}},
	} {
		got := c.first
		got.Merge(c.later)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
