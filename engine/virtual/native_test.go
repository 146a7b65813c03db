package virtual_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// everyArgs has a parameter of each kind.
type everyArgs struct {
	First  string         `yaml:"first" mgmt:"required" doc:"The first."`
	Second int            `yaml:"second"`
	Rest   []int          `yaml:"rest" arg:"varargs"`
	Key    *string        `yaml:"key" arg:"kwonly"`
	Pass   schema.Secret  `yaml:"pass" arg:"kwonly"`
	More   map[string]any `yaml:"more" arg:"kwargs"`
}

func (everyArgs) Default() everyArgs { return everyArgs{Second: 7} }

// goBackend is a backend that remembers its last arguments.
type goBackend struct {
	last   everyArgs
	closed int
}

func (g *goBackend) every(_ context.Context, args everyArgs) (map[string]int, error) {
	g.last = args
	return map[string]int{args.First: args.Second}, nil
}

func (g *goBackend) boom(context.Context, virtual.Nothing) (virtual.Nothing, error) { panic("boom") }

func (g *goBackend) Close() error {
	g.closed++
	return nil
}

var everyFn = virtual.Declare[everyArgs, map[string]int]("every", "Every kind of parameter.")

func bindGo(t *testing.T, env virtual.Env, fs ...virtual.Function) (*goBackend, *virtual.Module) {
	t.Helper()
	g := &goBackend{}
	b := virtual.Native("go", func(context.Context, virtual.Env) (*goBackend, error) { return g, nil },
		virtual.Func("every", (*goBackend).every), virtual.Func("boom", (*goBackend).boom))
	b.Module = "m"
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := virtual.Bind(t.Context(), &virtual.Interface{Module: "m", Functions: fs}, b, env)
	if err != nil {
		t.Fatal(err)
	}
	return g, m
}

// TestNativeParams: what a struct says of parameters, and what a call fills in.
func TestNativeParams(t *testing.T) {
	f := everyFn.Function()
	if got, want := f.Signature(), "(first, second=7, *rest, key=None, pass='', **more)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	g, m := bindGo(t, virtual.Env{}, f)
	key := "k"
	sent := everyArgs{First: "a", Second: 3, Rest: []int{1, 2}, Key: &key, Pass: schema.NewSecret("hunter2"), More: map[string]any{"x": int64(1), "y": "z"}}
	got, r, err := everyFn.Call(t.Context(), m, sent)
	if err != nil || got["a"] != 3 || !r.Found {
		t.Fatalf("%v, %+v, %v", got, r, err)
	}
	if !reflect.DeepEqual(g.last, sent) {
		t.Errorf("got %+v, want %+v", g.last, sent)
	}
	args := virtual.Args{Positional: []any{"b", int64(1), int64(5), int64(6)}, Named: map[string]any{"z": true}}
	if _, err := m.Call(t.Context(), "every", args); err != nil {
		t.Fatal(err)
	}
	want := everyArgs{First: "b", Second: 1, Pass: schema.NewSecret(""), Rest: []int{5, 6}, More: map[string]any{"z": true}}
	if !reflect.DeepEqual(g.last, want) {
		t.Errorf("by place: got %+v, want %+v", g.last, want)
	}
	if _, err := m.Call(t.Context(), "every", virtual.Args{Positional: []any{"c"}}); err != nil || g.last.Second != 7 {
		t.Errorf("the default: %+v, %v", g.last, err)
	}
	if err := errors.Join(m.Close()); err != nil || g.closed != 1 {
		t.Errorf("closed %d times, %v", g.closed, err)
	}
}

