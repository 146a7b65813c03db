package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/schema"
)

func at(line int) schema.Pos { return schema.Pos{File: "f", Line: int32(line), Col: 1} }

func TestFindings(t *testing.T) {
	var f schema.Findings
	if all := f.All(); all != nil || f.Errors() != 0 {
		t.Errorf("of nothing: %v", all)
	}
	f.Add(schema.Diagnostic{Severity: schema.Warning, Pos: at(1), Message: "careful"})
	for i := range schema.MaxFindings + 3 {
		f.Errorf(at(schema.MaxFindings+9-i), "error %d", i)
	}
	all := f.All()
	if len(all) != schema.MaxFindings+2 || f.Errors() != schema.MaxFindings+3 {
		t.Fatalf("%d are kept, %d errors counted", len(all), f.Errors())
	}
	if all[0].Message != "careful" || all[1].Message != fmt.Sprintf("error %d", schema.MaxFindings-1) {
		t.Errorf("not by position: %v, %v", all[0], all[1])
	}
	if last := all[len(all)-1].String(); last != "and 3 more errors" {
		t.Errorf("the rest is %q", last)
	}

	// What was collected can be collected again, and the count stays right.
	var g schema.Findings
	g.Add(all...)
	g.Errorf(at(1), "one more")
	again := g.All()
	if last := again[len(again)-1].String(); last != "and 4 more errors" || g.Errors() != f.Errors()+1 {
		t.Errorf("the rest is %q of %d", last, g.Errors())
	}
}

// Warnings, however many, never push an error out.
func TestFindingsKeepErrors(t *testing.T) {
	var f schema.Findings
	for i := range 2 * schema.MaxFindings {
		f.Add(schema.Diagnostic{Severity: schema.Warning, Pos: at(i), Message: "careful"})
	}
	if f.All().Err() != nil {
		t.Error("warnings are an error")
	}
	f.Errorf(at(1), "wrong")
	text := f.All().Error()
	if !strings.Contains(text, "f:1:1: wrong\n") || !strings.HasSuffix(text, "\nwarning: and 1000 more warnings") {
		t.Errorf("said:\n%s", text)
	}
}

// However findings are collected, in one or by way of others, as many are counted
// and no more are kept.
func TestFindingsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole schema.Findings
		counted := [2]int{}
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			var part schema.Findings
			for range rapid.IntRange(0, 1500).Draw(t, "findings") {
				d := schema.Diagnostic{Severity: schema.Severity(counted[0] % 3 / 2), Pos: at(counted[0])}
				counted[d.Severity]++
				part.Add(d)
			}
			whole.Add(part.All()...)
		}
		got := [2]int{}
		for _, d := range whole.All() {
			got[d.Severity] += max(1, d.More)
		}
		if got != counted || whole.Errors() != counted[schema.Error] {
			t.Fatalf("%v were counted, there were %v", got, counted)
		}
		if n := len(whole.All()); n > 2*(schema.MaxFindings+1) {
			t.Fatalf("%d are kept", n)
		}
	})
}
