package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func pos(file string, line, col int32) schema.Pos {
	return schema.Pos{File: file, Line: line, Col: col}
}

func TestPosString(t *testing.T) {
	for want, p := range map[string]schema.Pos{
		"":        {},
		"f":       {File: "f"},
		"3:4":     {Line: 3, Col: 4},
		"f:3:4":   {File: "f", Line: 3, Col: 4},
		"f:3":     {File: "f", Line: 3},
		"3":       {Line: 3},
		"a b:1:1": {File: "a b", Line: 1, Col: 1},
	} {
		if got := p.String(); got != want || p.IsZero() != (want == "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDiagnosticString(t *testing.T) {
	d := schema.Diagnostic{
		Severity: schema.Warning, Pos: pos("f", 1, 2), Message: "bad", Suggestion: "good",
		Related: []schema.Related{{Pos: pos("g", 3, 4), Message: "first here"}, {Message: "and nowhere"}},
	}
	want := "f:1:2: warning: bad (did you mean \"good\"?)\n    g:3:4: first here\n    and nowhere"
	if got := d.String(); got != want {
		t.Errorf("got %q", got)
	}
	if got := (schema.Diagnostic{Message: "bare"}).String(); got != "bare" {
		t.Errorf("got %q", got)
	}
	if schema.Error.String() != "error" || schema.Warning.String() != "warning" {
		t.Error("a severity has another word")
	}
}

func TestDiagnostics(t *testing.T) {
	var ds schema.Diagnostics
	if ds.Err() != nil {
		t.Error("nothing is an error")
	}
	ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Pos: pos("b", 1, 1), Message: "w"})
	if ds.Err() != nil {
		t.Error("a warning is an error")
	}
	ds.Errorf(pos("a", 2, 1), "two %d", 2)
	ds.Errorf(pos("a", 1, 9), "nine")
	ds.Errorf(pos("a", 1, 3), "three")
	ds.Errorf(pos("a", 1, 3), "three again")
	ds.Sort()
	want := []string{"a:1:3: three", "a:1:3: three again", "a:1:9: nine", "a:2:1: two 2", "b:1:1: warning: w"}
	if diff := cmp.Diff(want, lines(ds)); diff != "" {
		t.Error(diff)
	}
	err := ds.Err()
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got %v", err)
	}
	if got, ok := errors.AsType[schema.Diagnostics](err); !ok || len(got) != 5 {
		t.Error("the error does not give the findings back")
	}
}

func TestNodeGet(t *testing.T) {
	n := dict("a", str("x"), "b", null())
	if n.Get("a").Text != "x" || n.Get("b") == nil || n.Get("c") != nil || (*schema.Node)(nil).Get("a") != nil {
		t.Error("Get is wrong")
	}
}
