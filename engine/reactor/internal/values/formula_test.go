package values_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// both is a formula of the values text of a and b.
func both(sum string) *resgraph.Formula {
	return &resgraph.Formula{Sum: sum, Make: func(sent map[string]any) (any, bool, error) {
		if sent["x[a].text"] == "bad" {
			return nil, false, errors.New("bad is wrong")
		}
		return fmt.Sprint(sum, "<", sent["x[a].text"], ",", sent["x[b].text"], ">"), false, nil
	}}
}

// formulaWires are the wires of a formula of two values.
func formulaWires(f *resgraph.Formula) []resgraph.Wire {
	from := func(name string) schema.Ref { return schema.Ref{Kind: "x", Name: name, Key: "text"} }
	return []resgraph.Wire{{Field: "label", From: from("a"), Formula: f}, {Field: "label", From: from("b"), Formula: f}}
}

// receiver is a vertex with a formula, and its resource.
func receiver(t *testing.T, f *resgraph.Formula) (*values.Vertex, *res, func() error) {
	t.Helper()
	r := &res{Label: "first"}
	typ, err := schema.TypeOf(r)
	if err != nil {
		t.Fatal(err)
	}
	v := values.New(formulaWires(f), func(string) bool { return false })
	return v, r, func() error {
		v.Taint()
		return v.Assign(values.Receiver{ID: "x[r]", Res: r, Type: typ, Validate: func() error { return nil }})
	}
}

func text(x any, secret bool) values.Sent { return values.Sent{"text": {V: x, Secret: secret}} }

// TestFormula: a formula waits for all its values, makes a value of each new one, and keeps the old one where that fails.
func TestFormula(t *testing.T) {
	v, r, assign := receiver(t, both("f"))
	if got := v.Unknown(); len(got) != 1 || got[0].Field != "label" {
		t.Errorf("unknown are %v", got)
	}
	v.Offer(0, text("1", false))
	if err := assign(); err != nil || r.Label != "first" || v.Missing() == nil {
		t.Errorf("with one value: %q, %v, missing %v", r.Label, err, v.Missing())
	}
	v.Offer(1, text("2", false))
	if err := assign(); err != nil || r.Label != "f<1,2>" || v.Missing() != nil || !v.Recv()["label"].Changed {
		t.Errorf("with both values: %q, %v", r.Label, err)
	}
	v.Acted()
	v.Offer(0, text("bad", false))
	if err := assign(); err == nil || !strings.Contains(err.Error(), "label: bad is wrong") || r.Label != "f<1,2>" || v.Recv()["label"].Changed {
		t.Errorf("with a wrong value: %q, %v", r.Label, err)
	}
	v.Offer(0, text("3", false))
	if err := assign(); err != nil || r.Label != "f<3,2>" {
		t.Errorf("after it: %q, %v", r.Label, err)
	}
}

// TestFormulaSecret: what is made from a secret is one, and an error of it does not quote it.
func TestFormulaSecret(t *testing.T) {
	v, r, assign := receiver(t, both("f"))
	v.Offer(0, text(schema.NewSecret("hunter2"), true))
	v.Offer(1, text("2", false))
	made := false
	for _, val := range v.Taint() {
		made = made || val.V == "f<hunter2,2>"
	}
	if !made {
		t.Error("the made value is not told as a secret, so no log would hide it")
	}
	if err := assign(); err != nil || r.Label != "f<hunter2,2>" || !v.IsSecret("label") || !v.IsTainted() || !v.Recv()["label"].Secret {
		t.Errorf("%q, %v, secret %v, tainted %v", r.Label, err, v.IsSecret("label"), v.IsTainted())
	}
	v.Offer(0, text(schema.NewSecret("bad"), true))
	if err := assign(); err == nil || strings.Contains(err.Error(), "bad") {
		t.Errorf("the error is %v", err)
	}
}

// TestFormulaCarried: a new vertex with an equal formula takes over the values, and one with another formula waits for them.
func TestFormulaCarried(t *testing.T) {
	old, _, assign := receiver(t, both("f"))
	old.Offer(0, text("1", false))
	old.Offer(1, text("2", false))
	if err := assign(); err != nil {
		t.Fatal(err)
	}
	if !old.Same(formulaWires(both("f"))) || old.Same(formulaWires(both("g"))) || old.Same(formulaWires(nil)) {
		t.Error("a vertex is the same for equal formulas only")
	}
	same, r, _ := receiver(t, both("f"))
	if same.Carry(old, r); r.Label != "f<1,2>" || same.Missing() != nil {
		t.Errorf("carried: %q, missing %v", r.Label, same.Missing())
	}
	other, r, _ := receiver(t, both("g"))
	if other.Carry(old, r); r.Label != "first" || other.Missing() == nil {
		t.Errorf("carried to another formula: %q", r.Label)
	}
}

// BenchmarkFormula is the time from a sent value to its parameter, through a formula.
func BenchmarkFormula(b *testing.B) {
	r := &res{}
	typ, _ := schema.TypeOf(r)
	v := values.New(formulaWires(both("f")), func(string) bool { return false })
	to := values.Receiver{ID: "x[r]", Res: r, Type: typ, Validate: func() error { return nil }}
	v.Offer(1, text("2", false))
	for i := 0; b.Loop(); i++ {
		v.Offer(0, text(fmt.Sprint(i), false))
		if err := v.Assign(to); err != nil {
			b.Fatal(err)
		}
	}
}
