package mgmt_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// configOf returns a Config of options that are right.
func configOf(t *testing.T, o mgmt.Options) *mgmt.Config {
	t.Helper()
	c, err := mgmt.NewConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// oneNoop is a frontend with one resource.
func oneNoop() *static.Frontend {
	g := static.NewGraph("one")
	g.Add("noop", "a", &basic.NoopRes{})
	return static.New(g.Declared())
}

// objects are the fields of Options that stay the caller's, as its comment says.
var objects = []string{"Registry", "Backends", "World", "Host", "State", "Store", "Logger", "Stdin", "Heartbeat", "Reload", "BeforeReload", "Observer", "Background"}

// TestConfigSharesNothing: it shares no memory with its caller: each field of Options is a plain value, is copied, or is an object that the comment names.
// A new field that is a slice, a map or a pointer fails here until clone copies it.
func TestConfigSharesNothing(t *testing.T) {
	var o mgmt.Options
	in := reflect.ValueOf(&o).Elem()
	shared := func(v reflect.Value) bool {
		return slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Pointer}, v.Kind())
	}
	for i := range in.NumField() {
		switch f := in.Field(i); {
		case slices.Contains(objects, in.Type().Field(i).Name):
		case f.Kind() == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case f.Kind() == reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case f.Kind() == reflect.Interface, f.Kind() == reflect.Func, f.Kind() == reflect.Chan:
			t.Errorf("%s is an object of the caller: name it in the comment of Options, and here", in.Type().Field(i).Name)
		}
	}
	o.Accept[0] = "file" // an empty one says nothing
	c := configOf(t, o)
	first, second := c.Options(), c.Options()
	one, two := reflect.ValueOf(first), reflect.ValueOf(second)
	for i := range in.NumField() {
		name := in.Type().Field(i).Name
		if f := in.Field(i); shared(f) && !f.IsNil() {
			if one.Field(i).IsNil() || one.Field(i).Pointer() == f.Pointer() || one.Field(i).Pointer() == two.Field(i).Pointer() {
				t.Errorf("%s is not copied", name)
			}
		}
	}
}

// TestConfigNeverChanges: what a caller does to its slices and structs afterwards does not reach an engine.
func TestConfigNeverChanges(t *testing.T) {
	roles, flapping := []string{"web"}, &reactor.Flapping{}
	c := configOf(t, mgmt.Options{Roles: roles, Flapping: flapping, Program: "p"})
	roles[0], *flapping = "db", reactor.DefaultFlapping()
	got := c.Options()
	got.Roles[0], got.Program = "mail", "q"
	if again := c.Options(); again.Roles[0] != "web" || again.Program != "p" || *again.Flapping != (reactor.Flapping{}) {
		t.Errorf("the options are %v, %q, %v", again.Roles, again.Program, again.Flapping)
	}
}

// TestConfigForMany: goroutines plan and run with one Config at the same time, and with it again. Each has an engine of its own.
func TestConfigForMany(t *testing.T) {
	c := configOf(t, mgmt.Options{ConvergedExit: true, ConvergedTimeout: time.Millisecond})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2 {
				plan, err := c.Plan(t.Context(), oneNoop())
				if err != nil || len(plan.Steps) != 1 {
					t.Errorf("Plan: %v", err)
				}
				if r, err := c.Run(t.Context(), oneNoop()); err != nil || !r.Converged || r.Counts[engine.StateOK] != 1 {
					t.Errorf("Run: %v, %+v", err, r)
				}
				if out, err := c.Set(t.Context(), target("noop", "a", nil)); err != nil || out.Changed {
					t.Errorf("Set: %v, %+v", err, out)
				}
				if ds := c.Check(t.Context(), oneNoop()); len(ds) > 0 {
					t.Error(ds)
				}
			}
		})
	}
	wg.Wait()
}

// TestConfigStarts: Start gives an engine that answers, and a start that fails gives its error and nothing that runs.
func TestConfigStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := configOf(t, mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	e, err := c.Start(ctx, oneNoop())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := c.Start(ctx, nil); err == nil || second != nil {
		t.Errorf("in a folder that is in use: %v, %v", second, err)
	}
	if _, err := e.Statuses(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
}

// TestConfigRefuses wrong options, and says all that is wrong with its limits.
func TestConfigRefuses(t *testing.T) {
	for want, o := range map[string]mgmt.Options{
		"Parallel and Sema must not be negative": {Sema: -1},
		"times must not be negative":             {MaxRuntime: -1},
		"flapping":                               {Flapping: &reactor.Flapping{Times: -1}},
	} {
		if c, err := mgmt.NewConfig(o); err == nil || c != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
