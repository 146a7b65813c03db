package virtual_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// TestCheckerVectors: interfaces, backends and facts, what is then said of each function,
// and what calls give.
func TestCheckerVectors(t *testing.T) {
	for _, group := range []string{"presence", "supported", "not_applicable", "signature", "returns"} {
		for _, s := range scenarios(t, group) {
			t.Run(s.ID, func(t *testing.T) {
				var b vectorBackend
				if err := json.Unmarshal(s.Backend, &b); err != nil {
					t.Fatal(err)
				}
				for range max(1, s.Times) {
					s.check(t, b)
				}
			})
		}
	}
}

// TestFindingF12ExtraAndWarnings: cases can give extra arguments, and say what a result warns of.
func TestFindingF12ExtraAndWarnings(t *testing.T) {
	tried := 0
	for _, s := range scenarios(t, "signature") {
		for _, c := range s.Calls {
			if c.Warnings() || len(c.arguments(t).Extra) > 0 {
				tried++
			}
		}
	}
	if tried < 6 {
		t.Errorf("%d calls with extra arguments or warnings", tried)
	}
	for _, silent := range []vectorCall{{}, {Expect: vectorExpect{Log: []string{}}}} {
		if silent.warnsWrong(&virtual.Result{Warnings: []virtual.Warning{{Event: "swallowed"}}}) == "" {
			t.Error("a warning passes where the case has none")
		}
	}
	wrong := vectorCall{}
	wrong.Expect.Warnings = []string{"deprecated"}
	if got := wrong.warnsWrong(&virtual.Result{Warnings: []virtual.Warning{{Event: "swallowed"}}}); got == "" {
		t.Error("other warnings than wanted pass")
	}
}

func (s *scenario) check(t *testing.T, b vectorBackend) {
	t.Helper()
	i := s.Interface.declared(t)
	backend, calls := b.backend(t, i)
	log := &eventLog{}
	env := virtual.Env{Facts: plainOf(t, s.Facts).(map[string]any), Log: slog.New(log)}
	var options []virtual.Option
	if s.Config.ReturnCheck == "lax" {
		options = append(options, virtual.Lax())
	}
	m, err := virtual.Bind(t.Context(), i, backend, env, options...)
	if err != nil {
		t.Fatal(err)
	}
	log.expect(t, s.LoadLog)
	want := map[string]string{}
	if err := json.Unmarshal(s.Expect.Functions, &want); err != nil {
		t.Fatal(err)
	}
	if got := statusesOf(m.Verdicts()); !reflect.DeepEqual(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	if s.Exports != nil && !slices.Equal(m.Functions(), s.Exports) {
		t.Errorf("functions %v, want %v", m.Functions(), s.Exports)
	}
	for n, c := range s.Calls {
		c.run(t, n, m, calls, log)
	}
	s.resource(t, m)
}

// resource is the rule for a resource that uses functions: one that is not
// applicable is satisfied, any other that cannot be called is an error at load.
func (s *scenario) resource(t *testing.T, m *virtual.Module) {
	t.Helper()
	if s.Resource == nil {
		return
	}
	if err := m.Needs(s.Resource.Uses...); err != nil {
		t.Error(err)
	}
	for _, fn := range s.Resource.Uses {
		r, err := m.Call(t.Context(), fn, virtual.Args{Positional: []any{"x"}})
		if err != nil || strings.ReplaceAll(r.Status.String(), "_", " ") != s.Resource.Status {
			t.Errorf("%s: %+v, %v", fn, r, err)
		}
	}
}

func statusesOf(verdicts []virtual.Verdict) map[string]string {
	got := map[string]string{}
	for _, v := range verdicts {
		got[v.Function] = v.Status.String()
	}
	return got
}

func (c *vectorCall) run(t *testing.T, n int, m *virtual.Module, s *said, log *eventLog) {
	t.Helper()
	s.passed = nil
	r, err := m.Call(t.Context(), c.Fn, c.arguments(t))
	if got := errorWord(err); got != c.Expect.Error {
		t.Fatalf("call %d of %s: error %q (%v), want %q", n, c.Fn, got, err, c.Expect.Error)
	}
	for _, word := range c.Expect.ErrorNames {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("call %d of %s: %q does not name %s", n, c.Fn, err, word)
		}
	}
	if c.Expect.Error != "" && c.Expect.Error != "return_shape" && s.passed != nil {
		t.Errorf("call %d of %s reached the backend: %v", n, c.Fn, s.passed)
	}
	c.warned(t, n, r, log.take())
	if c.Expect.Passed != nil && !reflect.DeepEqual(s.passed, plainOf(t, c.Expect.Passed)) {
		t.Errorf("call %d of %s: passed %v, want %v", n, c.Fn, s.passed, c.Expect.Passed)
	}
	if err != nil {
		return
	}
	want := plainOf(t, c.Expect.Value)
	if want == "backend" {
		want = itself(m.Interface, c.Fn)
	}
	if c.Expect.Value != nil && !reflect.DeepEqual(r.Common, want) {
		t.Errorf("call %d of %s: value %#v, want %#v", n, c.Fn, r.Common, want)
	}
	if c.Expect.Extra != nil && !reflect.DeepEqual(r.Extra, plainOf(t, c.Expect.Extra)) {
		t.Errorf("call %d of %s: extra %v, want %v", n, c.Fn, r.Extra, c.Expect.Extra)
	}
	if want := c.Expect.Found == nil || *c.Expect.Found; r.Found != want {
		t.Errorf("call %d of %s: found %v", n, c.Fn, r.Found)
	}
	spoil(r.Common)
}

