package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Dispatch makes a type of several others: an attribute of a resource says which of
// them it is. It is then a resource of that type, of the same name, with the
// attributes that both types have and the entries of the hash Options. An attribute
// that is given and that the chosen type does not have is refused.
//
//	name: package
//	attributes:
//	  name: {type: String, docs: ..., kind: namevar}
//	  ensure: {type: "Enum[present, absent]", docs: ..., default: present}
//	  provider: {type: "Enum[apt, rpm]", docs: ..., kind: parameter}
//	  options: {type: "Optional[Hash[String, Any]]", docs: ..., kind: parameter}
//	dispatch: {attribute: provider, to: {apt: package_apt, rpm: package_rpm}, options: options}
//
// The others are types as data too. A value in Options whose attribute is sensitive is
// shown as a secret where the thing is looked at, and in no change. Messages of other
// resources do not hide it, so such an attribute should belong to the type itself. Such a
// kind can't be listed, as its things are those of the others.
type Dispatch struct {
	Attribute string            // the attribute that chooses
	To        map[string]string // kinds, by its values
	Options   string            // an attribute that is a Hash; may be empty
	Pos       schema.Pos
}

// dispatcher is a kind that dispatches. It is immutable.
type dispatcher struct {
	*Kind
	by *Dispatch
	to map[string]*Kind // by the values of the attribute
}

// dispatch adds the kind.
func (f *file) dispatch(r *engine.Registry) schema.Diagnostics {
	d := &dispatcher{Kind: &Kind{def: *f.def}, by: f.src.Dispatch, to: map[string]*Kind{}}
	d.chooser = d
	err := d.compile()
	if err == nil {
		err = errors.Join(d.targets(r), d.check())
	}
	if err == nil {
		err = r.Register(f.def.Name, d.New)
	}
	return failed(d.by.Pos, err)
}

// targets finds the kinds.
func (d *dispatcher) targets(r *engine.Registry) error {
	var errs []error
	if len(d.by.To) == 0 {
		errs = append(errs, fmt.Errorf("%s: dispatch has no kinds: to is a map from values of %q to kinds", d.def.Name, d.by.Attribute))
	}
	for _, value := range slices.Sorted(maps.Keys(d.by.To)) {
		to, err := r.New(d.by.To[value])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: dispatch to %s: %w", d.def.Name, value, err))
			continue
		}
		made, ok := to.(*res)
		if !ok || made.kind.chooser != nil {
			errs = append(errs, fmt.Errorf("%s: dispatch to %s: %s is no type of its own that is written as data", d.def.Name, value, d.by.To[value]))
			continue
		}
		d.to[value] = made.kind
	}
	return errors.Join(errs...)
}

// check says what is wrong with the attributes.
func (d *dispatcher) check() error {
	var errs []error
	errorf := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(d.def.Name+": dispatch: "+format, args...))
	}
	by := d.byName[d.by.Attribute]
	switch {
	case by == nil:
		errorf("there is no attribute %q that could choose", d.by.Attribute)
	case by.Role != Parameter:
		errorf("the attribute %q that chooses must be a parameter", d.by.Attribute)
	case by.typ.Kind() != puppettype.KindEnum || !slices.Equal(by.typ.Words(), slices.Sorted(maps.Keys(d.by.To))):
		errorf("%s must be an Enum of the keys of to, not %s", d.by.Attribute, by.typ)
	}
	if o := d.byName[d.by.Options]; d.by.Options != "" && (o == nil || o.Role != Parameter || !optionsType().Assignable(o.typ)) {
		errorf("options must name an attribute that is a parameter and a Hash[String, Any], or an Optional of that, not %q", d.by.Options)
	}
	if a := d.hush(); a != "" {
		errorf("options must be a Hash[String, Any]: text in a %s could not be kept secret, and %s is sensitive", d.byName[d.by.Options].typ, a)
	}
	for i := range d.attrs {
		a := &d.attrs[i]
		has := func(k *Kind) bool { return k.byName[a.Name] != nil }
		if !d.steers(a) && a.Role != Namevar && !slices.ContainsFunc(slices.Collect(maps.Values(d.to)), has) {
			errorf("no kind has the attribute %q", a.Name)
		}
	}
	return errors.Join(errs...)
}

var optionsType = sync.OnceValue(func() *puppettype.Type { return puppettype.MustParse("Optional[Hash[String, Any]]") })

// hush returns an attribute of one of the kinds that is sensitive, and that the options
// can give although they can't hold a secret; empty if there is none.
func (d *dispatcher) hush() string {
	o := d.byName[d.by.Options]
	if o == nil {
		return ""
	}
	if elem := o.typ.Lower().Elem; elem == nil || elem.Secret || elem.Kind == schema.KindAny {
		return ""
	}
	for _, value := range slices.Sorted(maps.Keys(d.to)) {
		for _, a := range d.to[value].attrs {
			if (a.secret || a.covert) && d.byName[a.Name] == nil && a.Role != ReadOnly {
				return d.to[value].def.Name + "." + a.Name
			}
		}
	}
	return ""
}

// steers reports whether an attribute is about the choice, and not the thing.
func (d *dispatcher) steers(a *compiled) bool {
	return a.Name == d.by.Attribute || a.Name == d.by.Options
}

// refreshable reports whether all kinds act on notifications.
func (d *dispatcher) refreshable() bool {
	for _, k := range d.to {
		if !k.has(Refreshable) {
			return false
		}
	}
	return true
}
