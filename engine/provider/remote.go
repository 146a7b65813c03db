package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/targets"
)

const (
	targetKey = targets.Key
	targetDoc = "The target that the thing is on, by its name in the files of targets; this machine if absent. In edges, logs and other verbs the resource is called NAME@TARGET."
)

// Targeted reports whether the kind has the feature remote_resource.
func (r *res) Targeted() bool { return r.kind.has(RemoteResource) }

// Target returns the name of the target that the resource is about, empty for this machine.
func (r *res) Target() string {
	if !r.kind.has(RemoteResource) {
		return ""
	}
	v, err := schema.Get(r, targetKey)
	if err != nil {
		return ""
	}
	name, _ := v.(string)
	return name
}

// title is what the provider calls the resource: the same on every target.
func (r *res) title() string { return targets.Unqualify(r.Name(), r.Target()) }

// reachable says why the provider of the kind can't work on a target.
func (k *Kind) reachable(target string) error {
	if target == "" {
		return nil
	}
	t := k.targets.find(target)
	if t == nil {
		return noTarget(target, k.targets)
	}
	if over := k.def.Transports; len(over) > 0 && !slices.Contains(over, t.Transport) {
		return fmt.Errorf("the target %s is reached by the transport %s, and a %s works over %s only", target, t.Transport, k.def.Name, strings.Join(over, ", "))
	}
	return nil
}

// noTarget says that there is no target of a name.
func noTarget(name string, ts *Targets) error {
	var names []string
	if ts != nil {
		names = ts.Names()
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no target %q, nor any other: --targets names the folder with their files", shorten(name))
	}
	hint := ""
	if near := schema.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Errorf("there is no target %q: there are %s%s", shorten(name), strings.Join(names, ", "), hint)
}

// find returns a target that is declared.
func (ts *Targets) find(name string) *Target {
	if l := ts.line(name); l != nil {
		return l.declared()
	}
	return nil
}

// away is where a controller's things are, if not on this machine.
type away struct {
	line *line
	name string
	at   *opened // of the call that is being made
}

// far returns the controller's place for a target, nil for this machine.
func (k *Kind) far(target string) *away {
	if target == "" {
		return nil
	}
	l := k.targets.line(target)
	if l == nil {
		l = newLine(nil) // Validate has said so
	}
	l.join()
	return &away{line: l, name: target}
}

// reach connects, if the controller's things are on a target. While that is away the type is unavailable there,
// with a pause that grows. It holds the turn.
func (c *controller) reach(ctx context.Context, due []Name) error {
	if c.away == nil {
		return nil
	}
	if !c.down.over(c.clock()) {
		return c.down.err
	}
	at, err := c.away.line.reach(ctx, c.away.name, c.host)
	if err == nil {
		c.away.at = at
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	return c.unavailable(err, due)
}

// unavailable notes that the things of the type can't be read, and wakes all but the due ones.
func (c *controller) unavailable(err error, due []Name) error {
	again := c.down.err != nil
	err = &UnavailableError{Type: c.kind.def.Name, Err: err}
	c.down.begin(c.clock(), err)
	if !again {
		c.wakeAll(due)
	}
	return err
}

// lost says whether an error of a call is one of the target. Then nothing that was read counts any more.
func (c *controller) lost(ctx context.Context, resources []string, err error) error {
	if c.away == nil || c.away.at == nil || err == nil {
		return err
	}
	err = c.away.line.doubt(ctx, c.away.at, resources, err)
	if _, ok := errors.AsType[*TargetError](err); ok {
		c.snap.doubt(Filter{All: true})
	}
	return err
}

// there completes a runtime with the target.
func (c *controller) there(rt *Runtime) *Runtime {
	if c.away == nil {
		return rt
	}
	rt.Target = c.away.name
	rt.Host = farHost{Host: rt.Host, away: *c.away}
	if at := c.away.at; at != nil {
		rt.Transport, rt.at = at.Transport, at
		rt.Log.book.secrets.AddAll(at.hidden)
	}
	return rt
}

// farHost is the machine of a target, as far as the transport reaches. A request of the provider that the transport can't
// serve is an error, and never an answer about this machine.
type farHost struct {
	engine.Host // this machine
	away        away
}

// Watch is not there.
func (h farHost) Watch(context.Context, []string, events.Options) (events.Subscription, error) {
	return nil, errors.New("files of a target can't be watched")
}

// Bus is not there.
func (h farHost) Bus(context.Context, bus.Kind) (bus.Bus, error) {
	return nil, errors.New("a target has no bus here")
}

// Command runs a command on the target.
func (h farHost) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if h.away.at == nil {
		return nil, errors.New("there is no connection")
	}
	t, ok := h.away.at.Transport.(Commander)
	if !ok {
		return nil, errNoCommands
	}
	return t.Command(ctx, c)
}

// Facts are not those of this machine.
func (h farHost) Facts() engine.Facts { return engine.Facts{} }

// WatchFacts is not there.
func (h farHost) WatchFacts(context.Context) (events.Subscription, error) {
	return nil, errors.New("facts of a target can't be watched")
}
