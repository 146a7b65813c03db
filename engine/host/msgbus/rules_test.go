package msgbus

import (
	"fmt"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/host"
)

func TestRuleText(t *testing.T) {
	for want, m := range map[string]bus.Match{
		"type='signal'": {},
		"type='signal',sender='a.b',path='/p',interface='i.f',member='M'": {Sender: "a.b", Path: "/p", Interface: "i.f", Member: "M"},
		"type='signal',path='/p'": {Path: "/p"},
	} {
		if got := ruleOf(m); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := checkMatch(m); err != nil {
			t.Error(err)
		}
	}
}

func TestRulesFit(t *testing.T) {
	for _, c := range []struct {
		m    bus.Match
		fits bool
	}{
		{bus.Match{}, true},
		{bus.Match{Interface: "i.f"}, true},
		{bus.Match{Interface: "i.g"}, false},
		{bus.Match{Member: "M"}, true},
		{bus.Match{Member: "N"}, false},
		{bus.Match{Sender: ":1.1"}, true},
		{bus.Match{Sender: ":1.2"}, false},
		{bus.Match{Sender: "well.known"}, true}, // the bus knows who that is
		{bus.Match{Sender: "org.freedesktop.DBus"}, false},
		{bus.Match{Arg0: "a.b"}, true},
		{bus.Match{Arg0: "a.c"}, false},
	} {
		if got := fits(c.m, "i.f", "M", &dbus.Signal{Sender: ":1.1", Body: []any{"a.b", 1}}); got != c.fits {
			t.Errorf("%+v: %v", c.m, got)
		}
	}
}

// Of many rules that differ by their path the bus gets one for the rest.
func TestRulesAreNotTooMany(t *testing.T) {
	var rs rules
	of := func(i int) bus.Match { return bus.Match{Member: "M", Path: fmt.Sprint("/p", i)} }
	const n = 3 * maxPaths
	subs, rules := make([]*host.Wakeups, n), make([]*rule, n)
	told := 0
	for i := range subs {
		subs[i] = host.NewWakeups(func(*host.Wakeups) {})
		r, made := rs.add(of(i), subs[i])
		if made {
			told++
		}
		rules[i] = r
	}
	if told != maxPaths+1 {
		t.Errorf("the bus was told %d rules", told)
	}
	for _, i := range []int{0, maxPaths - 1, maxPaths, n - 1} {
		rs.deliver("i.f", "M", &dbus.Signal{Path: dbus.ObjectPath(of(i).Path)})
		rs.deliver("i.f", "N", &dbus.Signal{Path: dbus.ObjectPath(of(i).Path)})
		for k, s := range subs {
			if c := drain(s); (c.Merged == 1) != (k == i) || c.Merged > 1 {
				t.Fatalf("a signal for %d woke %d: %+v", i, k, c)
			}
		}
	}
	untold := 0
	for i, s := range subs {
		if rs.remove(rules[i], s) != nil {
			untold++
		}
	}
	if untold != told || len(rs.byPath)+len(rs.alike) != 0 {
		t.Errorf("%d rules were taken back of %d; left: %+v, %+v", untold, told, rs.byPath, rs.alike)
	}
}

func TestArg0IsText(t *testing.T) {
	for _, body := range [][]any{nil, {1}, {"x"}} {
		if fits(bus.Match{Arg0: "1"}, "i.f", "M", &dbus.Signal{Body: body}) {
			t.Errorf("%v fits", body)
		}
	}
}

func TestRulesCountTheirSubscriptions(t *testing.T) {
	var rs rules
	m := bus.Match{Path: "/p"}
	a, b := host.NewWakeups(func(*host.Wakeups) {}), host.NewWakeups(func(*host.Wakeups) {})
	one, made := rs.add(m, a)
	two, again := rs.add(m, b)
	if !made || again || one != two {
		t.Error("one rule serves both")
	}
	rs.deliver("i.f", "M", &dbus.Signal{Path: "/p"})
	rs.deliver("i.f", "M", &dbus.Signal{Path: "/q"})
	if x, y := drain(a), drain(b); x.Merged != 1 || y.Merged != 1 {
		t.Errorf("%+v, %+v", x, y)
	}
	rs.resync()
	if c := drain(a); !c.Resync {
		t.Errorf("%+v", c)
	}
	if rs.remove(one, a) != nil || rs.remove(one, b) == nil || rs.remove(one, b) != nil || len(rs.byPath) != 0 {
		t.Error("the last one takes the rule along, once")
	}
}
