package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// verb runs the program and returns what it wrote and its exit code.
func verb(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	return verbWith(t, "", args...)
}

func verbWith(t *testing.T, stdin string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	a := &cli.App{In: strings.NewReader(stdin), Out: &o, Err: &e}
	code = execute(t.Context(), a, args)
	return o.String(), e.String(), code
}

func TestFactsVerb(t *testing.T) {
	out, errs, code := verb(t, "facts", "--role", "web", "--role", "db")
	if code != 0 || errs != "" || !strings.Contains(out, "roles:          web, db\n") || strings.Count(out, "\n") != len(inputs.FactNames()) {
		t.Errorf("code %d, %q, %s", code, errs, out)
	}
	if out, _, code := verb(t, "facts", "kernel"); code != 0 || out != "Linux\n" {
		t.Errorf("one fact: %d, %q", code, out)
	}
	out, _, _ = verb(t, "facts", "cpus", "roles", "-o", "json", "--role", "web")
	var m map[string]any
	if err := json.Unmarshal([]byte(out), &m); err != nil || len(m) != 2 || m["cpus"].(float64) < 1 || m["roles"].([]any)[0] != "web" {
		t.Errorf("%v: %s", err, out)
	}
	if out, _, _ := verb(t, "facts", "kernel", "roles", "-o", "yaml"); out != "kernel: Linux\nroles: []\n" {
		t.Errorf("%q", out)
	}
	if _, errs, code := verb(t, "facts", "os_famly"); code != cli.ExitUsage || !strings.Contains(errs, `did you mean "os_family"`) {
		t.Errorf("code %d, %q", code, errs)
	}
}

func TestWriteYAML(t *testing.T) {
	var b bytes.Buffer
	v := map[string]any{
		"a": "plain text", "b": []any{int64(1), "x: y", map[string]any{"k": nil, "l": []any{}}, []any{"in"}}, "c": map[string]any{},
		"d": "true", "e": "1.5", "f": "line\nfeed\x1b", "yes": true, "": "", "g": 1.5, "h": "end ",
	}
	if err := render.WriteYAML(&b, v); err != nil {
		t.Fatal(err)
	}
	const want = `"": ""
a: plain text
b:
  - 1
  - "x: y"
  -
    k: null
    l: []
  -
    - in
c: {}
d: "true"
e: "1.5"
f: "line\nfeed\u001b"
g: 1.5
h: "end "
"yes": true
`
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
}

// TestFindingJ9Escaped: YAML and JSON show no character that could turn a line or move the cursor, and mean the same text.
func TestFindingJ9Escaped(t *testing.T) {
	const text = "a\u202eb\u2066c\u200fd\u061ce\u0085f\u009bg\u007f\x1b"
	value := map[string]any{"k\u202e": []any{text}}
	var y, j strings.Builder
	if err := errors.Join(render.WriteYAML(&y, value), render.WriteJSON(&j, value)); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{y.String(), j.String()} {
		if render.VisibleLines(got) != got || !strings.Contains(got, `\u202e`) {
			t.Errorf("%q", got)
		}
	}
	var back map[string]any
	if err := json.Unmarshal([]byte(j.String()), &back); err != nil || !reflect.DeepEqual(back, value) {
		t.Errorf("%q, %v", back, err)
	}
	n, ds := yaml.Document("x", []byte(y.String()))
	if ds.Err() != nil || n.Get("k\u202e") == nil || n.Get("k\u202e").Items[0].Text != text {
		t.Errorf("%v %v", n, ds)
	}
}
