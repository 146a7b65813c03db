package provider

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Kind is a type that was checked and has a provider. It is immutable.
type Kind struct {
	def     Definition
	attrs   []compiled
	byName  map[string]*compiled
	names   []*compiled // the namevars
	ensure  *compiled   // nil where things can't be absent
	blank   bool        // there is nothing to compare: no property
	titles  []titlePattern
	params  *schema.Type // of a resource's parameters
	sends   *schema.Type // of what a resource sends
	strict  Strict
	presets []preset
	make    func() Provider
	chooser *dispatcher   // nil where the kind does not dispatch
	limit   time.Duration // of a reading
	targets *Targets      // that its resources may name; nil for none
	rooted  bool          // see Rooted
	apart   []string      // the attributes that need more than paths
	id      string        // no other kind of the process has it, even of the same name
}

// Strict says what to do about a record of Get that breaks the definition in a way
// that does not hinder the work: a value that does not fit its type, an unknown
// attribute, a form that is not canonical, a title that no pattern fits.
type Strict uint8

// The degrees of strictness.
const (
	StrictError   Strict = iota // it fails the resource
	StrictWarning               // it is logged
	StrictOff                   // it is let pass
)

// Option alters a Kind while it is made.
type Option func(*Kind)

// WithStrict sets how strict the runtime is about records; StrictError is the default.
func WithStrict(s Strict) Option { return func(k *Kind) { k.strict = s } }

// Rooted states that the provider opens every path by safepath.Of the Host of its Runtime, writes no files but those that it names
// as a Locator, and touches nothing else but for the attributes in apart. So a plan knows what it would write (engine.RootedRes).
func Rooted(apart ...string) Option {
	return func(k *Kind) { k.rooted, k.apart = true, apart }
}

// New checks a definition and makes a kind of it. The constructor is called for each
// transaction; it has no side effects. The error joins all that is wrong with the
// definition, each with its position, type and attribute.
func New(def Definition, make func() Provider, opts ...Option) (*Kind, error) {
	k := &Kind{def: def, make: make}
	k.def.Attributes = slices.Clone(def.Attributes)
	if err := k.def.Check().Err(); err != nil {
		return nil, err
	}
	if make == nil {
		return nil, fmt.Errorf("%s: the type %s has no provider", def.Pos, def.Name)
	}
	if err := k.compile(); err != nil {
		return nil, fmt.Errorf("the type %s: %w", def.Name, err)
	}
	for _, o := range opts {
		o(k)
	}
	k.id = fmt.Sprintf("provider %s %p", def.Name, k)
	return k, k.fits(make)
}

// compile derives a Kind from a checked definition.
func (k *Kind) compile() (err error) {
	if k.attrs, err = k.def.compile(); err != nil {
		return err
	}
	k.byName, k.blank = make(map[string]*compiled, len(k.attrs)), true
	for i := range k.attrs {
		a := &k.attrs[i]
		k.byName[a.Name] = a
		k.blank = k.blank && a.Role != Property && a.Role != InitOnly
		if a.Role == Namevar {
			k.names = append(k.names, a)
		}
	}
	k.ensure = k.byName[ensureKey]
	if k.titles, err = k.def.titlePatterns(); err != nil {
		return err
	}
	if k.params, err = schema.Build(k.lower("", func(Role) bool { return true })); err != nil {
		return err
	}
	k.sends, err = schema.Build(k.lower("what it sends", func(r Role) bool { return r != Parameter }))
	if err != nil {
		return err
	}
	return k.defaults()
}

const (
	ensureKey = "ensure" // as providers and definitions call it
	stateKey  = "state"  // as graphs call it
	present   = "present"
	absent    = "absent"
)

// defaults finds out the parameters of a resource when none is given.
func (k *Kind) defaults() error {
	to := schema.Data{Type: k.params, Value: reflect.New(k.params.Go).Interface()}
	for i := range k.attrs {
		a := &k.attrs[i]
		if !a.HasDefault || a.Default == nil {
			continue
		}
		plain := puppettype.Plain(clone(a.Default))
		if err := schema.Set(to, a.Name, plain); err != nil {
			return fmt.Errorf("the default of %s: %w", a.Name, err)
		}
		f := k.params.Field(a.Name)
		held := reflect.ValueOf(to.Value).Elem().FieldByIndex(f.Index).Elem()
		switch held.Kind() {
		case reflect.Bool, reflect.Int64, reflect.Float64, reflect.String:
			k.presets = append(k.presets, preset{f, plain, held, true})
		default:
			k.presets = append(k.presets, preset{f, plain, held, false})
		}
	}
	return nil
}

// roles says what the roles are called in a schema.
var roles = map[Role]schema.Role{
	Property: schema.RoleState, Namevar: schema.RoleIdentity, ReadOnly: schema.RoleReadOnly,
	InitOnly: schema.RoleInit, Parameter: schema.RoleParam,
}

// lower describes the attributes of some roles as a schema.
func (k *Kind) lower(name string, with func(Role) bool) *schema.Type {
	t := &schema.Type{Kind: schema.KindStruct, Name: name, Doc: k.def.Doc}
	for i := range k.attrs {
		a := &k.attrs[i]
		if !with(a.Role) {
			continue
		}
		f := &schema.Field{Key: k.key(a.Name), Type: a.typ.Lower(), Role: roles[a.Role], Doc: a.Doc, Lend: a.Lend}
		f.Type.Optional = true
		if f.Key != a.Name {
			f.Alias = a.Name
			f.Manifest = k.told(a.Name)
		}
		t.Fields = append(t.Fields, f)
	}
	if k.has(RemoteResource) && with(Parameter) {
		t.Fields = append(t.Fields, &schema.Field{
			Key: targetKey, Type: &schema.Type{Kind: schema.KindString, Optional: true}, Role: schema.RoleParam, Doc: targetDoc,
		})
	}
	return t
}

