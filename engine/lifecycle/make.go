package lifecycle

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/internal/params"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Wanted is a declared resource, from which Make makes one.
type Wanted struct {
	Kind, Name string
	Ready      engine.Res // from a program; nil where a registry makes it

	Borrows bool // it gets no metaparameters: the caller lends it some (engine.MetaLender)
}

// Make makes a resource: with the defaults of its kind, the declared parameters, its kind and its
// name. The function decode fills the parameters; with nil they stay the defaults. The
// metaparameters are those from before decode, which may overwrite the whole struct. The error is
// that of the registry, of decode, or a panic of one of the methods.
func Make(reg *engine.Registry, w Wanted, decode func(engine.Res) error) (made engine.Res, err error) {
	defer callsafe.Recover("making it", &err)
	res := w.Ready
	if res == nil {
		if res, err = reg.New(w.Kind); err != nil {
			return nil, err
		}
	}
	if err := decodeInto(res, w.Borrows, decode); err != nil {
		return nil, err
	}
	res.SetKind(w.Kind)
	res.SetName(w.Name)
	return res, nil
}

// decodeInto calls decode, and gives the resource back the metaparameters from before, unless it borrows some later.
func decodeInto(res engine.Res, borrows bool, decode func(engine.Res) error) error {
	switch {
	case decode == nil:
		if !borrows {
			_ = res.MetaParams() // they are there from now on: a later look at them alters nothing
		}
		return nil
	case borrows:
		return decode(res)
	}
	meta := *res.MetaParams()
	if err := decode(res); err != nil {
		return err
	}
	setMeta(res, meta)
	return nil
}

// Copy makes a resource of the same type, kind, name and parameters, with these metaparameters, which are its own from then on. The
// resource has to have a Default.
func Copy(res engine.Res, meta *engine.MetaParams) (made engine.Res, err error) {
	defer callsafe.Recover("copying it", &err)
	base := res.Default()
	if isNil(base) {
		return nil, fmt.Errorf("a %s has no Default", res.Kind())
	}
	values, err := params.Of(res)
	if err != nil {
		return nil, err
	}
	made, err = Make(nil, Wanted{Kind: res.Kind(), Name: res.Name(), Ready: base}, func(made engine.Res) error { return fill(made, values) })
	if err != nil {
		return nil, err
	}
	made.SetMetaParams(meta)
	return made, nil
}

// DecodePart decodes some of the parameters of a type into a resource, as schema.Decode does. A required parameter may be
// missing: a look at a thing names only those that steer it.
func DecodePart(t *schema.Type, n *schema.Node, res engine.Res) schema.Diagnostics {
	return slices.DeleteFunc(schema.Decode(n, res), func(d schema.Diagnostic) bool {
		f := t.Field(d.Path)
		return f != nil && f.Required && n.Get(f.Key) == nil
	})
}

// setMeta gives a resource its metaparameters. A resource whose decoding has lost them gets
// others: they must not be nil, but the resource is foreign code.
func setMeta(res engine.Res, meta engine.MetaParams) {
	if m := res.MetaParams(); m != nil {
		*m = meta
		return
	}
	lost := meta
	res.SetMetaParams(&lost)
}

// Validate asks a resource whether it can be used. The map coming has the parameters whose values
// will be received; the resource is told of them first, and keeps them. The error keeps its parts
// (errors.Join), so that a caller may show each; an unreadable part is an
// *callsafe.UnreadableError.
func Validate(res engine.Res, coming map[string]*engine.Send) error {
	if len(coming) > 0 {
		if err := Receive(res, coming); err != nil {
			return err
		}
	}
	return judge("Validate", res.Validate)
}

// CheckMachine asks a valid resource for its needs that a machine lacks. It is nil for a resource
// that can't tell (engine.MachineCheckedRes). The error is like that of Validate.
func CheckMachine(res engine.Res, m engine.Machine) error {
	r, ok := engine.As[engine.MachineCheckedRes](res)
	if !ok {
		return nil
	}
	return judge("CheckMachine", func() error { return r.CheckMachine(m) })
}

// judge calls a method whose error keeps its parts.
func judge(method string, f func() error) error {
	err := callsafe.Do(method, f)
	if bad, ok := callsafe.CopyError(method, err).(*callsafe.UnreadableError); ok {
		return bad
	}
	return err
}

// Receive tells a resource that receives values of them: of their senders, and by and by whether
// they have changed. It does nothing for another resource. The error is a panic.
func Receive(res engine.Res, values map[string]*engine.Send) error {
	return Call("SetRecv", func() error {
		if r, ok := engine.As[engine.RecvableRes](res); ok {
			r.SetRecv(values)
		}
		return nil
	})
}

// Read returns the thing of an initialised resource as it is now, nil where there is none. The
// resource must be an engine.Readable.
func Read(ctx context.Context, res engine.Res) (was engine.Res, err error) {
	err = Call("Read", func() (err error) {
		was, err = res.(engine.Readable).Read(ctx)
		return err
	})
	if err != nil || isNil(was) {
		return nil, err
	}
	return was, nil
}

func isNil(r engine.Res) bool {
	if r == nil {
		return true
	}
	rv := reflect.ValueOf(r)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}

// List yields the things of the kind of an initialised resource, which must be an
// engine.Listable. The sequence of the resource is pulled, so a panic of the resource is an error
// that is yielded last, and a panic of the reader is not caught. The sequence ends when the context does.
func List(ctx context.Context, res engine.Res) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		var p pull
		if err := Call("List", func() error { p.begin(res.(engine.Listable).List(ctx)); return nil }); err != nil {
			yield(nil, err)
			return
		}
		on := false // the reader may still be called
		defer func() {
			if err := p.end(); err != nil && on {
				yield(nil, err)
			}
		}()
		for ctx.Err() == nil {
			r, err, more := p.next()
			if !more {
				on = true
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// pull is a sequence of resources whose panics are errors, after which it is over.
type pull struct {
	pull func() (engine.Res, error, bool)
	stop func()
}

func (p *pull) begin(seq iter.Seq2[engine.Res, error]) { p.pull, p.stop = iter.Pull2(seq) }

func (p *pull) next() (res engine.Res, err error, more bool) {
	var found error
	if bad := Call("List", func() error { res, found, more = p.pull(); return nil }); bad != nil {
		return nil, bad, true
	}
	return res, callsafe.CopyError("List", found), more
}

func (p *pull) end() error {
	return Call("List", func() error { p.stop(); return nil })
}
