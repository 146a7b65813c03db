package mgmt

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// Group returns the resource of the graph in effect that runs the given one, and the other members of its
// automatic group in their order. A resource that is in no group runs itself, and
// there are no others. The error is a *reactor.UnknownResourceError if the graph has no such resource. Callable
// while Run is going on.
func (e *Engine) Group(ctx context.Context, resource string) (owner string, members []string, err error) {
	if _, err := e.running(ctx); err != nil {
		return "", nil, err
	}
	p := e.session.parts.Load()
	g := p.Grouped()
	i, ok := engine.FindVertex(g, resource)
	switch {
	case ok && len(g.Value(i).Special().Group) > 0:
	case p.Find(resource) != nil:
		return resource, nil, nil
	default:
		return "", nil, &reactor.UnknownResourceError{Resource: resource}
	}
	for _, m := range g.Value(i).Special().Group {
		members = append(members, m.Res.String())
	}
	return g.ID(i), members, nil
}

// owner returns the resource that runs another one; the name itself where the graph in effect does not
// have it.
func (e *Engine) owner(resource string) string {
	if g := e.session.parts.Load().Grouped(); resource != "" {
		if i, ok := engine.FindVertex(g, resource); ok {
			return g.ID(i)
		}
	}
	return resource
}

// owned asks about a resource by its name, and if no vertex has that name, about the
// resource that runs it. The name goes first: a paused resource may have left the graph.
func owned[T any](ctx context.Context, e *Engine, resource string, ask func(*reactor.Reactor, string) (T, error)) (T, error) {
	r, err := e.running(ctx)
	if err != nil {
		var none T
		return none, err
	}
	answer, err := ask(r, resource)
	if _, unknown := errors.AsType[*reactor.UnknownResourceError](err); !unknown {
		return answer, err
	}
	if id := e.owner(resource); id != resource {
		return ask(r, id)
	}
	return answer, err
}