// key returns the name of an attribute in a graph: state is the word for ensure, unless
// the type has an attribute of that name.
func (k *Kind) key(attribute string) string {
	if attribute == ensureKey && k.byName[stateKey] == nil {
		return stateKey
	}
	return attribute
}

// told returns the name of an attribute in manifests: a type from a file keeps
// its own words there.
func (k *Kind) told(attribute string) string {
	if k.def.Pos.IsZero() {
		return k.key(attribute)
	}
	return attribute
}

// attribute returns the attribute that a graph calls so, nil where there is none.
func (k *Kind) attribute(key string) *compiled {
	if a := k.byName[key]; a != nil {
		return a
	}
	if key == k.key(ensureKey) {
		return k.ensure
	}
	return nil
}

// fits checks that the provider has the methods for its features.
func (k *Kind) fits(make func() Provider) (err error) {
	defer callsafe.Recover("the constructor of "+k.def.Name, &err)
	p := make()
	if p == nil {
		return fmt.Errorf("the type %s: its constructor has made no provider", k.def.Name)
	}
	var errs []error
	if c, ok := p.(Closer); ok {
		errs = append(errs, c.Close())
	}
	if _, ok := p.(Locator); k.rooted && !ok {
		errs = append(errs, fmt.Errorf("the type %s is rooted, and its provider %T does not name its files", k.def.Name, p))
	}
	byCommands, ok := p.(commands)
	if k.limit = readLimit; ok {
		k.limit = byCommands.timeout() + time.Second // which says better what has not ended
	}
	for _, c := range []struct {
		f    Features
		ok   bool
		what string
	}{
		{Canonicalize, is[Canonicalizer](p), "Canonicalize"},
		{CustomInSync, is[InSyncer](p), "InSync"},
		{Find, is[Finder](p), "Find"},
		{Refreshable, is[Refresher](p), "Refresh"},
	} {
		switch {
		case !k.has(c.f) || c.ok:
		case ok && (c.f == Canonicalize || c.f == CustomInSync):
			errs = append(errs, fmt.Errorf("the type %s has the feature %s, and no command %s", k.def.Name, c.f, c.f))
		case ok:
			errs = append(errs, fmt.Errorf("the type %s has the feature %s, which commands can't have, only a provider in Go", k.def.Name, c.f))
		default:
			errs = append(errs, fmt.Errorf("the type %s has the feature %s, but its provider %T has no method %s", k.def.Name, c.f, p, c.what))
		}
	}
	return errors.Join(errs...)
}

func is[T any](p Provider) bool { _, ok := p.(T); return ok }

func (k *Kind) has(f Features) bool { return k.def.Features&f != 0 }

// Name returns the name of the kind.
func (k *Kind) Name() string { return k.def.Name }

// Definition returns a copy of the definition of the kind.
func (k *Kind) Definition() Definition {
	d := k.def
	d.Attributes = slices.Clone(d.Attributes)
	return d
}

// Type returns the type of an attribute, nil if there is none of that name. The type
// of a sensitive one is a Sensitive.
func (k *Kind) Type(attribute string) *puppettype.Type {
	if a := k.byName[attribute]; a != nil {
		return a.typ
	}
	return nil
}

// New returns a new resource of the kind, as Registry.Register needs it.
func (k *Kind) New() engine.Res {
	return &res{kind: k, params: k.fresh(), memo: k.remember()}
}

// abilities returns the abilities of the kind's resources. The definition decides about some of them.
func (k *Kind) abilities() engine.Abilities {
	a := engine.Abilities{
		Refreshable: k.has(Refreshable), Recvable: true, Edgeable: true, Clashing: true, Batcher: true, Reversible: true,
		Readable: true, Listable: !k.has(Find), Shared: true, Overlapping: true, Targeted: k.has(RemoteResource), Collectable: k.has(Collectable), Rooted: k.rooted, Sends: k.sends,
	}
	if k.chooser != nil {
		a.Refreshable, a.Listable = k.chooser.refreshable(), false
	}
	return a
}

// fresh returns a pointer to parameters that hold defaults of their own.
func (k *Kind) fresh() any {
	p := reflect.New(k.params.Go)
	for _, d := range k.presets {
		to := p.Elem().FieldByIndex(d.field.Index)
		if d.flat {
			to.Set(reflect.New(to.Type().Elem()))
			to.Elem().Set(d.value)
		} else {
			must(schema.Set(schema.Data{Type: k.params, Value: p.Interface()}, d.field.Key, d.plain))
		}
	}
	return p.Interface()
}

// must is for calls that were tried while the kind was made.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// preset is the default of a field.
type preset struct {
	field *schema.Field
	plain any
	value reflect.Value // what the field points to
	flat  bool          // value can be copied as it is
}

// unsent returns an empty value of the type that is sent.
func (k *Kind) unsent() schema.Data {
	return schema.Data{Type: k.sends, Value: reflect.New(k.sends.Go).Interface()}
}
