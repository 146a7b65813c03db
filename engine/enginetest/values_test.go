package enginetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestSameChanges(t *testing.T) {
	base := engine.Change{Field: "a", From: "x", To: "y"}
	secret := engine.Change{Field: "a", From: schema.NewSecret("x"), To: schema.NewSecret("y")}
	for _, c := range []struct {
		name string
		a, b []engine.Change
		same bool
	}{
		{"nothing", nil, []engine.Change{}, true},
		{"equal", []engine.Change{base}, []engine.Change{base}, true},
		{"one more", []engine.Change{base}, []engine.Change{base, base}, false},
		{"another field", []engine.Change{base}, []engine.Change{{Field: "b", From: "x", To: "y"}}, false},
		{"another from", []engine.Change{base}, []engine.Change{{Field: "a", From: "z", To: "y"}}, false},
		{"another to", []engine.Change{base}, []engine.Change{{Field: "a", From: "x", To: "z"}}, false},
		{"another verb", []engine.Change{base}, []engine.Change{{Field: "a", From: "x", To: "y", Verb: engine.Created}}, false},
		{"unknown before", []engine.Change{{Field: "a", From: "x", To: engine.Unknown}}, []engine.Change{base}, true},
		{"unknown only after", []engine.Change{base}, []engine.Change{{Field: "a", From: "x", To: engine.Unknown}}, false},
		{"equal secrets", []engine.Change{secret}, []engine.Change{{Field: "a", From: schema.NewSecret("x"), To: schema.NewSecret("y")}}, true},
		{"other secrets", []engine.Change{secret}, []engine.Change{{Field: "a", From: schema.NewSecret("x"), To: schema.NewSecret("z")}}, false},
		{"a secret and its text", []engine.Change{secret}, []engine.Change{base}, false},
	} {
		if err := sameChanges(c.a, c.b); (err == nil) != c.same {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

type everything struct {
	Bool   bool
	Int    int8
	Uint   uint16
	Float  float64
	Text   string
	Enum   string `mgmt:"enum=a|b"`
	Mode   schema.Mode
	Size   schema.Size
	Time   time.Duration
	Secret schema.Secret
	Ref    schema.Ref
	List   []string
	Map    map[string]int
	Opt    *bool
	Inner  struct{ Deep string }
	hidden []int
}

// TestMutate: every type of field can be given another value, twice over, without
// touching what others hold.
func TestMutate(t *testing.T) {
	typ, err := schema.Of(&everything{})
	if err != nil {
		t.Fatal(err)
	}
	var v everything
	for _, f := range typ.Fields {
		for range 2 {
			before := v
			text := dump(&before)
			if !mutate(reflect.ValueOf(&v).Elem().FieldByIndex(f.Index), f.Type) {
				t.Errorf("%s can't be altered", f.Key)
				break
			}
			ds := schema.Diff(typ, &before, &v)
			if len(ds) == 0 || ds[0].Field != f {
				t.Errorf("%s: the difference is %v", f.Key, ds)
			}
			if dump(&before) != text {
				t.Errorf("%s: the value before was altered too", f.Key)
			}
		}
	}
}

// TestDump: whatever is altered, in whatever depth, is seen.
func TestDump(t *testing.T) {
	fresh := func() *everything {
		yes := true
		return &everything{List: []string{"a"}, Map: map[string]int{"a": 1, "b": 2}, Opt: &yes, hidden: []int{1}, Secret: schema.NewSecret("s")}
	}
	want := dump(fresh())
	if got := dump(fresh()); got != want {
		t.Error("equal values have different dumps")
	}
	for name, alter := range map[string]func(*everything){
		"field":   func(e *everything) { e.Int++ },
		"element": func(e *everything) { e.List[0] = "b" },
		"entry":   func(e *everything) { e.Map["a"]++ },
		"key":     func(e *everything) { delete(e.Map, "a") },
		"pointee": func(e *everything) { *e.Opt = false },
		"nil":     func(e *everything) { e.Opt = nil },
		"hidden":  func(e *everything) { e.hidden[0]++ },
		"secret":  func(e *everything) { e.Secret = schema.NewSecret("t") },
		"made":    func(e *everything) { e.List = append(e.List, "") },
	} {
		e := fresh()
		if alter(e); dump(e) == want {
			t.Errorf("%s: it is not seen", name)
		}
	}
}

// What two entries of a map point to is shown the same each time.
func TestDumpOfSharedPointers(t *testing.T) {
	type thing struct{ N int }
	shared := &thing{1}
	m := map[string]*thing{}
	for i := range 20 {
		m[fmt.Sprint(i)] = shared
	}
	want := dump(m)
	for range 50 {
		if got := dump(m); got != want {
			t.Fatalf("first\n%s\nthen\n%s", want, got)
		}
	}
}
