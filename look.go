package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Looker looks at things as they are now, without a graph: those of a kind that is
// engine.Readable or engine.Listable. Make it with NewLooker, use it from one
// goroutine, and close it. It alters nothing; Engine.Set does.
//
// A look is what the engine does with a resource, without Watch and CheckApply: New,
// the parameters, Validate, Init with the machine's host, Read, Cleanup. A panic of
// the resource is an error. The shared part of resources is opened once; all looks of
// one Read or List are between its Begin and its End.
type Looker struct {
	opt    Options
	host   *host.Host
	shared map[string]*lookShared
	state  string // made when a resource asks for it
	remove func() error
}

// Target is a thing to look at, or to set.
type Target struct {
	gapi.Declaration          // Res, Recv and the references are of no use here; of Meta, a look knows backend
	Secret           []string // parameters that must not be shown, though their type is plain
}

// Sight is what was seen of a thing.
type Sight struct {
	gapi.Shown
	Res engine.Res // of the same kind and name; nil where there is no such thing
}

// NewLooker returns a Looker. It uses only the options on the caller (Program,
// Version, Hostname), on the surroundings (Registry, World, StateDir) and on
// logging. Without a StateDir, a resource that keeps state has a temporary folder.
func NewLooker(o Options) (*Looker, error) {
	e, err := New(o)
	if err != nil {
		return nil, err
	}
	o = e.opt
	// The host ends with Close, after what uses it.
	h, err := host.New(context.Background(), host.Options{Logger: o.Logger, Roles: o.Roles})
	if err != nil {
		return nil, err
	}
	return &Looker{opt: o, host: h, shared: map[string]*lookShared{}}, nil
}

// Close releases everything. A sequence that is not over must not be used after it.
func (l *Looker) Close() error {
	errs := []error{l.closeShared(), l.host.Close()}
	if l.remove != nil {
		errs = append(errs, l.remove())
	}
	return errors.Join(errs...)
}

// Abandon kills the commands that a look waits for. Callable from any goroutine.
func (l *Looker) Abandon() { l.host.KillAll() }

// ErrBlind is the error of a kind that can't be looked at in that way.
var ErrBlind = errors.New("things of that kind can't be looked at")

// Read looks at things one after the other, and yields each, or why it could not be
// seen: schema.Diagnostics where the target is wrong. Parameters steer the look where
// the kind has such; a required one may be missing. The sequence ends when the context
// does.
func (l *Looker) Read(ctx context.Context, targets ...Target) iter.Seq2[Sight, error] {
	return func(yield func(Sight, error) bool) {
		defer l.rest()
		for _, t := range targets {
			s, err := l.read(ctx, t)
			if ctx.Err() != nil || !yield(s, err) {
				return
			}
		}
	}
}

func (l *Looker) read(ctx context.Context, t Target) (s Sight, err error) {
	x, err := l.open(ctx, t)
	if err != nil {
		return s, err
	}
	defer x.close(&err)
	if s, err = x.read(ctx); err != nil {
		err = fmt.Errorf("%s: %w", t.id(), err)
	}
	return s, err
}

// looked is a resource that is looked at.
type looked struct {
	l      *Looker
	kind   engine.Kind
	res    engine.Res
	base   engine.Res // with the defaults
	hidden []string
	shared *lookShared
	woken  chan struct{} // of capacity one: Running or Event was called
}

// open makes the resource of a target and initialises it. Close it.
func (l *Looker) open(ctx context.Context, t Target) (*looked, error) {
	t.Declaration = gapi.Qualified(l.opt.Registry, t.Declaration)
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
	r, ok := engine.As[engine.RecvableRes](x.res)
	if !ok {
		return protect("Validate", x.res.Validate)
	}
	coming := map[string]*engine.Send{}
	for _, f := range x.kind.Type.Fields {
		if f.Role != schema.RoleIdentity && t.Value.Get(f.Key) == nil {
			coming[f.Key] = &engine.Send{Res: schema.Ref{Kind: x.kind.Name, Name: t.Name}, Key: f.Key}
		}
	}
	return protect("Validate", func() error {
		r.SetRecv(coming)
		defer r.SetRecv(nil)
		return r.Validate()
	})
}

// openBare makes a resource without a name, to list its kind.
func (l *Looker) openBare(ctx context.Context, t Target) (*looked, error) {
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
		message = t.id() + ": " + message
	}
	return schema.Diagnostics{{Pos: t.Pos, Resource: t.id(), Message: message}}
}

// make makes the resource of a target.
func (l *Looker) make(t Target) (x *looked, err error) {
	defer engine.Caught("making it", &err)
	name := strings.ToLower(t.Kind)
	x = &looked{l: l, hidden: t.Secret, woken: make(chan struct{}, 1)}
	if x.kind, err = l.opt.Registry.Kind(name); err != nil {
		return nil, err
	}
	x.res, err = l.opt.Registry.New(name)
	if err == nil {
		x.base, err = l.opt.Registry.New(name)
	}
	if err != nil {
		return nil, err
	}
	meta := *x.res.MetaParams() // decoding may overwrite the whole struct
	if err := lacking(x.kind.Type, t.Value, schema.Decode(valueOf(x.kind, t), x.res)).Err(); err != nil {
		return nil, err
	}
	x.res.SetKind(name)
	x.res.SetName(t.Name)
	*x.res.MetaParams() = meta
	return x, x.choose(t)
}

// choose has the backend do it that the target names.
func (x *looked) choose(t Target) error {
	named := t.Meta.Get("backend")
	if named == nil {
		return nil
	}
	if d := gapi.RefuseBackend(x.res, named.Text); d != nil {
		d.Pos, d.Path = cmp.Or(named.Pos, t.Pos), "meta.backend"
		if t.Name != "" {
			d.Resource = t.id()
		}
		if d.Pos.IsZero() && t.Name != "" {
			d.Message = t.id() + ": " + d.Message
		}
		return schema.Diagnostics{*d}
	}
	x.res.MetaParams().Backend = named.Text
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

// lacking leaves out of findings those about required parameters that are missing: to
// look, they are not needed.
func lacking(ty *schema.Type, value *schema.Node, ds schema.Diagnostics) schema.Diagnostics {
	return slices.DeleteFunc(ds, func(d schema.Diagnostic) bool {
		f := ty.Field(d.Path)
		return f != nil && f.Required && value.Get(f.Key) == nil
	})
}

// init opens what the resource shares, and initialises it.
func (x *looked) init(ctx context.Context) (err error) {
	if x.shared, err = x.l.share(ctx, x.res); err != nil {
		return err
	}
	return protect("Init", func() error { return x.res.Init(x.handle()) })
}

// close cleans up and adds what went wrong to err.
func (x *looked) close(err *error) {
	*err = errors.Join(*err, protect("Cleanup", x.res.Cleanup))
}

// read looks once.
func (x *looked) read(ctx context.Context) (s Sight, err error) {
	if err = x.shared.begin(); err != nil {
		return s, err
	}
	var res engine.Res
	err = protect("Read", func() (err error) {
		res, err = x.res.(engine.Readable).Read(ctx)
		return err
	})
	if err != nil {
		return s, err
	}
	return x.sight(x.res.Name(), res)
}

// sight is what a resource shows.
func (x *looked) sight(name string, res engine.Res) (s Sight, err error) {
	if !gapi.IsNoRes(res) {
		s.Res = res
	}
	s.Shown, err = gapi.Show(x.kind, name, x.base, s.Res, x.hidden)
	s.Shown.Backend = x.res.MetaParams().Backend
	return s, err
}