// TestBadArguments: what does not fit the interface is refused before the backend
// is asked, and everything that is wrong is said.
func TestBadArguments(t *testing.T) {
	g, m := bindGo(t, virtual.Env{}, everyFn.Function(), virtual.Function{Name: "boom"})
	for _, c := range []struct {
		fn   string
		args virtual.Args
		want []string
	}{
		{"every", virtual.Args{}, []string{"first is required"}},
		{"every", virtual.Args{Positional: []any{int64(1), "two"}}, []string{"first must be text", "second must be a whole number"}},
		{"every", virtual.Args{Positional: []any{"a", int64(1), "x"}}, []string{"rest must be a whole number"}},
		{"every", virtual.Args{Positional: []any{"a"}, Named: map[string]any{"first": "b"}}, []string{"first is given twice"}},
		{"every", virtual.Args{Positional: []any{"a"}, Extra: map[string]any{"second": int64(1)}}, []string{"second is declared"}},
		{"every", virtual.Args{Positional: []any{"a", int64(1), int64(2)}, Named: map[string]any{"rest": []any{int64(3)}}}, []string{"by position and by name"}},
		{"every", virtual.Args{Positional: []any{"a"}, Named: map[string]any{"rest": "no"}}, []string{"rest is a list"}},
		{"boom", virtual.Args{Positional: []any{"a", "b"}}, []string{"2 arguments too many"}},
		{"boom", virtual.Args{Named: map[string]any{"a": 1}}, []string{"there is no parameter a"}},
	} {
		g.last = everyArgs{First: "untouched"}
		_, err := m.Call(t.Context(), c.fn, c.args)
		if !isType[*virtual.BadArgumentsError](err) || g.last.First != "untouched" {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: %q does not say %q", c.args, err, w)
			}
		}
	}
	if _, err := m.Call(t.Context(), "evry", virtual.Args{}); !isType[*virtual.UnknownFunctionError](err) || !strings.Contains(err.Error(), "did you mean m.every?") {
		t.Errorf("an unknown function: %v", err)
	}
	_, err := m.Call(t.Context(), "boom", virtual.Args{})
	if !isType[*virtual.CallError](err) || !isType[*callsafe.PanicError](err) {
		t.Errorf("a panic: %v", err)
	}
}

// TestBadTypes: what is wrong with the Go types of a backend or of an interface is
// told, and not only when it is called.
func TestBadTypes(t *testing.T) {
	open := func(context.Context, virtual.Env) (int, error) { return 0, nil }
	for name, method := range map[string]virtual.Method[int]{
		"is no struct": virtual.Func("f", func(int, context.Context, string) (virtual.Nothing, error) { return virtual.Nothing{}, nil }),
		"its arguments": virtual.Func("f", func(int, context.Context, struct{ C chan int }) (virtual.Nothing, error) {
			return virtual.Nothing{}, nil
		}),
		"its result": virtual.Func("f", func(int, context.Context, virtual.Nothing) (chan int, error) { return nil, nil }),
		"no kind of parameter": virtual.Func("f", func(int, context.Context, struct {
			A []string `arg:"vargs"`
		}) (virtual.Nothing, error) {
			return virtual.Nothing{}, nil
		}),
		"stands behind an optional one": virtual.Func("f", func(int, context.Context, struct {
			A string
			B string `mgmt:"required"`
		}) (virtual.Nothing, error) {
			return virtual.Nothing{}, nil
		}),
	} {
		b := virtual.Native("b", open, method)
		b.Module = "m"
		if err := b.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
		if err := virtual.NewCatalog().Add(b); err == nil {
			t.Errorf("%q: it is added", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a declaration with wrong types passes")
		}
	}()
	virtual.Declare[chan int, virtual.Nothing]("f", "").Function()
}

// TestTypeDiffers: a backend that takes other values than the interface says has
// another signature.
func TestTypeDiffers(t *testing.T) {
	want := virtual.Declare[struct {
		N int `yaml:"n"`
	}, virtual.Nothing]("f", "").Function()
	have := virtual.Declare[struct {
		N []string `yaml:"n"`
	}, virtual.Nothing]("f", "").Function()
	ds := virtual.Compare(&want, &have)
	found := false
	for _, d := range ds {
		found = found || d.Kind == virtual.TypeDiffers && d.Severity() == virtual.SeverityError && strings.Contains(d.String(), "whole number")
	}
	if !found {
		t.Errorf("%v", ds)
	}
}

// TestSecretsInResults: what a backend gives as a secret stays one.
func TestSecretsInResults(t *testing.T) {
	type info struct {
		Name string         `yaml:"name"`
		Pass *schema.Secret `yaml:"pass"`
	}
	fn := virtual.Declare[virtual.Nothing, info]("f", "")
	b := virtual.Native("b", func(context.Context, virtual.Env) (int, error) { return 0, nil },
		virtual.Func("f", func(int, context.Context, virtual.Nothing) (info, error) {
			s := schema.NewSecret("hunter2")
			return info{"a", &s}, nil
		}))
	b.Module = "m"
	log := &strings.Builder{}
	env := virtual.Env{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	m, err := virtual.Bind(t.Context(), &virtual.Interface{Module: "m", Functions: []virtual.Function{fn.Function()}}, b, env)
	if err != nil {
		t.Fatal(err)
	}
	got, r, err := fn.Call(t.Context(), m, virtual.Nothing{})
	if err != nil || got.Pass == nil || got.Pass.Reveal() != "hunter2" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, is := r.Common.(map[string]any)["pass"].(schema.Secret); !is || strings.Contains(log.String(), "hunter2") {
		t.Errorf("%T, %s", r.Common.(map[string]any)["pass"], log)
	}
}
