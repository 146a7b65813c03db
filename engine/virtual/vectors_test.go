package virtual_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// vectorFile reads a file of cases. They are in the folder salt of the one that the
// environment names by VECTORS, or in the copy beside this test. None is a failure.
func vectorFile(t *testing.T, name string, into any) {
	t.Helper()
	dir := filepath.Join(cmp.Or(os.Getenv("VECTORS"), "testdata"), "salt")
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type vectorParam struct {
	Name, Kind string
	Default    *string
}

func (p vectorParam) param(t *testing.T) virtual.Param {
	t.Helper()
	q := virtual.Param{Name: p.Name}
	if err := q.Kind.UnmarshalText([]byte(p.Kind)); err != nil {
		t.Fatal(err)
	}
	if p.Default != nil {
		q.Optional, q.Default = true, sourceValue(*p.Default)
	}
	return q
}

// sourceValue reads the source text of a default.
func sourceValue(text string) any {
	words := map[string]any{"None": nil, "True": true, "False": false}
	if v, ok := words[text]; ok {
		return v
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' && !strings.ContainsAny(text[1:n-1], `\'`) {
		return text[1 : n-1]
	}
	return virtual.Source(text)
}

type vectorFunction struct {
	Name          string
	Params        []vectorParam
	Supported     map[string][]any
	NotApplicable map[string][]any `json:"not_applicable"`
	Returns       map[string]any
	Gives         json.RawMessage
	AliasOf       string `json:"alias_of"`
	ExportedAs    string `json:"exported_as"`
}

func (f vectorFunction) function(t *testing.T) virtual.Function {
	t.Helper()
	g := virtual.Function{Name: cmp.Or(f.ExportedAs, f.Name), AliasOf: f.AliasOf, Supported: plainRule(t, f.Supported), NotApplicable: plainRule(t, f.NotApplicable)}
	for _, p := range f.Params {
		g.Params = append(g.Params, p.param(t))
	}
	if f.Returns == nil {
		return g
	}
	more := plainOf(t, f.Returns).(map[string]any)
	var err error
	if g.Returns, err = virtual.ParseShape(more); err != nil {
		t.Fatal(err)
	}
	g.Default, g.NotFound = more["default"], more["not_found"]
	return g
}

func plainRule(t *testing.T, rule map[string][]any) virtual.Match {
	t.Helper()
	if rule == nil {
		return nil
	}
	m := virtual.Match{}
	for key, values := range rule {
		m[key] = plainOf(t, values).([]any)
	}
	return m
}

func plainOf(t *testing.T, v any) any {
	t.Helper()
	p, err := virtual.FromJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type vectorInterface struct {
	Module    string
	Functions []vectorFunction
}

func (i vectorInterface) declared(t *testing.T) *virtual.Interface {
	t.Helper()
	out := &virtual.Interface{Module: i.Module}
	for _, f := range i.Functions {
		out.Functions = append(out.Functions, f.function(t))
	}
	if err := out.Validate(); err != nil {
		t.Fatal(err)
	}
	return out
}

type vectorBackend struct {
	Name      string
	Functions []vectorFunction
}

// said is a backend that gives what the case says, and remembers what reached it.
type said struct {
	gives  map[string]any
	passed map[string]any
}

func (s *said) Call(_ context.Context, function string, args map[string]any) (any, error) {
	s.passed = args
	return schema.Clone(s.gives[function]), nil
}

func (b vectorBackend) backend(t *testing.T, i *virtual.Interface) (*virtual.Backend, *said) {
	t.Helper()
	s := &said{gives: map[string]any{}}
	out := &virtual.Backend{Name: b.Name, Module: "pkg", Open: func(context.Context, virtual.Env) (virtual.Caller, error) { return s, nil }}
	if i != nil {
		out.Module = i.Module
	}
	for _, f := range b.Functions {
		out.Functions = append(out.Functions, f.function(t))
		name := cmp.Or(f.ExportedAs, f.Name)
		s.gives[name] = itself(i, name)
		if f.Gives != nil {
			var v any
			d := json.NewDecoder(bytes.NewReader(f.Gives))
			d.UseNumber()
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			s.gives[name] = plainOf(t, v)
		}
	}
	if err := out.Validate(); err != nil {
		t.Fatal(err)
	}
	return out, s
}

// itself is what a backend gives where the case only says that it is the backend
// that answers: of the declared shape.
func itself(i *virtual.Interface, name string) any {
	if i != nil {
		if f := i.Function(name); f != nil && f.Returns != nil && f.Returns.Kind == schema.KindMap {
			return map[string]any{"by": "backend"}
		}
	}
	return "backend"
}

type vectorCall struct {
	Fn     string
	Args   []any
	Kwargs map[string]any
	Expect struct {
		Value      any
		Extra      map[string]any
		Found      *bool
		Error      string
		ErrorNames []string `json:"error_names"`
		Log        []string
		Passed     map[string]any
	}
}

type scenario struct {
	ID, Title string
	Interface *vectorInterface
	Backend   json.RawMessage
	Facts     map[string]any
	Times     int
	Exports   []string
	LoadLog   []string `json:"load_log"`
	Config    struct {
		ReturnCheck string `json:"return_check"`
		Providers   map[string]string
	}
	Expect struct {
		Functions json.RawMessage
		Backend   string
		Log       []string
		After     *struct {
			Facts          map[string]any
			Backend, Event string
		}
		Signatures map[string]string
		CheckSelf  map[string]string `json:"check_self"`
		Stable     bool
	}
	Calls    []vectorCall
	Resource *struct {
		Uses    []string
		CheckOK bool `json:"check_ok"`
		Changed bool
		Status  string
	}

	Have              []string
	Candidates        []vectorCandidate
	Reference, Second *vectorBackend
	Options           struct{ Aliases bool }
}

type vectorCandidate struct {
	Name, Module string
	When         map[string][]any
	Needs        []string
	Priority     int
}

// scenarios returns those of a group; there must be some.
func scenarios(t *testing.T, group string) []scenario {
	t.Helper()
	var file struct{ Scenarios []scenario }
	vectorFile(t, "checker-"+group+".json", &file)
	if len(file.Scenarios) == 0 {
		t.Fatalf("no scenario of %s", group)
	}
	return file.Scenarios
}

// events is a log handler that keeps level:event:function.
type events struct{ all []string }

func (e *events) Enabled(context.Context, slog.Level) bool { return true }
func (e *events) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e *events) WithGroup(string) slog.Handler            { return e }

func (e *events) Handle(_ context.Context, r slog.Record) error {
	parts := []string{map[slog.Level]string{slog.LevelWarn: "warning"}[r.Level]}
	if parts[0] == "" {
		parts[0] = strings.ToLower(r.Level.String())
	}
	for _, key := range []string{"event", "function"} {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == key {
				parts = append(parts, a.Value.String())
			}
			return true
		})
	}
	e.all = append(e.all, strings.Join(parts, ":"))
	return nil
}

