package virtual_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// yes is a backend that says true to everything.
type yes struct{}

func (yes) Call(context.Context, string, map[string]any) (any, error) { return true, nil }

// TestDeprecated: each result has its warning, and a log has one for each function, whatever module
// of a Kind was called, by however many at once. Another Kind is another process's.
func TestDeprecated(t *testing.T) {
	old := backendOf([]virtual.Function{{Name: "blink"}, {Name: "glow"}}, yes{})
	old.Module = "lamp"
	log := &eventLog{}
	for range 2 {
		_, kind := lamps(t, virtual.Facts{}, "", old)
		for range 2 {
			m, err := kind.Open(t.Context(), virtual.Env{Log: slog.New(log)}, "")
			if err != nil {
				t.Fatal(err)
			}
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					for _, f := range []string{"blink", "glow"} {
						r, err := m.Call(t.Context(), f, virtual.Args{})
						if err != nil || r.Status != virtual.Deprecated || len(r.Warnings) != 1 ||
							r.Warnings[0].Text != "lamp."+f+" is deprecated: the interface of the module does not have it" {
							t.Errorf("%+v, %v", r, err)
						}
					}
				})
			}
			calls.Wait()
		}
		got := log.take()
		slices.Sort(got)
		if !slices.Equal(got, []string{"warning:deprecated:blink", "warning:deprecated:glow"}) {
			t.Errorf("logged %v", got)
		}
	}
}

// TestDeprecatedCall: a call that is refused is none.
func TestDeprecatedCall(t *testing.T) {
	old := backendOf([]virtual.Function{{Name: "blink"}}, &said{gives: map[string]any{}})
	log, told := &eventLog{}, &virtual.Told{}
	m, err := virtual.Bind(t.Context(), &virtual.Interface{Module: "m"}, old, virtual.Env{Log: slog.New(log), Told: told})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), "blink", virtual.Args{Named: map[string]any{"x": 1}}); !isType[*virtual.BadArgumentsError](err) {
		t.Error(err)
	}
	log.expect(t, nil)
	for range 2 {
		if _, err := m.Call(t.Context(), "blink", virtual.Args{}); err != nil {
			t.Error(err)
		}
	}
	log.expect(t, []string{"warning:deprecated:blink"})
}

// TestDeclaredDeprecated: a function that an interface will lose is checked like any other, works
// with a warning that says what to call instead, and no backend must have it.
func TestDeclaredDeprecated(t *testing.T) {
	f := virtual.Function{Returns: shape(t, "int"), Deprecated: "call g"}
	m := one(t, f, &virtual.Function{}, int64(3), nil)
	r := call(t, m)
	if r.Common != int64(3) || r.Status != virtual.Deprecated || len(r.Warnings) != 1 || r.Warnings[0] != (virtual.Warning{Event: "deprecated", Text: "m.f is deprecated: call g"}) {
		t.Errorf("%+v", r)
	}
	if err := m.Needs("f"); err != nil {
		t.Error(err)
	}
	if _, err := one(t, f, &virtual.Function{}, "3", nil).Call(t.Context(), "f", virtual.Args{}); !isType[*virtual.ReturnShapeError](err) {
		t.Error(err)
	}
	if err := one(t, f, nil, nil, nil).Needs("f"); !isType[*virtual.NotSupportedError](err) {
		t.Error(err)
	}
	f.Name = "f"
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{f}}
	page := virtual.Page(i, []*virtual.Backend{backendOf([]virtual.Function{{Name: "f"}}, nil)}, nil)
	if !strings.Contains(page, "Deprecated: call g.") || !strings.Contains(page, "| f | deprecated |") || strings.Contains(page, "Deprecated functions of") {
		t.Error(page)
	}
}

// TestLaxWarns: what passes although it is wrong is told with the result, too.
func TestLaxWarns(t *testing.T) {
	r := call(t, one(t, virtual.Function{Returns: shape(t, "int")}, &virtual.Function{}, "3", nil, virtual.Lax()))
	if len(r.Warnings) != 1 || r.Warnings[0].Event != "return_shape" || !strings.Contains(r.Warnings[0].Text, "m.f: the backend b returned") {
		t.Errorf("%+v", r)
	}
}
