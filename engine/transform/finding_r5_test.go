package transform_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/traits"
)

// guided is a resource as the guide has it: with a GroupCmp, and without a GroupKey.
type guided struct {
	*thing // all but the groups
	traits.Groupable
	compared *int
}

func (x *guided) GroupKey() string           { return x.Groupable.GroupKey() }
func (x *guided) SetGroup(list []engine.Res) { x.Groupable.SetGroup(list) }
func (x *guided) Group() []engine.Res        { return x.Groupable.Group() }

// GroupCmp takes those with an equal want; one with the want none takes nobody.
func (x *guided) GroupCmp(r engine.GroupableRes) error {
	*x.compared++
	if o := r.(*guided); x.key == "none" || x.key != o.key {
		return errors.New("they differ")
	}
	return nil
}

// plain is a resource that embeds the trait, and says nothing of groups.
type plain struct {
	*thing
	traits.Groupable
}

func (x *plain) GroupKey() string                     { return x.Groupable.GroupKey() }
func (x *plain) GroupCmp(r engine.GroupableRes) error { return x.Groupable.GroupCmp(r) }
func (x *plain) SetGroup(list []engine.Res)           { x.Groupable.SetGroup(list) }
func (x *plain) Group() []engine.Res                  { return x.Groupable.Group() }

// guidedGraph returns a graph of n resources that have the keys in turn.
func guidedGraph(t *testing.T, n int, compared *int, keys ...string) *resgraph.Graph {
	t.Helper()
	names := many("v%d", n)
	g := build(t, keyed(names), names)
	for i := range g.Len() {
		x := g.Value(i).Res.(*thing)
		x.key = keys[i%len(keys)]
		g.SetValue(i, &resgraph.Vertex{Res: &guided{thing: x, compared: compared}})
	}
	return g
}

// TestFindingR5GroupCmpAlone: GroupCmp alone groups, also where many kinds of members come in turn; a key changes only the cost.
func TestFindingR5GroupCmpAlone(t *testing.T) {
	compared := 0
	out, _ := run(t, transform.AutoGroup(), guidedGraph(t, 5, &compared, "a", "b"))
	same(t, "groups", groups(out), "v0+v2+v4", "v1+v3")
	keys := make([]string, 100) // more than a bucket of one key would look back
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	out, _ = run(t, transform.AutoGroup(), guidedGraph(t, 300, &compared, keys...))
	if out.Len() != 100 {
		t.Errorf("300 resources of 100 sorts run as %d", out.Len())
	}
}

// TestFindingR5Alone: a resource that says nothing of groups stays alone, and so does one that refuses itself; neither costs comparisons with others.
func TestFindingR5Alone(t *testing.T) {
	compared := 0
	out, _ := run(t, transform.AutoGroup(), guidedGraph(t, 3000, &compared, "none"))
	if out.Len() != 3000 || compared > 3000 {
		t.Errorf("%d vertices after %d comparisons", out.Len(), compared)
	}
	names := many("v%d", 10)
	g := build(t, keyed(names), names)
	for i := range g.Len() {
		g.SetValue(i, &resgraph.Vertex{Res: &plain{thing: g.Value(i).Res.(*thing)}})
	}
	if out, notes := run(t, transform.AutoGroup(), g); out != g || len(notes) > 0 {
		t.Errorf("%d vertices, %q", out.Len(), notes)
	}
}

// TestFindingM1Ungrouped: with NoAutoGroup, a change of what could run in a group goes without the whole graph.
func TestFindingM1Ungrouped(t *testing.T) {
	var memory transform.Memory
	for _, off := range []bool{true, false} {
		names := many("v%d", 3)
		c, err := transform.Compile(t.Context(), build(t, keyed(names), names), transform.Options{NoAutoGroup: off, Memory: &memory})
		if err != nil {
			t.Fatal(err)
		}
		memory.Keep()
		change, err := c.Parts(&memory).Change(t.Context(), nil, build(t, keyed("v1"), "v1"))
		if err != nil || (change.Whole == "") != off {
			t.Errorf("without groups %t: %q, %v", off, change.Whole, err)
		}
	}
}