// take returns what was logged, and forgets it.
func (e *events) take() []string {
	all := e.all
	e.all = nil
	return all
}

func (e *events) expect(t *testing.T, want []string) {
	t.Helper()
	if got := e.take(); !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}

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

func (s *scenario) check(t *testing.T, b vectorBackend) {
	t.Helper()
	i := s.Interface.declared(t)
	backend, calls := b.backend(t, i)
	log := &events{}
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

func (c *vectorCall) run(t *testing.T, n int, m *virtual.Module, s *said, log *events) {
	t.Helper()
	s.passed = nil
	args := virtual.Args{Positional: plainOf(t, c.Args).([]any), Named: plainOf(t, c.Kwargs).(map[string]any)}
	r, err := m.Call(t.Context(), c.Fn, args)
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
	if c.Expect.Log != nil {
		log.expect(t, c.Expect.Log)
	}
	log.take()
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
			module := s.Candidates[0].Module
			if err := catalog.Declare(&virtual.Interface{Module: module}); err != nil {
				t.Fatal(err)
			}
			for _, c := range s.Candidates {
				b := &virtual.Backend{Name: c.Name, Module: c.Module, When: plainRule(t, c.When), Needs: c.Needs, Priority: c.Priority,
					Open: func(context.Context, virtual.Env) (virtual.Caller, error) { return &said{}, nil }}
				if err := catalog.Add(b); err != nil {
					t.Fatal(err)
				}
			}
			has := func(program string) bool { return slices.Contains(s.Have, program) }
			kind, err := virtual.NewKind(catalog, module, func() virtual.System { return virtual.System{Has: has} })
			if err != nil {
				t.Fatal(err)
			}
			log := &events{}
			open := func(facts map[string]any) (*virtual.Module, bool) {
				env := virtual.Env{Facts: plainOf(t, facts).(map[string]any), Log: slog.New(log)}
				m, changed, err := kind.Open(t.Context(), env, s.Config.Providers[module])
				if err != nil {
					t.Fatal(err)
				}
				return m, changed
			}
			m, changed := open(s.Facts)
			if m.Backend.Name != s.Expect.Backend || changed {
				t.Errorf("chosen %s, changed %v", m.Backend.Name, changed)
			}
			log.expect(t, s.Expect.Log)
			after := s.Expect.After
			if after == nil {
				return
			}
			if kind.Stale(m, plainOf(t, s.Facts).(map[string]any), "") || !kind.Stale(m, plainOf(t, after.Facts).(map[string]any), "") {
				t.Error("Stale does not tell when to choose again")
			}
			m, changed = open(after.Facts)
			if m.Backend.Name != after.Backend || !changed {
				t.Errorf("then chosen %s, changed %v", m.Backend.Name, changed)
			}
			log.expect(t, []string{"info:" + after.Event})
		})
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

