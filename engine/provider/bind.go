package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/reactivegraph/mgmt/engine"
)

// TypedProvider is a Provider whose records are structs of the author's own. Each
// field that stands for an attribute has its name as a tag, attr:"id". It may also
// have the methods of TypedCanonicalizer, TypedFinder and TypedRefresher, or of those
// without Typed; and of InSyncer, Watcher, Stamper and Closer.
type TypedProvider[T any] interface {
	Get(ctx context.Context, rt *Runtime, f Filter) iter.Seq2[T, error]
	Set(ctx context.Context, rt *Runtime, changes []TypedChange[T]) error
}

// TypedChange is a Change with structs in place of records. A field that is not an
// Opt holds its zero value where the record has no such attribute.
type TypedChange[T any] struct {
	Title    string
	Name     Name
	Presence Presence
	Is       T // where Presence is Known
	Should   T
	Noop     bool
}

// TypedCanonicalizer is a Canonicalizer with structs. An attribute that a record
// does not have stays absent, whatever the zero value of its field becomes.
type TypedCanonicalizer[T any] interface {
	Canonicalize(ctx context.Context, rt *Runtime, records []T) ([]T, error)
}

// TypedFinder is a Finder with structs.
type TypedFinder[T any] interface {
	Find(ctx context.Context, rt *Runtime, name Name) (T, bool, error)
}

// TypedRefresher is a Refresher with structs.
type TypedRefresher[T any] interface {
	Refresh(ctx context.Context, rt *Runtime, changes []TypedChange[T]) error
}

// Opt is the value of an attribute that may be missing. A field for an attribute
// that accepts undef is one.
type Opt[T any] struct {
	Value T
	Set   bool // it is there
	Null  bool // it is there, and undef
}

// Some returns an Opt that is set.
func Some[T any](v T) Opt[T] { return Opt[T]{Value: v, Set: true} }

// Get returns the value; false if there is none, or undef.
func (o Opt[T]) Get() (T, bool) { return o.Value, o.Set && !o.Null }

func (Opt[T]) optional() {}

// Bind makes the constructor of a Provider of the constructor of a typed one. The
// struct is compared with the definition now: each tag is an attribute, each
// attribute has a field, and the field can hold all values of the attribute's type:
//
//	Boolean bool                       Timestamp time.Time
//	Integer int, int8 ... uint64       Timespan  time.Duration
//	Float   float64                    Binary    []byte
//	String  string                     SemVer    puppettype.Version
//	Array   []E                        Sensitive schema.Secret, puppettype.Sensitive
//	Hash    map[string]E               Optional  Opt[E]
//	everything  any
//
// The features of the definition must all have methods in the provider.
// The error joins all that is wrong. It is the programmer's. A whole number that does
// not fit int or int64 is an error of its record.
func Bind[T any](d Definition, make func() TypedProvider[T]) (func() Provider, error) {
	b, err := newBinding[T](&d)
	if err != nil {
		return nil, err
	}
	if make == nil {
		return nil, fmt.Errorf("the type %s has no constructor of a provider", d.Name)
	}
	if err := supports(&d, make); err != nil {
		return nil, err
	}
	return func() Provider { return &typed[T]{b, make()} }, nil
}

// supports checks that the provider has the methods for its features.
func supports[T any](d *Definition, make func() TypedProvider[T]) (err error) {
	defer engine.Caught("the constructor of "+d.Name, &err)
	p := make()
	if p == nil {
		return fmt.Errorf("the type %s: its constructor has made no provider", d.Name)
	}
	var errs []error
	need := func(f Features, what string, ok bool) {
		if d.Features&f != 0 && !ok {
			errs = append(errs, fmt.Errorf("the type %s has the feature %s, but its provider %T has no method of that name", d.Name, what, p))
		}
	}
	need(Canonicalize, "Canonicalize", has[Canonicalizer](p) || has[TypedCanonicalizer[T]](p))
	need(Find, "Find", has[Finder](p) || has[TypedFinder[T]](p))
	need(Refreshable, "Refresh", has[Refresher](p) || has[TypedRefresher[T]](p))
	need(CustomInSync, "InSync", has[InSyncer](p))
	return errors.Join(errs...)
}

func has[A any](p any) bool { _, ok := p.(A); return ok }

// typed is a Provider around a typed one. The optional methods that a feature asks
// for are all there; supports has checked those of the feature.
type typed[T any] struct {
	b *binding
	p TypedProvider[T]
}

// unwrap returns the author's provider, whose optional methods count as this one's.
func (t *typed[T]) unwrap() any { return t.p }

// Get yields the answers of the provider, as records.
func (t *typed[T]) Get(ctx context.Context, rt *Runtime, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for v, err := range t.p.Get(ctx, rt, f) {
			var rec Record
			if err == nil {
				rec = t.b.record(&v, readable)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Set hands its arguments to the provider. A change that its struct can't hold fails.
func (t *typed[T]) Set(ctx context.Context, rt *Runtime, changes []Change) error {
	return t.p.Set(ctx, rt, t.changes(rt, changes))
}

// Refresh is Set for notifications.
func (t *typed[T]) Refresh(ctx context.Context, rt *Runtime, changes []Change) error {
	if p, ok := t.p.(TypedRefresher[T]); ok {
		return p.Refresh(ctx, rt, t.changes(rt, changes))
	}
	return t.p.(Refresher).Refresh(ctx, rt, changes)
}

func (t *typed[T]) changes(rt *Runtime, changes []Change) []TypedChange[T] {
	out := make([]TypedChange[T], 0, len(changes))
	for _, c := range changes {
		o := TypedChange[T]{Title: c.Title, Name: c.Name, Presence: c.Is.Presence, Noop: c.Noop}
		if err := errors.Join(t.b.fill(&o.Is, c.Is.Record), t.b.fill(&o.Should, c.Should)); err != nil {
			rt.Log.FailedBy(c.Title, err)
			continue
		}
		out = append(out, o)
	}
	return out
}

// Canonicalize implements Canonicalizer.
func (t *typed[T]) Canonicalize(ctx context.Context, rt *Runtime, records []Record) ([]Record, error) {
	p, ok := t.p.(TypedCanonicalizer[T])
	if !ok {
		return t.p.(Canonicalizer).Canonicalize(ctx, rt, records)
	}
	in := make([]T, len(records))
	for i, r := range records {
		if err := t.b.fill(&in[i], r); err != nil {
			return nil, err
		}
	}
	vs, err := p.Canonicalize(ctx, rt, in)
	if err != nil {
		return nil, err
	}
	if len(vs) != len(records) {
		return nil, fmt.Errorf("Canonicalize has returned %d records for %d", len(vs), len(records))
	}
	out := make([]Record, len(vs))
	for i := range vs {
		out[i] = t.b.record(&vs[i], func(f *boundField, set bool) bool { _, was := records[i][f.attr.Name]; return was || set })
	}
	return out, nil
}

// Find implements Finder.
func (t *typed[T]) Find(ctx context.Context, rt *Runtime, name Name) (Record, bool, error) {
	p, ok := t.p.(TypedFinder[T])
	if !ok {
		return t.p.(Finder).Find(ctx, rt, name)
	}
	v, found, err := p.Find(ctx, rt, name)
	if err != nil || !found {
		return nil, false, err
	}
	return t.b.record(&v, readable), true, nil
}

// InSync implements InSyncer.
func (t *typed[T]) InSync(ctx context.Context, rt *Runtime, name Name, attribute string, is, should Record) (Answer, string, error) {
	return t.p.(InSyncer).InSync(ctx, rt, name, attribute, is, should)
}
