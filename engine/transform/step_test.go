package transform_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
)

func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	return ctx
}

// The steps run in order, each on what the one before has made; an error, or a
// panic, of one is the end, and names it.
func TestRun(t *testing.T) {
	var ran []string
	step := func(name string, f func(*resgraph.Graph, *transform.Notes) (*resgraph.Graph, error)) transform.Step {
		return transform.Step{Name: name, Apply: func(_ context.Context, g *resgraph.Graph, n *transform.Notes) (*resgraph.Graph, error) {
			ran = append(ran, name)
			return f(g, n)
		}}
	}
	other := build(t, nil, "x")
	one := step("one", func(_ *resgraph.Graph, n *transform.Notes) (*resgraph.Graph, error) {
		n.Tell(transform.Skipped, "why", "v")
		n.Explain(transform.Grouped, func() string { t.Error("nobody wants it explained"); return "" }, "v")
		return other, nil
	})
	two := step("two", func(g *resgraph.Graph, n *transform.Notes) (*resgraph.Graph, error) {
		if g != other {
			t.Error("it is given another graph")
		}
		n.Tell(transform.EdgeLeftOut, "so", "v", "w")
		return g, nil
	})
	n := &transform.Notes{}
	out, err := transform.Run(t.Context(), build(t, nil, "a"), []transform.Step{one, two}, n)
	if out != other || err != nil || len(n.List) != 2 ||
		n.List[0].String() != "one: skipped: v: why" || n.List[1].String() != "two: edge left out: v -> w: so" {
		t.Errorf("%v, %v, %v", out, err, n.List)
	}
	bad := step("bad", func(*resgraph.Graph, *transform.Notes) (*resgraph.Graph, error) { return nil, errors.New("no") })
	oops := step("oops", func(*resgraph.Graph, *transform.Notes) (*resgraph.Graph, error) { panic("oh") })
	ran = nil
	for want, s := range map[string]transform.Step{"bad: no": bad, "oops: oops panicked: oh": oops} {
		if out, err := transform.Run(t.Context(), other, []transform.Step{s, two}, nil); out != nil || err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if len(ran) != 2 || strings.Contains(strings.Join(ran, " "), "two") {
		t.Errorf("%q ran", ran)
	}
}
