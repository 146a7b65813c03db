package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
)

// Options configure an Inspector. The zero value is usable.
type Options struct {
	Program, Version string // given to resources
	Hostname         string // given to resources; asked of the system when empty
	Roles            []string

	Registry *engine.Registry // the kinds; engine.DefaultRegistry when nil
	World    world.World      // in memory when nil
	StateDir string           // of a run, in which nothing is made; empty for a temporary folder

	Logger *slog.Logger // discards when nil
	Debug  bool
}

// Inspector looks at things of the kinds that are engine.Readable or engine.Listable. Make it with
// New, use it from one goroutine, and close it.
type Inspector struct {
	reg  *engine.Registry
	log  *slog.Logger
	host *host.Host
	env  *lifecycle.Env
}

// New returns an Inspector. It runs nothing before the first look.
func New(o Options) (*Inspector, error) {
	l := &Inspector{reg: cmp.Or(o.Registry, engine.DefaultRegistry()), log: o.Logger}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if o.World == nil {
		o.World = memory.New()
	}
	var err error
	// The host ends with Close, after what uses it.
	if l.host, err = host.New(context.Background(), host.Options{Logger: l.log, Roles: o.Roles}); err != nil {
		return nil, err
	}
	l.env = lifecycle.NewEnv(lifecycle.Options{
		Program: o.Program, Version: o.Version, Hostname: cmp.Or(o.Hostname, l.host.Facts().Hostname),
		Host: l.host, World: o.World, Logger: l.log, Debug: o.Debug,
		StateDir: o.StateDir, ReadOnly: o.StateDir != "", TempState: true, KeepShared: true,
	})
	return l, nil
}

// Target is a thing to look at, or to set.
type Target struct {
	gapi.Declaration          // Res, Recv and the references are of no use here; of Meta, a look knows backend
	Secret           []string // parameters that must not be shown, though their type is plain
}

// Observation is what was seen of a thing.
type Observation struct {
	gapi.Shown
	Res engine.Res // of the same kind and name; nil where there is no such thing
}

// ID returns kind[name].
func (t Target) ID() string { return schema.Ref{Kind: strings.ToLower(t.Kind), Name: t.Name}.ID() }

// Close releases everything. A sequence that is not over must not be used after it.
func (l *Inspector) Close() error { return errors.Join(l.env.Close(), l.host.Close()) }

// Abandon kills the commands that a look waits for. Callable from any goroutine.
func (l *Inspector) Abandon() { l.host.KillAll() }

// ErrBlind is the error of a kind that can't be looked at in that way.
var ErrBlind = errors.New("things of that kind can't be looked at")

// Read looks at things one after the other, and yields each, or why it could not be
// seen: schema.Diagnostics where the target is wrong. Parameters steer the look where
// the kind has such; a required one may be missing. The sequence ends when the context
// does.
func (l *Inspector) Read(ctx context.Context, targets ...Target) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		defer l.rest()
		for _, t := range targets {
			s, err := l.read(ctx, t)
			if ctx.Err() != nil || !yield(s, err) {
				return
			}
		}
	}
}

func (l *Inspector) read(ctx context.Context, t Target) (s Observation, err error) {
	x, err := l.open(ctx, t)
	if err != nil {
		return s, err
	}
	defer x.close(&err)
	s, err = x.read(ctx)
	return s, x.fault(err)
}

// looked is a resource that is looked at.
type looked struct {
	lifecycle.Life

	l      *Inspector
	kind   engine.Kind
	base   engine.Res // with the defaults
	hidden []string
	woken  chan struct{} // of capacity one: Running or Event was called
}

// open makes the resource of a target and initialises it. Close it.
func (l *Inspector) open(ctx context.Context, t Target) (*looked, error) {
	t.Declaration = gapi.Qualified(l.reg, t.Declaration)
	x, err := l.make(t)
	if err == nil && !x.kind.Abilities.Readable {
		err = ErrBlind
	}
	if err == nil {
		err = x.validate(t)
	}
	if err != nil {
		return nil, targetError(t, err)
	}
	return x, x.init(ctx)
}

// validate asks the resource. A parameter that is required to set a thing is not
// required for a look: it is announced as one received later.
func (x *looked) validate(t Target) error {
	coming := map[string]*engine.Send{}
	for _, f := range x.kind.Type.Fields {
		if f.Role != schema.RoleIdentity && t.Value.Get(f.Key) == nil {
			coming[f.Key] = &engine.Send{Res: schema.Ref{Kind: x.kind.Name, Name: t.Name}, Key: f.Key}
		}
	}
	err := lifecycle.Validate(x.Res, coming)
	if err == nil {
		err = lifecycle.CheckMachine(x.Res, hosting.MachineOf(x.l.host))
	}
	return errors.Join(err, lifecycle.Receive(x.Res, nil))
}

