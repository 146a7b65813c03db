package virtual_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// description is one that is right.
func description() map[string]any {
	return map[string]any{
		"name": "prog", "module": "m", "command": []any{"prog", "serve"}, "needs": []any{"a|b"}, "watch": "poll", "priority": int64(3),
		"when": map[string]any{"os": []any{"Debian"}}, "unless": map[string]any{"init": []any{"systemd"}},
		"functions": []any{
			map[string]any{"name": "f", "params": []any{
				map[string]any{"name": "a", "type": "string"},
				map[string]any{"name": "b", "type": map[string]any{"type": "list_of", "of": "int"}, "default": []any{int64(1)}},
				map[string]any{"name": "c", "optional": true},
				map[string]any{"name": "n", "default": nil},
				map[string]any{"name": "more", "kind": "kwargs"},
			}},
		},
	}
}

func external(t *testing.T, d map[string]any) (*virtual.Backend, schema.Diagnostics) {
	t.Helper()
	n, err := schema.NodeOf(d)
	if err != nil {
		t.Fatal(err)
	}
	return virtual.External(n)
}

// TestExternal: a backend that is a program goes through the same checks, and gets
// its arguments as one JSON value.
func TestExternal(t *testing.T) {
	b, ds := external(t, description())
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if got := b.Functions[0].Signature(); got != "(a, b=[1], c=None, n=None, **more)" {
		t.Error(got)
	}
	if b.Watch != virtual.WatchPoll || b.Priority != 3 || !b.When.Holds(virtual.Facts{"os": "Debian"}) || len(b.Needs) != 2 || b.Needs[0] != "prog" {
		t.Errorf("%+v", b)
	}
	host := enginetest.NewHost()
	answer := &engine.Result{}
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if len(c.Argv) != 2 || c.Argv[1] != "serve" || strings.Contains(strings.Join(c.Argv, " "), "hunter2") {
			t.Errorf("arguments %q", c.Argv)
		}
		return answer, nil
	})
	returns, err := virtual.ParseShape(map[string]any{"type": "record", "fields": map[string]any{"n": "int"}, "optional": map[string]any{"s": "string"}})
	if err != nil {
		t.Fatal(err)
	}
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{{Name: "f", Params: b.Functions[0].Params, Returns: returns, NotFound: map[string]any{}}}}
	m, err := virtual.Bind(t.Context(), i, b, virtual.Env{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	call := func(out string) (*virtual.Result, error) {
		answer = &engine.Result{Stdout: []byte(out)}
		return m.Call(t.Context(), "f", virtual.Args{Positional: []any{schema.NewSecret("hunter2")}, Named: map[string]any{"x": int64(1)}})
	}
	r, err := call(`{"result": {"n": 12345678901234567, "own": 1.5}}`)
	if err != nil || r.Common.(map[string]any)["n"] != int64(12345678901234567) || r.Extra["own"] != 1.5 {
		t.Errorf("%+v, %v", r, err)
	}
	var asked struct {
		Function string
		Args     map[string]any
	}
	if err := json.Unmarshal(host.Commands()[0].Stdin, &asked); err != nil || asked.Function != "f" || asked.Args["a"] != "hunter2" || asked.Args["x"] != 1.0 || asked.Args["n"] != nil || len(asked.Args) != 5 {
		t.Errorf("%+v, %v", asked, err)
	}
	if r, err := call(`{"not_found": true}`); err != nil || r.Found {
		t.Errorf("%+v, %v", r, err)
	}
	for range 10 { // keys come in any order
		if r, err := call(`{"error": null, "result": {"n": 1}, "not_found": null}`); err != nil || r.Common.(map[string]any)["n"] != int64(1) {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for out, want := range map[string]string{
		`{"error": "no space"}`:            "m.f: no space",
		``:                                 "wrote no answer",
		`{"result": `:                      "wrote no answer",
		`{"result": 1} {"result": 2}`:      "more than one value",
		`{"resullt": 1}`:                   "a key that is none of result, error and not_found",
		`{"Result": 1}`:                    "a key that is none of result, error and not_found",
		`{"result": 1, "result": 2}`:       "a key is there twice",
		`{"result": {"a\ud800": 1}}`:       "half of a surrogate pair",
		"{\"result\": {\"a\xff\": 1}}":     "it is no UTF-8",
		`{"error": 5}`:                     "error is a number",
		`{"not_found": "no"}`:              "not_found is text",
		`[]`:                               "wrote no answer",
		`{"result": {"n": "1"}}`:           "n: ",
		`{"result": {"n": 1.5}}`:           "n: ",
		`{"result": {"n": 1e400}}`:         "a number is too large",
		`{"result": {"n": 1, "s": false}}`: "s: ",
		`{"result": [1]}`:                  "it is a list",
		`{}`:                               "it is null",
		strings.Repeat(`{"result":`, 20000) + `1`: "wrote no answer",
	} {
		if _, err := call(out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", out, err, want)
		}
	}
	answer = &engine.Result{ExitCode: -1, Signal: "SIGKILL", Stderr: []byte("oops\n")}
	host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return answer, nil })
	if _, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}}); err == nil || !strings.Contains(err.Error(), "SIGKILL: oops") {
		t.Errorf("killed: %v", err)
	}
	answer = &engine.Result{Truncated: true, Stdout: []byte(`{"result": {"n": 1}}`)}
	if _, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}}); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("too much: %v", err)
	}
	lost := errors.New("lost")
	host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return nil, lost })
	if _, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}}); !errors.Is(err, lost) {
		t.Errorf("it could not be run: %v", err)
	}
}

