package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Nothing is the result of a function that returns nothing, and the arguments of a
// function without any.
type Nothing struct{}

// Method is a function of a backend that is a Go type B. Func makes one.
type Method[B any] struct {
	is   *signature
	call func(b B, ctx context.Context, args map[string]any) (any, error)
}

// signature is a function as its Go types say it, or why they say none. Like all code that needs no type parameter it stands
// outside the generic functions: the compiler copies those for each struct of arguments, and there are a hundred.
type signature struct {
	function Function
	err      error
}

// Func says that a method is the function of a name. A is a struct, whose fields are
// the parameters (see the package comment), R its result. Faults of A are told
// by the Validate of the backend.
func Func[B, A, R any](name string, method func(b B, ctx context.Context, args A) (R, error)) Method[B] {
	is := describe(name, defaultsOf[A](), reflect.TypeFor[R]())
	return Method[B]{is, func(b B, ctx context.Context, args map[string]any) (any, error) {
		a := defaultsOf[A]()
		if err := decodeArgs(&is.function, args, &a); err != nil {
			return nil, err
		}
		r, err := method(b, ctx, a)
		if err != nil {
			return nil, err
		}
		return plainResult(r)
	}}
}

// Native makes a backend of a Go type: open makes a value of it for a machine. The
// caller sets what else there is to say of the backend (Module, When, Needs, Watch ...).
//
// The functions are listed, and not found by reflection over the method set: a
// program in which reflection asks for methods keeps every exported method of every type.
func Native[B any](name string, open func(context.Context, Env) (B, error), methods ...Method[B]) *Backend {
	n := &native[B]{methods: map[string]Method[B]{}}
	b := &Backend{Name: name}
	for _, m := range methods {
		b.Functions = append(b.Functions, m.is.function)
		n.methods[m.is.function.Name] = m
		b.err = errors.Join(b.err, m.is.err)
	}
	b.Open = func(ctx context.Context, env Env) (Caller, error) {
		value, err := open(ctx, env)
		if err != nil {
			return nil, err
		}
		return n.with(value), nil
	}
	return b
}

type native[B any] struct {
	methods map[string]Method[B]
	value   B
}

// with returns a Caller for a value, which is a Watcher if the value is one.
func (n *native[B]) with(value B) Caller {
	c := &native[B]{n.methods, value}
	if w, ok := any(value).(Watcher); ok {
		return &watched[B]{c, w}
	}
	return c
}

type watched[B any] struct {
	*native[B]
	Watcher
}

func (n *native[B]) Call(ctx context.Context, function string, args map[string]any) (any, error) {
	m, ok := n.methods[function]
	if !ok {
		return nil, fmt.Errorf("there is no function %s", function)
	}
	return m.call(n.value, ctx, args)
}