// warned compares the warnings of a result with what the case wants, and with the log, which has them too.
func (c *vectorCall) warned(t *testing.T, n int, r *virtual.Result, logged []string) {
	t.Helper()
	if want := c.Expect.Log; want != nil && !slices.Equal(logged, want) {
		t.Errorf("call %d of %s: logged %q, want %q", n, c.Fn, logged, want)
	}
	if r == nil {
		return
	}
	if warned := warningsOf(r, c.Fn); !slices.Equal(warned, slices.DeleteFunc(logged, notWarning)) {
		t.Errorf("call %d of %s: its result warns of %v, and the log of %v", n, c.Fn, warned, logged)
	}
	if wrong := c.warnsWrong(r); wrong != "" {
		t.Errorf("call %d of %s: %s", n, c.Fn, wrong)
	}
}

// Warnings reports whether the case says what its result warns of.
func (c *vectorCall) Warnings() bool { return c.Expect.Warnings != nil }

// warnsWrong says how the warnings of a result are not those of the case; empty where they are.
func (c *vectorCall) warnsWrong(r *virtual.Result) string {
	events := []string{}
	for _, w := range r.Warnings {
		events = append(events, w.Event)
	}
	want := c.Expect.Warnings
	if want == nil && c.Expect.Log != nil {
		want = c.logged()
	}
	if slices.Equal(events, want) {
		return ""
	}
	return fmt.Sprintf("its result warns of %v, want %v", events, want)
}

// logged are the events of the warnings that the case wants in the log. A case that says nothing of warnings or of
// the log wants none.
func (c *vectorCall) logged() (events []string) {
	for _, line := range c.Expect.Log {
		if rest, is := strings.CutPrefix(line, "warning:"); is {
			event, _, _ := strings.Cut(rest, ":")
			events = append(events, event)
		}
	}
	return events
}

// warningsOf writes the warnings of a result as a case does.
func warningsOf(r *virtual.Result, fn string) (all []string) {
	for _, w := range r.Warnings {
		all = append(all, "warning:"+w.Event+":"+fn)
	}
	return all
}

func notWarning(line string) bool { return !strings.HasPrefix(line, "warning:") }

// spoil alters a value, as a careless caller may.
func spoil(v any) {
	switch v := v.(type) {
	case map[string]any:
		v["spoiled"] = true
	case []any:
		if cap(v) > 0 {
			_ = append(v[:0], "spoiled")
		}
	}
}

func errorWord(err error) string {
	switch {
	case err == nil:
		return ""
	case isType[*virtual.NotImplementedError](err):
		return "not_implemented"
	case isType[*virtual.NotSupportedError](err):
		return "not_supported"
	case isType[*virtual.BadArgumentsError](err):
		return "bad_arguments"
	case isType[*virtual.UnsupportedArgumentError](err):
		return "unsupported_argument"
	case isType[*virtual.SignatureMismatchError](err):
		return "signature_mismatch"
	case isType[*virtual.ReturnShapeError](err):
		return "return_shape"
	}
	return fmt.Sprintf("%T", err)
}