// TestBadDescriptions: what is wrong with a description is said.
func TestBadDescriptions(t *testing.T) {
	for _, c := range []struct {
		want  string
		alter func(d, f, p map[string]any)
	}{
		{"name", func(d, _, _ map[string]any) { delete(d, "name") }},
		{"command", func(d, _, _ map[string]any) { delete(d, "command") }},
		{"command", func(d, _, _ map[string]any) { d["command"] = []any{} }},
		{"watch", func(d, _, _ map[string]any) { d["watch"] = "stare" }},
		{"cannot tell of changes", func(d, _, _ map[string]any) { d["watch"] = "files" }},
		{"its name has to be one word", func(d, _, _ map[string]any) { d["name"] = "../x" }},
		{"its name has to be one word", func(d, _, _ map[string]any) { d["name"] = "a b" }},
		{"a program that it needs has no name", func(d, _, _ map[string]any) { d["needs"] = []any{""} }},
		{"a function is a word", func(_, f, _ map[string]any) { f["name"] = "f g" }},
		{"parameter \"a\" is text, and its default is 5", func(_, _, p map[string]any) { p["default"] = int64(5) }},
		{"colour", func(d, _, _ map[string]any) { d["colour"] = "red" }},
		{"no type", func(_, _, p map[string]any) { p["type"] = "strin" }},
		{"a type is a word or a map", func(_, _, p map[string]any) { p["type"] = int64(1) }},
		{"kind of parameter", func(_, _, p map[string]any) { p["kind"] = "sideways" }},
		{"is there twice", func(_, f, p map[string]any) { f["params"] = []any{p, p} }},
		{"has no name", func(_, _, p map[string]any) { p["name"] = "" }},
		{"later kind", func(_, f, p map[string]any) {
			f["params"] = []any{map[string]any{"name": "k", "kind": "kwargs"}, p}
		}},
		{"second of its kind", func(_, f, _ map[string]any) {
			f["params"] = []any{map[string]any{"name": "k", "kind": "kwargs"}, map[string]any{"name": "l", "kind": "kwargs"}}
		}},
		{"function f is there twice", func(d, f, _ map[string]any) { d["functions"] = []any{f, f} }},
	} {
		d := description()
		f := d["functions"].([]any)[0].(map[string]any)
		c.alter(d, f, f["params"].([]any)[0].(map[string]any))
		if _, ds := external(t, d); ds.Err() == nil || !strings.Contains(ds.Error(), c.want) {
			t.Errorf("%q: %v", c.want, ds)
		}
	}
	for _, bad := range []any{
		map[string]any{"type": "record", "fields": "x"},
		map[string]any{"type": "record", "fields": map[string]any{"a": "nothing"}},
		map[string]any{"type": "list_of", "of": "nothing"},
		map[string]any{},
	} {
		if shape, err := virtual.ParseShape(bad); err == nil {
			t.Errorf("%v is %v", bad, shape)
		}
	}
}
