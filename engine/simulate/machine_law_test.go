package simulate_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/traits"
)

// lamp is a kind whose own code must never run on a simulated machine.
type lamp struct {
	traits.Base

	Colour string   `yaml:"colour" doc:"The colour."`
	Rooms  []string `yaml:"rooms" doc:"The rooms that have it."`
	Watts  int      `yaml:"watts" mgmt:"required" doc:"The power."`
}

var errReal = errors.New("the code of the real kind runs")

func (*lamp) Default() engine.Res                            { return &lamp{} }
func (*lamp) Validate() error                                { return nil }
func (*lamp) Init(*engine.Init) error                        { return errReal }
func (*lamp) Cleanup() error                                 { return errReal }
func (*lamp) Watch(context.Context) error                    { return errReal }
func (*lamp) CheckApply(context.Context, bool) (bool, error) { return false, errReal }
func (x *lamp) Cmp(o engine.Res) error {
	if other, ok := o.(*lamp); !ok || x.Colour != other.Colour {
		return errors.New("another lamp")
	}
	return nil
}

// lit returns a machine, its registry and one simulated lamp with a red light, and what it reports.
func lit(t *testing.T) (*simulate.Machine, engine.Res, *[]engine.Change) {
	t.Helper()
	kinds := engine.NewRegistry()
	if err := kinds.Register("lamp", func() engine.Res { return &lamp{} }); err != nil {
		t.Fatal(err)
	}
	m := simulate.NewMachine()
	all, err := m.Kinds(kinds)
	if err != nil {
		t.Fatal(err)
	}
	r, err := all.New("lamp")
	if err != nil {
		t.Fatal(err)
	}
	r.SetName("hall")
	if err := schema.Decode(node("colour", text("red"), "rooms", list("hall"), "watts", number("5")), r).Err(); err != nil {
		t.Fatal(err)
	}
	var said []engine.Change
	err = r.Init(&engine.Init{
		Change: func(c engine.Change) { said = append(said, c) }, Running: func() {}, Event: func() {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, r, &said
}

func text(s string) *schema.Node   { return &schema.Node{Kind: schema.NodeString, Text: s} }
func number(s string) *schema.Node { return &schema.Node{Kind: schema.NodeInt, Text: s} }
func list(s string) *schema.Node {
	return &schema.Node{Kind: schema.NodeList, Items: []*schema.Node{text(s)}}
}

// node makes a map of keys and values in turn.
func node(pairs ...any) *schema.Node {
	n := &schema.Node{Kind: schema.NodeMap}
	for i := 0; i < len(pairs); i += 2 {
		n.Pairs = append(n.Pairs, schema.Pair{Key: pairs[i].(string), Value: pairs[i+1].(*schema.Node)})
	}
	return n
}

// check runs CheckApply, and compares the verdict.
func check(t *testing.T, r engine.Res, apply, want bool) {
	t.Helper()
	if ok, err := r.CheckApply(t.Context(), apply); err != nil || ok != want {
		t.Errorf("CheckApply(apply %t) = %t, %v; want %t", apply, ok, err, want)
	}
}

// TestLookAltersNothing: without apply the machine stays as it is, with apply it becomes as wanted,
// and a second look finds no difference. None of that runs the code of the kind.
func TestLookAltersNothing(t *testing.T) {
	m, r, said := lit(t)
	check(t, r, false, false)
	if thing, ok := m.Thing("lamp[hall]"); ok {
		t.Errorf("a look made %v", thing)
	}
	check(t, r, true, false)
	if thing, _ := m.Thing("lamp[hall]"); thing["colour"] != "red" {
		t.Errorf("the thing is %v, want a red one", thing)
	}
	*said = nil
	check(t, r, true, true)
	if len(*said) != 0 {
		t.Errorf("a lamp that is as wanted reports %v", *said)
	}
	if err := r.Cleanup(); err != nil {
		t.Errorf("Cleanup: %v", err)
	}
}

// TestDriftIsNamed: a parameter that was altered is reported with both values, and put right. One
// that the graph does not set stays.
func TestDriftIsNamed(t *testing.T) {
	m, r, said := lit(t)
	check(t, r, true, false)
	*said = nil
	m.Put("lamp[hall]", map[string]any{"colour": "blue", "age": 7})
	check(t, r, true, false)
	if len(*said) != 1 || (*said)[0].Field != "colour" || (*said)[0].From != "blue" || (*said)[0].To != "red" {
		t.Errorf("reported %+v, want one change of colour from blue to red", *said)
	}
	if thing, _ := m.Thing("lamp[hall]"); thing["colour"] != "red" || thing["age"] != 7 {
		t.Errorf("the thing is %v", thing)
	}
}

// TestThingsAreCopied: neither the value that was put nor the one that was got leads into the machine.
func TestThingsAreCopied(t *testing.T) {
	m := simulate.NewMachine()
	rooms := []any{"hall", map[string]any{"floor": "1"}}
	m.Put("lamp[hall]", map[string]any{"rooms": rooms})
	rooms[0] = "cellar"
	got, _ := m.Thing("lamp[hall]")
	if in := got["rooms"].([]any); in[0] != "hall" {
		t.Errorf("a value that was put is altered from outside: %v", in)
	}
	got["rooms"].([]any)[1].(map[string]any)["floor"] = "2"
	again, _ := m.Thing("lamp[hall]")
	if floor := again["rooms"].([]any)[1].(map[string]any)["floor"]; floor != "1" {
		t.Errorf("a value that was got alters the machine: floor %v", floor)
	}
}

// TestRefusals: a thing with a fault can't be altered. A refused change alters nothing,
// also where it was only looked for, and a lamp that is as wanted is refused nothing.
func TestRefusals(t *testing.T) {
	m, r, _ := lit(t)
	m.Fail("lamp[hall]", "the bulb is stuck")
	for _, apply := range []bool{false, true} {
		if _, err := r.CheckApply(t.Context(), apply); err == nil || err.Error() != "the bulb is stuck" {
			t.Errorf("apply %t: %v, want the fault", apply, err)
		}
	}
	if thing, ok := m.Thing("lamp[hall]"); ok {
		t.Errorf("a refused change made %v", thing)
	}
	m.Put("lamp[hall]", map[string]any{"colour": "red", "rooms": []any{"hall"}, "watts": int64(5)})
	check(t, r, true, true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.CheckApply(ended, true); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// TestWoken: only a resource that watches is woken, at once by each change of its own thing.
func TestWoken(t *testing.T) {
	m, r, _ := lit(t)
	m.Put("lamp[hall]", nil)
	running := make(chan struct{})
	events := 0
	if err := r.Init(&engine.Init{Running: func() { close(running) }, Event: func() { events++ }, Change: func(engine.Change) {}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Watch(ctx); err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	<-running
	m.Remove("lamp[hall]")
	m.Put("lamp[cellar]", nil)
	check(t, r, false, false)
	m.Fail("lamp[hall]", "stuck")
	cancel()
	wg.Wait()
	m.Put("lamp[hall]", nil)
	if events != 2 {
		t.Errorf("%d events, want one for each of two changes", events)
	}
}

// TestParametersOfThings: a thing needs a name that is a word; its other keys are checked as those of
// the kind, but for the required ones that are not there.
func TestParametersOfThings(t *testing.T) {
	kinds := engine.NewRegistry()
	if err := kinds.Register("lamp", func() engine.Res { return &lamp{} }); err != nil {
		t.Fatal(err)
	}
	ref, set, ds := simulate.Parameters(kinds, "lamp", node("name", text("hall"), "colour", text("red")))
	if ref.ID() != "lamp[hall]" || len(set) != 1 || set["colour"] != "red" || ds.Err() != nil {
		t.Errorf("Parameters = %q, %v, %v", ref, set, ds)
	}
	for name, c := range map[string]struct {
		kind string
		n    *schema.Node
		want string
	}{
		"no name":      {"lamp", node("colour", text("red")), "a map with a name"},
		"no map":       {"lamp", text("hall"), "a map with a name"},
		"a list":       {"lamp", list("hall"), "a map with a name"},
		"name a list":  {"lamp", node("name", list("hall")), "a map with a name"},
		"name a map":   {"lamp", node("name", node("x", text("y"))), "a map with a name"},
		"name empty":   {"lamp", node("name", text("")), "a map with a name"},
		"unknown kind": {"lantern", node("name", text("hall")), "lantern"},
		"unknown key":  {"lamp", node("name", text("hall"), "color", text("red")), "color"},
		"wrong type":   {"lamp", node("name", text("hall"), "watts", list("5")), "watts"},
	} {
		if ref, set, ds := simulate.Parameters(kinds, c.kind, c.n); ds.Err() == nil || !strings.Contains(ds.Err().Error(), c.want) || ref.Kind != "" || set != nil {
			t.Errorf("%s: %q, %v, %v; want an error with %q", name, ref, set, ds.Err(), c.want)
		}
	}
}

// beacon is a lamp that may stand on another machine.
type beacon struct {
	lamp `yaml:",inline"`

	On string `yaml:"target" doc:"The machine that it stands on."`
}

func (*beacon) Default() engine.Res { return &beacon{} }
func (*beacon) Targeted() bool      { return true }
func (b *beacon) Target() string    { return b.On }

// TestTargets: a simulated resource of a kind with targets has them too, so that its name in a graph is the same as on a real
// machine. The name of a thing has its target as well.
func TestTargets(t *testing.T) {
	kinds := engine.NewRegistry()
	if err := kinds.Register("beacon", func() engine.Res { return &beacon{} }); err != nil {
		t.Fatal(err)
	}
	all, err := simulate.NewMachine().Kinds(kinds)
	if err != nil {
		t.Fatal(err)
	}
	if k, err := all.Kind("beacon"); err != nil || !k.Abilities.Targeted {
		t.Errorf("its abilities are %v, %v", k.Abilities, err)
	}
	r, err := all.New("beacon")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Set(r, "target", "tower"); err != nil || targets.Of(r) != "tower" {
		t.Errorf("its target is %q, %v", targets.Of(r), err)
	}
	ref, _, ds := simulate.Parameters(kinds, "beacon", node("name", text("top"), "target", text("tower")))
	if ref.ID() != "beacon[top@tower]" || ds.Err() != nil {
		t.Errorf("the thing is %s, %v", ref.ID(), ds)
	}
}