// deviations are where we do otherwise than the cases say, and why.
var deviations = []struct{ rule, about, reason string }{
	{"severity", "missing username", "a required parameter that a backend lacks is an error, and no warning: each call must give it, and each would be refused"},
	{"alias", "", "functions that are other names are compared with the interface like all others; the cases leave their differences out"},
}

func deviates(used *[]string, rule, about string) bool {
	for _, d := range deviations {
		if d.rule == rule && d.about == about {
			*used = append(*used, about)
			return true
		}
	}
	return false
}

type matrixFile struct {
	Virtual, Reference string
	Summary            struct {
		Functions    int
		InEvery      []string `json:"in_every_backend"`
		InEveryOne   []string `json:"in_every_backend_with_one_signature"`
		InHalfOrMore []string `json:"in_half_or_more"`
		InOneOnly    int      `json:"in_one_backend_only"`
	}
	Functions map[string]struct {
		PresentIn int `json:"present_in"`
		Distinct  int `json:"distinct_signatures"`
		Backends  map[string]struct {
			Status, Signature, Of string
			Differs               []map[string]any `json:"differs_from_reference"`
		}
	}
	Parameters map[string]map[string][]vectorParam
}

var matrices = []string{"pkg", "service", "user", "group"}

func readMatrix(t *testing.T, name string) matrixFile {
	t.Helper()
	var m matrixFile
	vectorFile(t, "matrix-"+name+".json", &m)
	if len(m.Functions) == 0 {
		t.Fatalf("no function in the matrix of %s", name)
	}
	return m
}

// backend makes one of the backends of the matrix, its functions sorted.
func (m *matrixFile) backend(t *testing.T, name string) *virtual.Backend {
	t.Helper()
	b := &virtual.Backend{Name: name, Module: m.Virtual}
	for fn, f := range m.Functions {
		cell := f.Backends[name]
		if cell.Status == "absent" {
			continue
		}
		params, there := m.Parameters[name][fn]
		if !there && cell.Status == "alias" {
			params = m.Parameters[name][cell.Of]
		}
		v := vectorFunction{Name: fn, Params: params, AliasOf: cell.Of}
		b.Functions = append(b.Functions, v.function(t))
	}
	slices.SortFunc(b.Functions, func(a, b virtual.Function) int { return cmp.Compare(a.Name, b.Name) })
	return b
}

// TestMatrixVectors: real backends, each function of each: its signature, and how
// it differs from that of the reference.
func TestMatrixVectors(t *testing.T) {
	for _, name := range matrices {
		t.Run(name, func(t *testing.T) {
			m := readMatrix(t, name)
			reference := m.backend(t, m.Reference)
			backends := []*virtual.Backend{}
			for b := range m.Parameters {
				backends = append(backends, m.backend(t, b))
			}
			for fn, f := range m.Functions {
				for _, b := range backends {
					cell, have := f.Backends[b.Name], functionOf(b, fn)
					if have == nil {
						continue
					}
					if got := have.Signature(); got != cell.Signature {
						t.Errorf("%s.%s%s, want %s", b.Name, fn, got, cell.Signature)
					}
					want := functionOf(reference, fn)
					if want == nil || b.Name == m.Reference || cell.Status == "alias" { // see deviations
						continue
					}
					sameDifferences(t, b.Name+"."+fn, virtual.Compare(want, have), cell.Differs)
				}
			}
			m.summary(t, backends)
		})
	}
}

func functionOf(b *virtual.Backend, name string) *virtual.Function {
	i := virtual.Interface{Functions: b.Functions}
	return i.Function(name)
}

