package transform_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/traits"
)

// surveyed is a thing that is more than it says.
type surveyed struct {
	thing
	do func(members []engine.Res) ([]engine.Surveyed, error)
}

func (x *surveyed) Survey(_ context.Context, _ engine.Host, members []engine.Res) ([]engine.Surveyed, error) {
	return x.do(members)
}

// survey makes a graph of a thing "z" that wants x and y, and of things that are surveyed, with their keys.
func survey(t *testing.T, do func([]engine.Res) ([]engine.Surveyed, error), keys ...string) *resgraph.Graph {
	t.Helper()
	g := graph.New[*resgraph.Vertex]("g")
	var all []engine.Res
	for i, key := range keys {
		x := &surveyed{do: do}
		x.key = key
		x.SetName(string(rune('a' + i)))
		all = append(all, x)
	}
	z := &thing{wants: []string{"x", "y"}}
	z.SetName("z")
	for _, r := range append(all, z) {
		r.SetKind("thing")
		if _, err := g.Add(r.String(), &resgraph.Vertex{Res: r}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// TestFindingB5Survey: those of one key are surveyed by one call, what that finds is found by who asks, and the note says how it is known.
func TestFindingB5Survey(t *testing.T) {
	var calls []string
	g := survey(t, func(members []engine.Res) ([]engine.Surveyed, error) {
		var names []string
		all := make([]engine.Surveyed, len(members))
		for i, m := range members {
			names = append(names, m.Name())
			if m.Name() == "c" {
				all[i] = engine.Surveyed{UIDs: []autoedge.UID{traits.FileUID(autoedge.UIDOf(m), "x")}, Why: "which a list says"}
			}
		}
		calls = append(calls, strings.Join(names, ""))
		return all, nil
	}, "k", "l", "k")
	out, notes := run(t, transform.AutoEdge(enginetest.NewHost()), g)
	same(t, "calls", calls, "ac", "b")
	same(t, "edges", edges(out), "c~z")
	same(t, "notes", notes, "autoedge: edge added: c -> z: z wants x, which a list says")
}

// TestFindingB5SurveyFails: a survey that fails, panics, or answers for others costs only what it would have found, and is told.
func TestFindingB5SurveyFails(t *testing.T) {
	for word, do := range map[string]func([]engine.Res) ([]engine.Surveyed, error){
		"no lists":  func([]engine.Res) ([]engine.Surveyed, error) { return nil, errors.New("no lists") },
		"oh":        func([]engine.Res) ([]engine.Surveyed, error) { panic("oh") },
		"1 members": func([]engine.Res) ([]engine.Surveyed, error) { return nil, nil },
	} {
		g := survey(t, do, "k")
		g.Value(0).Res.(*surveyed).is = []string{"y"}
		out, notes := run(t, transform.AutoEdge(enginetest.NewHost()), g)
		same(t, "edges", edges(out), "a~z")
		if !slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n, "skipped") && strings.Contains(n, word) && strings.Contains(n, "a")
		}) {
			t.Errorf("%s: notes %q", word, notes)
		}
	}
}