// TestSelectionVectors: which of several backends is chosen.
func TestSelectionVectors(t *testing.T) {
	for _, s := range scenarios(t, "selection") {
		t.Run(s.ID, func(t *testing.T) {
			catalog := virtual.NewCatalog()
			module := s.module()
			if err := catalog.Declare(&virtual.Interface{Module: module}); err != nil {
				t.Fatal(err)
			}
			for _, c := range s.Candidates {
				b := &virtual.Backend{Name: c.Name, Module: c.Module, When: plainRule(t, c.When), Unless: plainRule(t, c.Unless), Needs: c.Needs, Priority: c.Priority,
					Open: func(context.Context, virtual.Env) (virtual.Caller, error) { return &said{}, nil }}
				if err := catalog.Add(b); err != nil {
					t.Fatal(err)
				}
			}
			has := func(program string) bool { return slices.Contains(s.Have, program) }
			kind, err := virtual.NewKind(catalog, module, func(virtual.Facts) virtual.System { return virtual.System{Has: has} })
			if err != nil {
				t.Fatal(err)
			}
			log := &eventLog{}
			env := func(facts map[string]any) virtual.Env {
				return virtual.Env{Facts: plainOf(t, facts).(map[string]any), Log: slog.New(log)}
			}
			s.choose(t, kind, env, log)
		})
	}
}

// module is the one that the candidates are for.
func (s *scenario) module() string {
	for _, c := range s.Candidates {
		return c.Module
	}
	return "pkg"
}

// choose opens the module for the facts, and again when they have changed.
func (s *scenario) choose(t *testing.T, kind *virtual.Kind, env func(map[string]any) virtual.Env, log *eventLog) {
	t.Helper()
	want := s.Config.Providers[s.module()]
	open := func(facts map[string]any, backend string) *virtual.Module {
		m, err := kind.Open(t.Context(), env(facts), want)
		switch {
		case err == nil && m.Backend.Name != backend:
			t.Errorf("chosen %s, want %q", m.Backend.Name, backend)
		case err != nil && (backend != "" || !isType[*virtual.NoBackendError](err)):
			t.Error(err)
		case err != nil:
			for _, word := range slices.Concat(s.Expect.Names, slices.Collect(maps.Keys(s.Expect.Refused))) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not name %s", err, word)
				}
			}
		}
		return m
	}
	m := open(s.Facts, s.Expect.Backend)
	log.expect(t, s.Expect.Log)
	after := s.Expect.After
	if after == nil || m == nil {
		return
	}
	if kind.Stale(m, env(s.Facts), "") || !kind.Stale(m, env(after.Facts), "") {
		t.Error("Stale does not tell when to choose again")
	}
	if open(after.Facts, after.Backend); after.Event != "" {
		log.expect(t, []string{"info:" + after.Event})
	}
}

// TestGeneratorVectors: interfaces that are made from backends.
func TestGeneratorVectors(t *testing.T) {
	for _, s := range scenarios(t, "generator") {
		t.Run(s.ID, func(t *testing.T) {
			first, _ := s.Reference.backend(t, nil)
			var others []*virtual.Backend
			if s.Second != nil {
				second, _ := s.Second.backend(t, nil)
				others = append(others, second)
			}
			i := virtual.Generate("pkg", s.Options.Aliases, first, others...)
			var want, got []string
			if err := json.Unmarshal(s.Expect.Functions, &want); err != nil {
				t.Fatal(err)
			}
			for _, f := range i.Functions {
				got = append(got, f.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("functions %v, want %v", got, want)
			}
			for name, text := range s.Expect.Signatures {
				if got := i.Function(name).Signature(); got != text {
					t.Errorf("%s%s, want %s", name, got, text)
				}
			}
			if s.Expect.CheckSelf != nil {
				if got := statusesOf(virtual.Check(i, first, nil)); !reflect.DeepEqual(got, s.Expect.CheckSelf) {
					t.Errorf("checked on itself: %v", got)
				}
			}
			if err := i.Validate(); err != nil {
				t.Error(err)
			}
			if again := virtual.Generate("pkg", s.Options.Aliases, first, others...); !reflect.DeepEqual(i, again) {
				t.Error("it is not stable")
			}
		})
	}
}
