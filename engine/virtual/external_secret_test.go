package virtual_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// canary is a part of each secret here, and stands for it whatever is around it.
const canary = "canary"

// program binds a program that gives an answer to an interface of one function, f(a, x),
// whose results are of a shape. What the log is told is in the buffer.
func program(t *testing.T, returns *schema.Type, answer *engine.Result, o ...virtual.Option) (*virtual.Module, *enginetest.FakeHost, *bytes.Buffer) {
	t.Helper()
	d := description()
	d["functions"] = []any{map[string]any{"name": "f", "params": []any{map[string]any{"name": "a"}, map[string]any{"name": "x", "optional": true}}}}
	b, ds := external(t, d)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	host := enginetest.NewHost()
	host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return answer, nil })
	var said bytes.Buffer
	i := &virtual.Interface{Module: "m", Functions: []virtual.Function{{Name: "f", Params: b.Functions[0].Params, Returns: returns}}}
	m, err := virtual.Bind(t.Context(), i, b, virtual.Env{Host: host, Log: slog.New(slog.NewTextHandler(&said, nil))}, o...)
	if err != nil {
		t.Fatal(err)
	}
	return m, host, &said
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExternalKeepsSecrets: what a program says of the secrets that it was given is not
// shown, however it writes them, and wherever what it says is cut.
func TestExternalKeepsSecrets(t *testing.T) {
	secret := "it's \"<" + canary + " é\\ " + strings.Repeat("0123456789", 20)
	inShell := "'" + strings.ReplaceAll(secret, "'", `'\''`) + "'"
	returns := shape(t, map[string]any{"type": "record", "fields": map[string]any{"n": "int"}})
	for name, c := range map[string]struct {
		answer *engine.Result
		want   string
	}{
		"as it is":      {&engine.Result{ExitCode: 1, Stderr: []byte("no " + secret)}, "no (secret)"},
		"as JSON":       {&engine.Result{ExitCode: 1, Stderr: []byte("no " + quoted(t, secret))}, `no "(secret)"`},
		"as Go":         {&engine.Result{ExitCode: 1, Stderr: []byte("no " + strconv.Quote(secret))}, `no "(secret)"`},
		"as a shell":    {&engine.Result{ExitCode: 1, Stderr: []byte("+ x " + inShell)}, "+ x '(secret)'"},
		"as it came":    {&engine.Result{ExitCode: 1, Stderr: []byte("+ x '" + strings.ReplaceAll(quoted(t, secret), "'", `'\''`) + "'")}, `+ x '"(secret)"'`},
		"where it cuts": {&engine.Result{ExitCode: 1, Stderr: []byte(secret + strings.Repeat(".", 1000))}, "...."},
		"an error":      {&engine.Result{Stdout: []byte(`{"error": ` + quoted(t, "no "+secret) + `}`)}, "no (secret)"},
		"a long error":  {&engine.Result{Stdout: []byte(`{"error": ` + quoted(t, secret+strings.Repeat(".", 1000)) + `}`)}, "...."},
		"a result":      {&engine.Result{Stdout: []byte(`{"result": {"n": ` + quoted(t, secret) + `}}`)}, "n: "},
		"a bad line":    {&engine.Result{Stdout: []byte(quoted(t, secret))}, "wrote no answer"},
		"a bad key":     {&engine.Result{Stdout: []byte(`{` + quoted(t, secret) + `: 1}`)}, "wrote no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, _ := program(t, returns, c.answer)
			_, err := m.Call(t.Context(), "f", virtual.Args{Named: map[string]any{"a": map[string]any{"k": []any{schema.NewSecret(secret)}}}})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "0123456789") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestLaxKeepsSecrets: neither does a warning tell them, also of a backend in Go.
func TestLaxKeepsSecrets(t *testing.T) {
	returns := shape(t, map[string]any{"type": "map_of", "of": "int"})
	m, _, said := program(t, returns, &engine.Result{Stdout: []byte(`{"result": {"` + canary + `": "x"}}`)}, virtual.Lax())
	r, err := m.Call(t.Context(), "f", virtual.Args{Named: map[string]any{"a": schema.NewSecret(canary)}})
	if err != nil || len(r.Warnings) != 1 || !strings.Contains(said.String(), schema.Redacted) {
		t.Fatal(r, err, said)
	}
	if text := fmt.Sprint(r.Warnings, said); strings.Contains(text, canary) {
		t.Error(text)
	}
}

// TestExternalSecretResults: what a program returns where the interface says that it is a
// secret is one, and what it said is not shown: nobody knows what is secret in that.
func TestExternalSecretResults(t *testing.T) {
	returns := &schema.Type{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindStruct, Fields: []*schema.Field{
		{Key: "hashes", Type: &schema.Type{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindString, Secret: true}}},
		{Key: "n", Type: &schema.Type{Kind: schema.KindInt, Bits: 64}},
	}}}
	for out, lax := range map[string]bool{
		`{"result": {"u": {"hashes": ["` + canary + `"], "n": 1}}}`:   false,
		`{"result": {"u": {"hashes": ["` + canary + `"], "n": "x"}}}`: true,
	} {
		var o []virtual.Option
		if lax {
			o = append(o, virtual.Lax())
		}
		m, _, said := program(t, returns, &engine.Result{Stdout: []byte(out)}, o...)
		r, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		hash := r.Common.(map[string]any)["u"].(map[string]any)["hashes"].([]any)[0]
		if s, ok := hash.(schema.Secret); !ok || s.Reveal() != canary || strings.Contains(said.String(), canary) {
			t.Errorf("%v, %s", hash, said)
		}
	}
	m, _, _ := program(t, returns, &engine.Result{ExitCode: 3, Stderr: []byte("it was " + canary)})
	if _, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{"x"}}); err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "prog ended with code 3; what it said is not shown") {
		t.Error(err)
	}
}

// TestExternalNoUTF8: what JSON would alter is not handed to a program.
func TestExternalNoUTF8(t *testing.T) {
	for _, bad := range []any{"caf\xe9", []any{"caf\xe9"}, map[string]any{"caf\xe9": int64(1)}, schema.NewSecret("caf\xe9")} {
		m, host, _ := program(t, nil, &engine.Result{Stdout: []byte(`{"result": 1}`)})
		_, err := m.Call(t.Context(), "f", virtual.Args{Positional: []any{bad}})
		if err == nil || !strings.Contains(err.Error(), "is no UTF-8") || len(host.Commands()) > 0 {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
