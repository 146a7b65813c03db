package puppettype_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// words and the like are few, so that drawn types and values meet.
var (
	words    = rapid.SampledFrom([]string{"a", "b", "A", "ab", "", "x y", "it's", "$", "é"})
	wholes   = rapid.SampledFrom([]string{"default", "-3", "0", "1", "2", "7"})
	leaves   = rapid.SampledFrom(leafTypes())
	patterns = rapid.SampledFrom([]string{"/a/", "/^b$/", `/\A\h+\Z/`, "'x y'", "/a|b/", `/\//`})
)

func leafTypes() []string {
	return []string{"Any", "Undef", "Default", "Boolean", "Boolean[true]", "Numeric", "String", "Enum", "Enum[a]", "Enum[a, b]", "Enum[a, 'B', true]",
		"Pattern", "Pattern[/a/]", "Pattern[/a/, /b/]", "Regexp", "Regexp[/a/]", "Scalar", "ScalarData", "Data", "RichData", "Variant", "Optional",
		"Optional[a]", "NotUndef", "NotUndef[b]", "Collection", "Array", "Hash", "Array[0, 0]", "Hash[0, 0]", "Tuple", "Struct", "Iterable",
		"Sensitive", "Timestamp", "Timestamp['2020-01-01']", "Timespan", "Timespan['1-00:00:00', default]", "SemVer", "SemVer['>=1.0.0 <2.0.0']",
		"SemVer['1.x', '^3.1']", "SemVerRange", "Binary", "URI", "Type", "Init", "Callable", "Callable[String]", "Runtime", "Runtime[ruby, 'Symbol']",
		"CatalogEntry", "Class", "Class[foo]", "Resource", "File", "File['a']", "Float[0.5, 1.5]", "Float", "Integer"}
}

// text draws a type as somebody might write it; it may be refused.
func text(t *rapid.T, depth int) string {
	if depth == 0 {
		return leaves.Draw(t, "leaf")
	}
	in := func() string { return text(t, rapid.IntRange(0, depth-1).Draw(t, "depth")) }
	bounds := func() string { return wholes.Draw(t, "min") + ", " + wholes.Draw(t, "max") }
	size := func() string { return []string{"", ", " + bounds()}[rapid.IntRange(0, 1).Draw(t, "sized")] }
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0:
		return "Integer[" + bounds() + "]"
	case 1:
		return "String[" + bounds() + "]"
	case 2:
		return "Enum[" + puppettype.Quote(words.Draw(t, "word")) + ", " + puppettype.Quote(words.Draw(t, "word")) + "]"
	case 3:
		return "Pattern[" + patterns.Draw(t, "pattern") + ", " + patterns.Draw(t, "pattern") + "]"
	case 4:
		return "Variant[" + in() + ", " + in() + "]"
	case 5:
		return "Optional[" + in() + "]"
	case 6:
		return "NotUndef[" + in() + "]"
	case 7:
		return "Array[" + in() + size() + "]"
	case 8:
		return "Hash[" + in() + ", " + in() + size() + "]"
	case 9:
		return "Tuple[" + in() + ", " + in() + size() + "]"
	case 10:
		key := []string{"a", "Optional[a]", "NotUndef[a]"}[rapid.IntRange(0, 2).Draw(t, "key")]
		return "Struct[{" + key + " => " + in() + ", Optional['x y'] => " + in() + "}]"
	case 11:
		return "Sensitive[" + in() + "]"
	case 12:
		return "Collection[" + bounds() + "]"
	}
	holder := []string{"Type", "Iterable", "Init"}[rapid.IntRange(0, 2).Draw(t, "holder")]
	return holder + "[" + in() + "]"
}

// types draws a type that is one.
var types = rapid.Custom(func(t *rapid.T) *puppettype.Type {
	ty, err := puppettype.Parse(text(t, rapid.IntRange(0, 3).Draw(t, "depth")))
	if err != nil {
		t.Skip(err)
	}
	return ty
})

