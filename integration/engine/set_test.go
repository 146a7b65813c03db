package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/daemon/single"
	"github.com/reactivegraph/mgmt/engine/look"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestSet: what it says is what has become of the things.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []look.Target
		noop reactor.Noop
		code int
		then map[string]string
	}{
		{"changed", []look.Target{target("jar", "a", map[string]any{"label": "fig"})}, reactor.NoopOff, 2, map[string]string{"a": "fig"}},
		{"in sync", []look.Target{target("jar", "a", map[string]any{"label": "plum"})}, reactor.NoopOff, 0, map[string]string{"a": "plum"}},
		{"noop", []look.Target{target("jar", "a", map[string]any{"label": "fig"})}, reactor.NoopAll, 2, map[string]string{"a": "plum"}},
		{"failed", []look.Target{target("jar", "bad", map[string]any{"label": "x"})}, reactor.NoopOff, 4, map[string]string{"a": "plum"}},
		{"both", []look.Target{target("jar", "bad", map[string]any{"label": "x"}), target("jar", "b", map[string]any{"label": "y"})}, reactor.NoopOff, 6, map[string]string{"a": "plum", "b": "y"}},
	} {
		s, o := jars(t, map[string]string{"a": "plum"})
		s.fault = func(method, name string) error {
			if method == "CheckApply" && name == "bad" {
				return errors.New("broken")
			}
			return nil
		}
		o.Noop = c.noop
		out, err := single.Set(t.Context(), o, c.set...)
		if err != nil || out.ExitCode() != c.code {
			t.Errorf("%s: %+v, %v", c.name, out, err)
		}
		if diff := cmp.Diff(c.then, s.jars); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestSetRefuses what is wrong, all of it and before anything is altered.
func TestSetRefuses(t *testing.T) {
	s, o := jars(t, nil)
	_, err := single.Set(t.Context(), o, target("jar", "a", map[string]any{"label": "x", "weight": 1}), target("jar", "b", nil), target("jar", "c", map[string]any{"label": "fine"}))
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok || len(ds) != 2 || len(s.jars) != 0 {
		t.Errorf("%v, %v", err, s.jars)
	}
}

// TestSetHides: what was given as a secret is in no change, though its type is plain.
func TestSetHides(t *testing.T) {
	_, o := jars(t, nil)
	var said []string
	o.Observer.Ran = func(r reactor.Run) { said = append(said, fmt.Sprint(r.Changes)) }
	tg := target("jar", "a", map[string]any{"label": "canary12"})
	tg.Secret = []string{"label"}
	if out, err := single.Set(t.Context(), o, tg); err != nil || !out.Changed {
		t.Error(out, err)
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, "canary") || !strings.Contains(text, "label") {
		t.Error(text)
	}
}

// TestSetEnds: a signal in between is an error.
func TestSetEnds(t *testing.T) {
	s, o := jars(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	s.fault = func(method, _ string) error {
		if method == "CheckApply" {
			cancel(why)
			return errors.New("broken")
		}
		return nil
	}
	if _, err := single.Set(ctx, o, target("jar", "a", map[string]any{"label": "x"})); !errors.Is(err, why) {
		t.Error(err)
	}
}