// Close closes the value, if it can be.
func (n *native[B]) Close() error {
	if c, ok := any(n.value).(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// describe reads the parameters and the result of a function from Go types: args is
// the struct of its arguments, with the defaults in it.
func describe(name string, args any, result reflect.Type) *signature {
	d := &signature{function: Function{Name: name}}
	params, err := paramsOf(args)
	if err != nil {
		d.err = fmt.Errorf("function %s: its arguments: %w", name, err)
		return d
	}
	d.function.Params = params
	if d.function.Returns, err = returnsOf(result); err != nil {
		d.err = fmt.Errorf("function %s: its result: %w", name, err)
	}
	return d
}

func returnsOf(rt reflect.Type) (*schema.Type, error) {
	if rt == reflect.TypeFor[Nothing]() || rt == reflect.TypeFor[any]() {
		return nil, nil
	}
	return schema.OfType(rt)
}

// paramsOf reads a struct as parameters.
func paramsOf(args any) ([]Param, error) {
	rt := reflect.TypeOf(args)
	if rt == nil || rt.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is no struct", rt)
	}
	t, err := schema.OfType(rt)
	if err != nil {
		return nil, err
	}
	all, err := schema.EncodeAll(args)
	if err != nil {
		return nil, err
	}
	defaults, _ := all.(map[string]any)
	var params []Param
	for _, f := range t.Fields {
		p := Param{Name: f.Key, Doc: f.Doc, Type: f.Type}
		if tag := rt.FieldByIndex(f.Index).Tag.Get("arg"); tag != "" {
			if err := p.Kind.UnmarshalText([]byte(tag)); err != nil {
				return nil, err
			}
		}
		if p.named() && !f.Required {
			p.Optional, p.Default = true, defaults[f.Key]
		}
		params = append(params, p)
	}
	return params, nil
}

func defaultsOf[A any]() (a A) {
	if d, ok := any(a).(interface{ Default() A }); ok {
		return d.Default()
	}
	return a
}

// decodeArgs fills a struct, to which to points, with arguments by name.
func decodeArgs(f *Function, args map[string]any, to any) error {
	n, err := schema.NodeOf(grouped(f, args))
	if err != nil {
		return err
	}
	ds := schema.Decode(n, to)
	return ds.Err()
}

// grouped moves the arguments for KwArgs below the name of that parameter.
func grouped(f *Function, args map[string]any) map[string]any {
	rest := f.rest(KwArgs)
	if rest == nil {
		return args
	}
	out, further := map[string]any{}, map[string]any{}
	for name, v := range args {
		if named := f.param(name); named != nil || isRest(f, name) {
			out[name] = v
		} else {
			further[name] = v
		}
	}
	out[rest.Name] = further
	return out
}

func isRest(f *Function, name string) bool {
	rest := f.rest(VarArgs)
	return rest != nil && rest.Name == name
}

// plainResult turns what a Go backend returns into plain values.
func plainResult[R any](r R) (any, error) {
	if _, nothing := any(r).(Nothing); nothing {
		return nil, nil
	}
	return schema.EncodeAll(&r)
}

// Fn is a declared function with its Go types: the arguments A, the result R. It is
// safe for concurrent use.
type Fn[A, R any] struct{ is *declared }

// declared is a function of which the types are read when it is first asked for.
type declared struct {
	name     string
	function func() *Function
}

// Declare declares a function of an interface. Further rules are set by change. The types
// are read when they are needed: most programs need few of all functions.
func Declare[A, R any](name, doc string, change ...func(*Function)) *Fn[A, R] {
	return &Fn[A, R]{declare(name, doc, func() any { return defaultsOf[A]() }, reflect.TypeFor[R](), change)}
}

func declare(name, doc string, args func() any, result reflect.Type, change []func(*Function)) *declared {
	return &declared{name, sync.OnceValue(func() *Function {
		d := describe(name, args(), result)
		if d.err != nil {
			panic(d.err)
		}
		d.function.Doc = doc
		for _, c := range change {
			c(&d.function)
		}
		return &d.function
	})}
}

// OrNotFound declares that a call about a thing that is not there gives value; nil
// for an empty record.
func OrNotFound(value any) func(*Function) {
	return func(f *Function) {
		if f.NotFound = value; value == nil {
			f.NotFound = map[string]any{}
		}
	}
}

// AsExtra declares that few backends have the function, and none must.
func AsExtra(f *Function) { f.Extra = true }

// OneAlone declares that a call about one thing gives its value in the place of a map; see Function.Alone.
func OneAlone(f *Function) { f.Alone = true }

// Name returns the name of the function.
func (f *Fn[A, R]) Name() string { return f.is.name }

// Param returns how Resource.Needs writes that a call may give a parameter.
func (f *Fn[A, R]) Param(name string) string { return f.Name() + "." + name }

// Function returns the declaration for an Interface. It panics if the types are
// wrong, as any test of the program shows.
func (f *Fn[A, R]) Function() Function { return *f.is.function() }

// Call calls the function of a module. The result is not nil where the error is:
// it holds the extras, and whether the thing was found; if it was not, the value is zero.
func (f *Fn[A, R]) Call(ctx context.Context, m *Module, args A) (value R, _ *Result, err error) {
	r, err := call(ctx, m, f.is.function(), args, &value)
	return value, r, err
}

// call calls a declared function, and puts the result into the target of to.
func call(ctx context.Context, m *Module, f *Function, args, to any) (*Result, error) {
	given, err := schema.EncodeAll(args)
	if err != nil {
		return nil, err
	}
	named, _ := given.(map[string]any)
	r, _, err := m.call(ctx, f.Name, f.given(named))
	if err != nil || !r.Found || r.Common == nil {
		return r, err
	}
	n, err := schema.NodeOf(r.Common)
	if err != nil {
		return nil, err
	}
	ds := schema.Decode(n, to)
	return r, ds.Err()
}

// given leaves out what has its default, which the module passes itself: so a
// parameter that the backend in use lacks is refused only if it was given.
func (f *Function) given(named map[string]any) Args {
	args := Args{Named: map[string]any{}}
	for _, p := range f.Params {
		v, there := named[p.Name]
		switch further, _ := v.(map[string]any); {
		case !there, p.named() && p.Optional && schema.Equal(v, p.Default):
		case p.Kind == KwArgs:
			maps.Copy(args.Named, further)
		default:
			args.Named[p.Name] = v
		}
	}
	return args
}