// summary compares what Spread counts with what the file does.
func (m *matrixFile) summary(t *testing.T, backends []*virtual.Backend) {
	t.Helper()
	var every, everyOne, half []string
	one := 0
	spread := virtual.Spread(backends)
	for _, s := range spread {
		f := m.Functions[s.Function]
		if len(s.Backends) != f.PresentIn || len(s.Signatures) != f.Distinct {
			t.Errorf("%s: in %d with %d signatures, want %d, %d", s.Function, len(s.Backends), len(s.Signatures), f.PresentIn, f.Distinct)
		}
		switch n := len(s.Backends); {
		case n == len(backends):
			every = append(every, s.Function)
			if len(s.Signatures) == 1 {
				everyOne = append(everyOne, s.Function)
			}
		case 2*n >= len(backends):
			half = append(half, s.Function)
		case n == 1:
			one++
		}
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"functions", len(spread), m.Summary.Functions},
		{"in every one", every, m.Summary.InEvery},
		{"with one signature", everyOne, m.Summary.InEveryOne},
		{"in half", half, m.Summary.InHalfOrMore},
		{"in one", one, m.Summary.InOneOnly},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// sameDifferences compares differences with those of a case.
func sameDifferences(t *testing.T, where string, got []virtual.Difference, want []map[string]any) {
	t.Helper()
	var have, need []string
	for _, d := range got {
		text := d.Kind.String() + " " + d.Param + " " + d.To
		if d.Kind == virtual.DefaultDiffers {
			text += d.Want + " " + d.Have
		}
		have = append(have, text)
	}
	for _, w := range want {
		param, _ := w["param"].(string)
		to, _ := w["to"].(string)
		text := fmt.Sprint(w["kind"]) + " " + param + " " + to
		if w["kind"] == "default" {
			text += fmt.Sprint(w["interface"], " ", w["backend"])
		}
		need = append(need, text)
	}
	if !slices.Equal(have, need) {
		t.Errorf("%s: differences\n%q, want\n%q", where, have, need)
	}
}

// TestRealVectors: interfaces made from a real backend, checked on other real ones.
func TestRealVectors(t *testing.T) {
	var file struct {
		Rules     struct{ Severity map[string]string }
		Scenarios []struct {
			ID, Virtual, Reference, Backend string
			Expect                          map[string][]string
			Mismatch                        map[string][]map[string]any `json:"mismatch_detail"`
			Tolerated                       map[string][]map[string]any `json:"differences_tolerated"`
		}
	}
	vectorFile(t, "checker-real.json", &file)
	if len(file.Scenarios) == 0 {
		t.Fatal("no scenario")
	}
	var used []string
	defer func() {
		if len(used) == 0 {
			t.Error("no severity deviates any more: remove it from the deviations")
		}
	}()
	for _, s := range file.Scenarios {
		t.Run(s.ID, func(t *testing.T) {
			m := readMatrix(t, s.Virtual)
			i := virtual.Generate(s.Virtual, false, m.backend(t, s.Reference))
			got := map[string][]string{}
			for _, v := range virtual.Check(i, m.backend(t, s.Backend), nil) {
				got[v.Status.String()] = append(got[v.Status.String()], v.Function)
				want := s.Tolerated[v.Function]
				if v.Status == virtual.SignatureMismatch {
					want = s.Mismatch[v.Function]
				}
				if m.Functions[v.Function].Backends[s.Backend].Status != "alias" { // see deviations
					sameDifferences(t, v.Function, v.Differences, want)
				}
				for _, d := range v.Differences {
					rule, got := file.Rules.Severity[d.Kind.String()], d.Severity().String()
					if rule != got && !deviates(&used, "severity", d.Kind.String()+" "+d.Param) {
						t.Errorf("%s: %s is %s, want %s", v.Function, d, got, rule)
					}
				}
			}
			for _, names := range got {
				slices.Sort(names)
			}
			if !reflect.DeepEqual(got, s.Expect) {
				t.Errorf("statuses\n%v, want\n%v", got, s.Expect)
			}
		})
	}
}

// TestReturnsVectors: what real backends return for the same call is a table for
// people; it must be there, and name functions.
func TestReturnsVectors(t *testing.T) {
	var file struct{ Functions map[string]map[string]any }
	vectorFile(t, "returns.json", &file)
	if len(file.Functions) == 0 {
		t.Fatal("no function")
	}
	for name, rows := range file.Functions {
		if !strings.Contains(name, ".") || len(rows) == 0 {
			t.Errorf("%s: %v", name, rows)
		}
	}
}

// TestVectorsAreThere: no files are a failure, and not a test that has nothing to do.
func TestVectorsAreThere(t *testing.T) {
	dir := filepath.Join(cmp.Or(os.Getenv("VECTORS"), "testdata"), "salt")
	names, err := filepath.Glob(filepath.Join(dir, "checker-*.json"))
	if err != nil || len(names) != 8 {
		t.Fatalf("%d files of scenarios (%v), want 8", len(names), err)
	}
}