// openBare makes a resource without a name, to list its kind.
func (l *Inspector) openBare(ctx context.Context, t Target) (*looked, error) {
	t.Name = ""
	x, err := l.make(t)
	if err == nil && !x.kind.Abilities.Listable {
		err = ErrBlind
	}
	if err != nil {
		return nil, err
	}
	return x, x.init(ctx)
}

// targetError returns an error about a target as findings, with its place.
func targetError(t Target, err error) error {
	if _, ok := errors.AsType[schema.Diagnostics](err); ok || errors.Is(err, ErrBlind) {
		return err
	}
	if _, ok := errors.AsType[*engine.UnknownKindError](err); ok {
		return err
	}
	message := err.Error()
	if t.Pos.IsZero() {
		message = t.ID() + ": " + message
	}
	return schema.Diagnostics{{Pos: t.Pos, Resource: t.ID(), Message: message}}
}

// make makes the resource of a target.
func (l *Inspector) make(t Target) (x *looked, err error) {
	name := strings.ToLower(t.Kind)
	x = &looked{l: l, hidden: t.Secret, woken: make(chan struct{}, 1)}
	if x.kind, err = l.reg.Kind(name); err != nil {
		return nil, err
	}
	if x.base, err = lifecycle.Make(l.reg, lifecycle.Wanted{Kind: name}, nil); err != nil {
		return nil, err
	}
	res, err := lifecycle.Make(l.reg, lifecycle.Wanted{Kind: name, Name: t.Name}, func(res engine.Res) error {
		return lifecycle.DecodePart(x.kind.Type, valueOf(x.kind, t), res).Err()
	})
	if err != nil {
		return nil, err
	}
	l.env.Join(&x.Life, t.ID(), res)
	if lifecycle.MayHoldSecret(x.kind.Type) {
		x.HideDeclared()
	}
	return x, x.choose(t)
}

// choose has the backend do it that the target names.
func (x *looked) choose(t Target) error {
	named := t.Meta.Get("backend")
	if named == nil {
		return nil
	}
	if d := gapi.RefuseBackend(x.Res, named.Text); d != nil {
		d.Pos, d.Path = cmp.Or(named.Pos, t.Pos), "meta.backend"
		if t.Name != "" {
			d.Resource = t.ID()
		}
		if d.Pos.IsZero() && t.Name != "" {
			d.Message = t.ID() + ": " + d.Message
		}
		return schema.Diagnostics{*d}
	}
	x.Res.MetaParams().Backend = named.Text
	return nil
}

// valueOf returns the value to decode: with the name, where the kind has a field for
// it.
func valueOf(k engine.Kind, t Target) *schema.Node {
	n := schema.Node{Kind: schema.NodeMap, Pos: t.Pos}
	if t.Value != nil {
		n = *t.Value
	}
	if k.Type.Field("name") != nil && t.Name != "" {
		name := &schema.Node{Kind: schema.NodeString, Pos: t.NamePos, Text: gapi.BareName(k, t.Declaration)}
		n.Pairs = append(slices.Clip(n.Pairs), schema.Pair{Key: "name", Pos: t.NamePos, Value: name})
	}
	return &n
}

// init opens what the resource shares, and initialises it.
func (x *looked) init(ctx context.Context) error {
	err := x.Init(ctx, func(h *engine.Init) {
		h.Noop = true
		h.Running, h.Event = x.wake, x.wake
	})
	if err != nil {
		return x.fault(err)
	}
	return nil
}

func (x *looked) wake() {
	select {
	case x.woken <- struct{}{}:
	default:
	}
}

// fault names the resource in an error of it, and leaves secrets out.
func (x *looked) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", x.ID, x.Error(err))
}

// close cleans up and adds what went wrong to err.
func (x *looked) close(err *error) { *err = errors.Join(*err, x.fault(x.Cleanup())) }

// read looks once.
func (x *looked) read(ctx context.Context) (s Observation, err error) {
	if err = x.Share().Begin(ctx); err != nil {
		return s, err
	}
	res, err := lifecycle.Read(ctx, x.Res)
	if err != nil {
		return s, err
	}
	return x.observe(x.Res.Name(), res)
}

// rest calls End for all that was begun. Failures are logged: nothing was to be
// altered.
func (l *Inspector) rest() {
	for _, s := range l.env.Shares() {
		if err := s.End(func() bool { return true }); err != nil {
			l.log.Warn("ending what is shared failed", slog.String("key", s.Key()), slog.Any("error", err))
		}
	}
}

// observe says how a resource shows itself.
func (x *looked) observe(name string, res engine.Res) (s Observation, err error) {
	s.Res = res
	s.Shown, err = gapi.Show(x.kind, name, x.base, s.Res, x.hidden)
	s.Shown.Backend = x.Res.MetaParams().Backend
	return s, err
}
