package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/single"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// oneNoop is a frontend with one resource.
func oneNoop() *static.Frontend {
	g := static.NewGraph("one")
	g.Add("noop", "a", &basic.NoopRes{})
	return static.New(g.Declared())
}

// TestOptionsForMany: goroutines plan and run with the same Options at the same time, and with them again. Each has an engine of its own.
func TestOptionsForMany(t *testing.T) {
	o := mgmt.Options{ConvergedExit: true, ConvergedTimeout: time.Millisecond}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2 {
				plan, err := mgmt.Plan(t.Context(), o, oneNoop())
				if err != nil || len(plan.Steps) != 1 {
					t.Errorf("Plan: %v", err)
				}
				if r, err := mgmt.Run(t.Context(), o, oneNoop()); err != nil || !r.Converged || r.Counts[resgraph.StateOK] != 1 {
					t.Errorf("Run: %v, %+v", err, r)
				}
				if out, err := single.Set(t.Context(), o, target("noop", "a", nil)); err != nil || out.Changed {
					t.Errorf("Set: %v, %+v", err, out)
				}
				e, err := mgmt.Open(t.Context(), o, oneNoop())
				if err != nil {
					t.Error(err)
					return
				}
				if ds := e.Check(t.Context(), oneNoop()); len(ds) > 0 {
					t.Error(ds)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestOpen gives an engine that answers, and a start that fails gives its error and nothing that runs.
func TestOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := mgmt.Options{State: mgmt.StateIn(t.TempDir())}
	e, err := mgmt.Open(ctx, o, oneNoop())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := mgmt.Open(ctx, o, nil); err == nil || second != nil {
		t.Errorf("in a folder that is in use: %v, %v", second, err)
	}
	if _, err := statusesOf(ctx, e); err != nil {
		t.Error(err)
	}
	cancel()
	if err := e.Wait(); err != nil {
		t.Error(err)
	}
}

// TestOptionsRefuse what is wrong, and says all that is wrong with its limits.
func TestOptionsRefuse(t *testing.T) {
	for want, o := range map[string]mgmt.Options{
		"Parallel and Sema must not be negative": {Sema: -1},
		"times must not be negative":             {MaxRuntime: -1},
		"flapping":                               {Flapping: &reactor.Flapping{Times: -1}},
	} {
		e, opened := mgmt.Open(t.Context(), o, nil)
		for _, err := range []error{o.Validate(), opened} {
			if err == nil || e != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	}
}
