package reactor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// hostile is an error whose methods do what a test says.
type hostile struct{ say func() string }

func (h *hostile) Error() string   { return h.say() }
func (h *hostile) Is(error) bool   { return h.say() == "" }
func (h *hostile) As(any) bool     { return h.say() == "" }
func (h *hostile) Unwrap() []error { h.say(); return nil }

// hostiles are errors that hurt who reads them, and what is said of each.
var hostiles = map[string]struct {
	err  func() error
	want string
}{
	"nil":    {func() error { var h *hostile; return h }, "nil pointer"},
	"panics": {func() error { return &hostile{func() string { panic("gotcha") }} }, "panicked: gotcha"},
	"sleeps": {func() error { return &hostile{func() string { time.Sleep(time.Hour); return "good morning" }} }, ""},
	"marked": {func() error { return failure.Permanent(&hostile{func() string { panic("gotcha") }}) }, "panicked: gotcha"},
}

// TestFindingC8HostileErrors: an error that hurts who reads it hurts only its own
// resource, wherever it comes from.
func TestFindingC8HostileErrors(t *testing.T) {
	for name, h := range hostiles {
		for _, where := range []string{"check", "watch", "value", "cleanup"} {
			t.Run(name+" in "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { hostileIn(t, where, h.err, h.want) })
			})
		}
	}
}

func hostileIn(t *testing.T, where string, bad func() error, want string) {
	w := newWorld()
	rg := newRig(t, reactor.Options{Quiet: 10 * time.Millisecond})
	f, other := &fake{w: w}, &fake{w: w}
	src := &sender{fake{w: w}}
	src.check = func(context.Context, *fake, bool) (bool, error) {
		return true, src.init.Send(sends{Out: "x"})
	}
	wires := []string{}
	switch where {
	case "check":
		f.check = func(context.Context, *fake, bool) (bool, error) { return true, bad() }
	case "watch":
		f.watch = func(context.Context, *fake) error { f.init.Running(); return bad() }
	case "value":
		f.validate = func(*fake) error { return bad() }
		wires = append(wires, "want=fake[src].out")
	case "cleanup":
		f.cleanup = bad
	}
	d := newDecl(t).add("src", src).add("f", f, wires...).add("other", other)
	if len(wires) > 0 {
		d.edges("src>f")
	}
	rg.swap(d)
	// An hour is what the slowest text takes: the other one is served meanwhile.
	time.Sleep(time.Second)
	before := w.count("other")
	other.init.Event()
	synctest.Wait()
	if got := w.count("other"); got != before+1 {
		t.Fatalf("the other one ran %d times, want %d: the loop stands still", got, before+1)
	}
	time.Sleep(5 * time.Hour)
	if where != "cleanup" {
		failure := firstFailure(rg, "f")
		if failure == nil {
			t.Fatal("it never failed")
		}
		if !strings.Contains(failure.Error(), want) {
			t.Errorf("it failed with %q, want %q", failure, want)
		}
		var other *hostile
		_ = errors.As(failure, &other)
	}
	rg.close()
	time.Sleep(5 * time.Hour)
}

func firstFailure(rg *rig, name string) error {
	for _, r := range rg.runs(name) {
		if r.State == resgraph.StateFailed {
			return r.Err
		}
	}
	return nil
}