// values draws a value; none has a NaN.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any { return draw(t, depth) })
}

func scalars() []any {
	re, _ := rubyre.New("a")
	r, _ := puppettype.ParseVersionRange("1.x")
	return []any{nil, true, false, int64(-3), int64(0), int64(1), int64(7), int8(2), uint64(1 << 63), new(big.Int).Lsh(big.NewInt(1), 70), 0.5, 1.0, 2e20,
		puppettype.Default{}, puppettype.Symbol("s"), puppettype.Symbol("undef"), re, r, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour, 48 * time.Hour,
		puppettype.Version{Major: 1, Minor: 2}, puppettype.Version{Major: 3, Minor: 1, Pre: "rc.1"}, []byte("hi"), puppettype.URI("http://x/"), schema.NewSecret("a"),
		puppettype.MustParse("Integer[1, 2]"), struct{}{}, []string{"a", "b"}, map[string]int{"a": 1}}
}

func draw(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 2
	}
	in := func() any { return draw(t, depth-1) }
	n := rapid.IntRange(0, 3).Draw(t, "length")
	switch kind {
	case 0:
		return words.Draw(t, "word")
	case 1:
		return rapid.SampledFrom(scalars()).Draw(t, "scalar")
	case 2, 3:
		list := []any{}
		for range n {
			list = append(list, in())
		}
		return list
	case 4:
		m := map[string]any{}
		for range n {
			m[words.Draw(t, "key")] = in()
		}
		return m
	case 5:
		m := puppettype.Map{}
		for i := range n {
			m = append(m, puppettype.Entry{Key: int64(i), Value: in()})
		}
		return m
	}
	return puppettype.NewSensitive(in())
}

func TestLawPrintedReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		back, err := puppettype.Parse(ty.String())
		if err != nil || !back.Equal(ty) || back.String() != ty.String() {
			t.Fatalf("%s reads back as %v, %v", ty, back, err)
		}
	})
}

func TestLawAssignableIsReflexive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := types.Draw(t, "type")
		back, err := puppettype.Parse(ty.String())
		if err != nil || !ty.Assignable(back) {
			t.Fatalf("%s is not assignable to itself: %v", ty, err)
		}
	})
}

// pool draws several types, and adds some that are wider.
func pool(t *rapid.T) []*puppettype.Type {
	ts := rapid.SliceOfN(types, 3, 6).Draw(t, "types")
	for _, ty := range slices.Clone(ts) {
		ts = append(ts, puppettype.Common(ty, ts[0]))
		if wide, err := puppettype.Parse("Variant[" + ts[0].String() + ", " + ty.String() + "]"); err == nil {
			ts = append(ts, wide)
		}
	}
	return ts
}

func TestLawAssignableIsTransitive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ts := pool(t)
		for _, a := range ts {
			for _, b := range ts {
				if !a.Assignable(b) {
					continue
				}
				for _, c := range ts {
					if b.Assignable(c) && !a.Assignable(c) {
						t.Fatalf("%s takes %s, which takes %s; the first does not take the last", a, b, c)
					}
				}
			}
		}
	})
}

func TestLawAssignableIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ts := pool(t)
		v := values(3).Draw(t, "value")
		for _, a := range ts {
			for _, b := range ts {
				if a.Assignable(b) && b.Accepts(v) && !a.Accepts(v) {
					t.Fatalf("%s takes %s, which accepts %#v; it does not", a, b, v)
				}
			}
		}
	})
}

func TestLawInferredAccepts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		for _, ty := range []*puppettype.Type{puppettype.Infer(v), puppettype.InferEach(v)} {
			if !ty.Accepts(v) {
				t.Fatalf("%s does not accept %#v", ty, v)
			}
		}
	})
}

func TestLawInferredIsAssignable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, ty := values(2).Draw(t, "value"), types.Draw(t, "type")
		if ty.Assignable(puppettype.Infer(v)) && !ty.Accepts(v) {
			t.Fatalf("%s takes %s and not %#v", ty, puppettype.Infer(v), v)
		}
	})
}

func TestLawCommonHasBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := types.Draw(t, "a"), types.Draw(t, "b")
		if c := puppettype.Common(a, b); !c.Assignable(a) || !c.Assignable(b) {
			t.Fatalf("%s is not common to %s and %s", c, a, b)
		}
	})
}

// TestLawEveryRefusalHasWords also holds that the message begins with the subject.
func TestLawEveryRefusalHasWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, ty := values(3).Draw(t, "value"), types.Draw(t, "type")
		err := ty.Check("kind.attr", v)
		if (err == nil) != ty.Accepts(v) {
			t.Fatalf("Check says %v", err)
		}
		if err == nil {
			return
		}
		for _, line := range err.(*puppettype.Mismatch).Lines {
			if len(line) < len("kind.attr expects a ") || line[:10] != "kind.attr " {
				t.Fatalf("%s refuses %#v with %q", ty, v, line)
			}
		}
	})
}

// TestLawLift holds that what was lowered comes back, and that Lift refuses what Check
// refuses.
func TestLawLift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, ty := values(2).Draw(t, "value"), types.Draw(t, "type")
		if !ty.Accepts(v) {
			return
		}
		lifted, err := ty.Lift("attr", puppettype.Plain(v))
		if err == nil && !ty.Accepts(lifted) {
			t.Fatalf("%s lifts %#v to %#v", ty, v, lifted)
		}
		_ = ty.Lower().String()
	})
}

// TestLawsOnEveryKind goes through all pairs and triples of simple types, and all
// simple values, so that nothing rests on what is drawn.
func TestLawsOnEveryKind(t *testing.T) {
	var ts []*puppettype.Type
	for _, text := range append(leafTypes(), "Array[Integer]", "Array[Any, 1]", "Hash[String, Integer]", "Tuple[Integer, String, 0, 1]", "Struct[{a => Integer}]",
		"Struct[{Optional[a] => Integer}]", "Struct[{a => Integer, Optional[b] => Integer}]", "Struct[{Optional[a] => Integer, b => Integer}]", "Enum[a, true]",
		"Pattern[/[ab]/]", "Optional[Integer]", "NotUndef[Init]", "Variant[Undef, Array[Data]]", "Sensitive[String[1]]", "Type[Enum[a]]",
		"Iterable[Integer]", "Iterable[String]", "Integer[0]", "Integer[0, 7]", "String[1]", "String[0, 1]", "Init[Integer]", "Init[String]", "Init[Boolean]") {
		ts = append(ts, puppettype.MustParse(text))
	}
	vs := append(scalars(), "", "a", "A", "ab", "7", "yes", []any{}, []any{int64(1)}, []any{"a", nil}, map[string]any{}, map[string]any{"a": int64(1)}, map[string]any{"b": 1},
		puppettype.Map{}, puppettype.Map{{Key: int64(1), Value: nil}}, puppettype.NewSensitive(int64(1)), math.NaN())
	for _, a := range ts {
		for _, b := range ts {
			if c := puppettype.Common(a, b); !c.Assignable(a) || !c.Assignable(b) {
				t.Errorf("%s is not common to %s and %s", c, a, b)
			}
			if !a.Assignable(b) {
				continue
			}
			for _, v := range vs {
				if b.Accepts(v) && !a.Accepts(v) {
					t.Errorf("%s takes %s, which accepts %#v; it does not", a, b, v)
				}
			}
			for _, c := range ts {
				if b.Assignable(c) && !a.Assignable(c) {
					t.Errorf("%s takes %s, which takes %s; the first does not take the last", a, b, c)
				}
			}
		}
	}
	for _, v := range vs[:len(vs)-1] {
		if ty := puppettype.InferEach(v); !ty.Accepts(v) {
			t.Errorf("%s does not accept %#v", ty, v)
		}
	}
}
