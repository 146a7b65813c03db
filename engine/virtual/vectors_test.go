package virtual_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// vectorFile reads a file of cases. They are in the folder salt of the one that the
// environment names by VECTORS, or in the copy beside this test. None is a failure.
func vectorFile(t *testing.T, name string, into any) {
	t.Helper()
	readVectors(t, filepath.Join(cmp.Or(os.Getenv("VECTORS"), "testdata"), "salt"), name, into)
}

func readVectors(t *testing.T, dir, name string, into any) {
	t.Helper()
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
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	p, err := strictjson.Parse(text)
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
	Extra  map[string]any // in kwargs also as extra.NAME, as mgmt call writes it
	Expect vectorExpect
}

type vectorExpect struct {
	Value      any
	Extra      map[string]any
	Found      *bool
	Error      string
	ErrorNames []string `json:"error_names"`
	Log        []string
	Warnings   []string // the events; absent for those that Log has
	Passed     map[string]any
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
		Backend   string // empty where none can be chosen
		Error     string
		Names     []string       `json:"error_names"`
		Refused   map[string]any // the backends that the error names
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
	When, Unless map[string][]any
	Needs        []string
	Priority     int
}

// arguments are those of the call, as mgmt call reads them.
func (c *vectorCall) arguments(t *testing.T) virtual.Args {
	t.Helper()
	args := virtual.Args{Positional: plainOf(t, c.Args).([]any), Named: map[string]any{}, Extra: map[string]any{}}
	for name, v := range c.Kwargs {
		if own, extra := strings.CutPrefix(name, "extra."); extra {
			args.Extra[own] = plainOf(t, v)
		} else {
			args.Named[name] = plainOf(t, v)
		}
	}
	for name, v := range c.Extra {
		args.Extra[name] = plainOf(t, v)
	}
	return args
}

// scenarios returns those of a group, of which there must be some, and those that we have added.
func scenarios(t *testing.T, group string) []scenario {
	t.Helper()
	var given, more struct{ Scenarios []scenario }
	vectorFile(t, "checker-"+group+".json", &given)
	if len(given.Scenarios) == 0 {
		t.Fatalf("no scenario of %s", group)
	}
	if group != "generator" {
		readVectors(t, filepath.Join("testdata", "more"), "checker-"+group+".json", &more)
	}
	return slices.Concat(given.Scenarios, more.Scenarios)
}

// eventLog is a log handler that keeps level:event:function.
type eventLog struct {
	mu  sync.Mutex
	all []string
}

func (e *eventLog) Enabled(context.Context, slog.Level) bool { return true }
func (e *eventLog) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e *eventLog) WithGroup(string) slog.Handler            { return e }

func (e *eventLog) Handle(_ context.Context, r slog.Record) error {
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
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, strings.Join(parts, ":"))
	return nil
}

// take returns what was logged, and forgets it.
func (e *eventLog) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

func (e *eventLog) expect(t *testing.T, want []string) {
	t.Helper()
	if got := e.take(); !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
