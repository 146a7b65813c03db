package expand

import (
	"reflect"
	"strings"
	"testing"
)

func TestVariablesTakeSettings(t *testing.T) {
	s := &shelf{files: map[string]string{"f": `{"n": 2, "list": [1]}`}}
	o := optionsOf(s)
	o.VarFiles = []string{"f"}
	o.Vars = []Setting{
		{Name: "n", Text: "3", From: "--var"}, {Name: "n", Text: "4", From: "--var"},
		{Name: "word", Text: "1.10", From: "--var"},
	}
	vs, f := variables{}, newFindings()
	vs.declare(tree(t, `{"n": 1, "word": {"type": "text", "doc": "A word."}, "list": {"type": "list"}, "d": {"default": 1.5}}`), f)
	if !vs.apply(o, newInputs(o), f) {
		t.Error("a file counts as one that can't be read")
	}
	says(t, f)
	got := map[string]any{}
	for name, v := range vs {
		got[name] = v.value
	}
	want := map[string]any{"n": int64(4), "word": "1.10", "list": []any{int64(1)}, "d": 1.5}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestVariablesReportAllAtOnce(t *testing.T) {
	o := optionsOf(&shelf{})
	o.VarFiles = []string{"none"}
	o.Vars = []Setting{
		{Name: "n", Text: "true", From: "--var"},
		{Name: "nn", Text: "1", From: "--var"},
		{Name: "secret", Text: "[hidden", From: "ENV"},
	}
	vs, f := variables{}, newFindings()
	vs.declare(tree(t, `{"n": 1, "a-b": 1, "empty": {"type": "int"}, "odd": {"type": "integer", "default": 1}, "secret": {"type": "int", "default": 0}}`), f)
	vs.declare(tree(t, `{"n": 5}`), f)
	if vs.apply(o, newInputs(o), f) {
		t.Error("a file that is missing is not told")
	}
	all := messages(f)
	for _, part := range []string{
		`"a-b" can't be the name`, `"integer" is no type`, "n is declared twice", "can't read none", "n is int, not bool",
		`no variable "nn"`, "the value is no YAML of the type int", "the variable empty has no value",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is missing in:\n%s", part, all)
		}
	}
	if strings.Contains(all, "hidden") {
		t.Errorf("the text of a setting, which may be a secret, is shown:\n%s", all)
	}
	if len(f.All()) != 8 {
		t.Errorf("%d findings:\n%s", len(f.All()), all)
	}
}
