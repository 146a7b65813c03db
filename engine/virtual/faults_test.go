package virtual_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// faulty is a backend that does as a test says.
type faulty struct {
	call  func(context.Context) (any, error)
	close func() error
}

func (f *faulty) Call(ctx context.Context, _ string, _ map[string]any) (any, error) {
	return f.call(ctx)
}

func (f *faulty) Close() error { return f.close() }

var _ io.Closer = (*faulty)(nil)

// boundTo binds a module of one function f, without a shape, to an Open.
func boundTo(t *testing.T, open func(context.Context, virtual.Env) (virtual.Caller, error)) (*virtual.Module, error) {
	t.Helper()
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{{Name: "f"}}}
	return virtual.Bind(t.Context(), i, &virtual.Backend{Name: "b", Module: "m", Functions: []virtual.Function{{Name: "f"}}, Open: open}, virtual.Env{})
}

// TestOpenFails: a backend that can't be opened is an error of that call, whether it says so, breaks, or gives nothing.
func TestOpenFails(t *testing.T) {
	lost := errors.New("the bus is away")
	for name, c := range map[string]struct {
		open func(context.Context, virtual.Env) (virtual.Caller, error)
		want string
	}{
		"error":   {func(context.Context, virtual.Env) (virtual.Caller, error) { return nil, lost }, "m.open: the bus is away"},
		"panic":   {func(context.Context, virtual.Env) (virtual.Caller, error) { panic("it burns") }, "it burns"},
		"nothing": {func(context.Context, virtual.Env) (virtual.Caller, error) { return nil, nil }, "m.open: the backend has opened nothing"},
	} {
		m, err := boundTo(t, c.open)
		e, ok := errors.AsType[*virtual.CallError](err)
		if m != nil || !ok || e.Backend != "b" || !strings.Contains(err.Error(), c.want) || (name == "error") != errors.Is(err, lost) {
			t.Errorf("%s: %v %v", name, m, err)
		}
	}
}

// TestCallFails: an error, a panic and the end of the context are each the error of one call, and the module goes on.
func TestCallFails(t *testing.T) {
	f := &faulty{close: func() error { return nil }}
	m, err := boundTo(t, func(context.Context, virtual.Env) (virtual.Caller, error) { return f, nil })
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for name, c := range map[string]struct {
		call func(context.Context) (any, error)
		want string
		is   error
	}{
		"error":     {func(context.Context) (any, error) { return nil, io.ErrClosedPipe }, "m.f: io: read/write on closed pipe", io.ErrClosedPipe},
		"panic":     {func(context.Context) (any, error) { panic("it burns") }, "it burns", nil},
		"context":   {func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, context.Cause(ctx) }, "m.f: the caller has gone", gone},
		"not found": {func(context.Context) (any, error) { return nil, virtual.ErrNotFound }, "m.f: not found", virtual.ErrNotFound},
	} {
		f.call = c.call
		r, err := m.Call(ctx, "f", virtual.Args{})
		if _, ok := errors.AsType[*virtual.CallError](err); r != nil || !ok || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v %v", name, r, err)
		}
		f.call = func(context.Context) (any, error) { return nil, nil }
		if _, err := m.Call(t.Context(), "f", virtual.Args{}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// TestCloseFails: an error and a panic of Close are told to the program that closes the module.
func TestCloseFails(t *testing.T) {
	for name, close := range map[string]func() error{"error": func() error { return errors.New("stuck") }, "panic": func() error { panic("stuck") }} {
		m, err := boundTo(t, func(context.Context, virtual.Env) (virtual.Caller, error) { return &faulty{close: close}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err == nil || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := boundTo(t, func(context.Context, virtual.Env) (virtual.Caller, error) { return &said{}, nil })
	if err != nil || m.Close() != nil {
		t.Error("a backend without Close:", err)
	}
}

// TestManyCallers: a module is called by many at once, and each has its own result and its own warnings.
func TestManyCallers(t *testing.T) {
	f := &faulty{call: func(context.Context) (any, error) { return map[string]any{"n": int64(1)}, nil }}
	i := &virtual.Interface{Module: "m"}
	b := backendOf([]virtual.Function{{Name: "f"}}, f)
	told := &virtual.Told{}
	m, err := virtual.Bind(t.Context(), i, b, virtual.Env{Told: told})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				r, err := m.Call(context.Background(), "f", virtual.Args{})
				if err != nil || len(r.Warnings) != 1 || r.Status != virtual.Deprecated {
					t.Errorf("%+v %v", r, err)
					return
				}
				r.Common.(map[string]any)["n"], r.Extra["own"] = "spoiled", true
			}
		})
	}
	wg.Wait()
}

// subscribed is a backend that watches.
type subscribed struct {
	said
	names []string
	err   error
}

func (s *subscribed) Watch(_ context.Context, names []string) (events.Subscription, error) {
	s.names = names
	return nil, s.err
}

// TestModuleWatches: a module watches by its backend, and polls where that can't.
func TestModuleWatches(t *testing.T) {
	s := &subscribed{err: errors.New("no signals")}
	m, err := boundTo(t, func(context.Context, virtual.Env) (virtual.Caller, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Watch(t.Context(), []string{"a", "b"}); err != s.err || strings.Join(s.names, " ") != "a b" {
		t.Errorf("%q %v", s.names, err)
	}
	m, err = boundTo(t, func(context.Context, virtual.Env) (virtual.Caller, error) { return &said{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if sub, err := m.Watch(t.Context(), nil); sub != nil || err != nil {
		t.Errorf("a backend that does not watch: %v %v", sub, err)
	}
}

// TestNeeds: a resource that needs functions is told of each that would fail, with its parameter.
func TestNeeds(t *testing.T) {
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{
		{Name: "f", Params: []virtual.Param{{Name: "a", Optional: true}}}, {Name: "gone"}, {Name: "rare", Extra: true}, {Name: "none", NotApplicable: virtual.Match{"os": {"x"}}},
	}}
	b := backendOf([]virtual.Function{{Name: "f"}}, &said{})
	m, err := virtual.Bind(t.Context(), i, b, virtual.Env{Facts: virtual.Facts{"os": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for need, want := range map[string]string{
		"f": "", "none": "", "none.a": "",
		"f.a":       "m.f: the backend b has no a",
		"gone":      "m.gone is not implemented by the backend b",
		"rare.x":    "m.rare is not supported by the backend b on this machine",
		"goen":      "there is no function m.goen (did you mean m.gone?)",
		"f gone":    "m.gone is not implemented by the backend b",
		"rare goen": "m.rare is not supported by the backend b on this machine\nthere is no function m.goen (did you mean m.gone?)",
	} {
		err := m.Needs(strings.Fields(need)...)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", need, err, want)
		}
	}
	if err := m.Needs(); err != nil {
		t.Error(err)
	}
}
