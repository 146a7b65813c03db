package puppettype_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// bareTakes is the hierarchy of Puppet's types without parameters: all bare types that
// are assignable to the first one, besides itself. Variant and Enum have no values, so
// they fit where they are not compared by their kind.
var bareTakes = map[string][]string{
	"Undef":        {"Optional", "Variant"},
	"Default":      {"Variant"},
	"Boolean":      {"Variant"},
	"Integer":      {"Variant"},
	"Float":        {"Variant"},
	"Numeric":      {"Integer", "Float", "Variant"},
	"String":       {"Enum", "Pattern", "Variant"},
	"Enum":         {"Variant"},
	"Pattern":      {"String", "Enum", "Variant"},
	"Regexp":       {"Variant"},
	"Timestamp":    {"Variant"},
	"Timespan":     {"Variant"},
	"SemVer":       {"Variant"},
	"SemVerRange":  {"Variant"},
	"Binary":       {"Variant"},
	"URI":          {"Variant"},
	"ScalarData":   {"Boolean", "Integer", "Float", "Numeric", "String", "Enum", "Pattern", "Variant"},
	"Scalar":       {"ScalarData", "Boolean", "Integer", "Float", "Numeric", "String", "Enum", "Pattern", "Regexp", "Timestamp", "Timespan", "SemVer", "SemVerRange", "Variant"},
	"Data":         {"ScalarData", "Boolean", "Integer", "Float", "Numeric", "String", "Enum", "Pattern", "Undef", "Optional", "Variant", "Struct"},
	"Variant":      {},
	"Optional":     {"Undef", "Variant"},
	"Collection":   {"Array", "Hash", "Tuple", "Struct", "Variant"},
	"Array":        {"Tuple", "Variant"},
	"Tuple":        {"Array", "Variant"},
	"Hash":         {"Struct", "Variant"},
	"Struct":       {"Variant"},
	"Sensitive":    {"Variant"},
	"Type":         {"Variant"},
	"Callable":     {"Variant"},
	"Runtime":      {"Variant"},
	"CatalogEntry": {"Class", "Resource", "Variant"},
	"Class":        {"Variant"},
	"Resource":     {"Variant"},
}

// TestHierarchy compares every bare type with every other.
func TestHierarchy(t *testing.T) {
	for general, takes := range bareTakes {
		g := puppettype.MustParse(general)
		for _, specific := range puppettype.Names() {
			want := specific == general || slices.Contains(takes, specific)
			if got := g.Assignable(puppettype.MustParse(specific)); got != want {
				t.Errorf("%s takes %s: %v", general, specific, got)
			}
		}
	}
	for _, name := range puppettype.Names() {
		if !puppettype.MustParse("Any").Assignable(puppettype.MustParse(name)) {
			t.Errorf("Any does not take %s", name)
		}
		if name != "Any" && name != "Variant" && puppettype.MustParse(name).Assignable(puppettype.MustParse("Any")) {
			t.Errorf("%s takes Any", name)
		}
	}
}

// assignable are pairs of types with parameters: the first takes the second, and the
// reverse only where both says so.
var assignable = []struct {
	general, specific string
	both              bool
}{
	{"Boolean", "Boolean[true]", false},
	{"Integer[0]", "Integer[0, 7]", false},
	{"Integer[0, 7]", "Integer[1, 6]", false},
	{"Integer[default, 7]", "Integer[7, 7]", false},
	{"Integer", "Integer[default, 0]", false},
	{"Float[0.0]", "Float[0.5, 1.0]", false},
	{"Numeric", "Variant[Integer, Float]", false},
	{"Variant[Integer, Float]", "Integer[1, 2]", false},
	{"String[1]", "String[2, 3]", false},
	{"String[0]", "String", true},
	{"String[1, 3]", "Enum[a, bcd]", false},
	{"Optional[String[1]]", "Optional[a]", false},
	{"Enum[a, b]", "Enum[a]", false},
	{"Enum[a, true]", "Enum[a]", false},
	{"Enum[a, b, true]", "Enum['A', true]", false},
	{"Pattern[/a/]", "Enum[a, ab, bab]", false},
	{"Pattern[/a/, /b/]", "Pattern[/b/]", false},
	{"Pattern", "Pattern[/b/]", false},
	{"String", "Pattern[/b/]", false},
	{"Regexp", "Regexp[/a/]", false},
	{"Timestamp['2020-01-01']", "Timestamp['2020-01-01', '2020-02-01']", false},
	{"Timespan[0]", "Timespan[1, 2]", false},
	{"SemVer['1.x']", "SemVer['>=1.2.0 <1.3.0']", false},
	{"SemVer['1.x', '2.x']", "SemVer['2.0.0 - 2.5.0']", false},
	{"SemVer", "SemVer['1.x']", false},
	{"Variant[Enum[a], Enum[b]]", "Enum[b]", false},
	{"Variant[String, Integer]", "Variant[Integer, String]", true},
	{"Variant[String, Integer, Undef]", "Optional[Integer]", false},
	{"Optional[String]", "Undef", false},
	{"Optional[String]", "Variant[Undef, Enum[a]]", false},
	{"Optional[Integer]", "NotUndef[Optional[Integer]]", false},
	{"Optional[Optional[Integer]]", "Optional[Integer]", true},
	{"NotUndef", "String", false},
	{"NotUndef[String]", "String", true},
	{"NotUndef", "NotUndef[Data]", false},
	{"String", "NotUndef[Optional[String]]", true},
	{"Array[Integer]", "Array[Integer[0, 1]]", false},
	{"Array[Integer]", "Array[Integer, 1, 2]", false},
	{"Array[String, 0, 0]", "Array[Integer, 0, 0]", true},
	{"Array[Integer]", "Tuple[Integer, Integer]", false},
	{"Array[Numeric, 2, 2]", "Tuple[Integer, Float]", false},
	{"Tuple[Integer, Integer]", "Array[Integer, 2, 2]", true},
	{"Tuple[Integer, 0]", "Array[Integer]", true},
	{"Tuple[Numeric, Scalar]", "Tuple[Integer, String]", false},
	{"Tuple[Integer, String, 1, 2]", "Tuple[Integer]", false},
	{"Tuple[Integer, String, 1, 4]", "Tuple[Integer, String, Enum[a]]", false},
	{"Hash[String, Integer]", "Hash[Enum[a], Integer[0]]", false},
	{"Hash[String, Integer]", "Struct[{a => Integer}]", false},
	{"Hash[Scalar, Data, 1, 2]", "Struct[{a => Integer, Optional[b] => String}]", false},
	{"Hash[0, 0]", "Struct", true},
	{"Collection[1, 2]", "Array[Any, 1, 2]", false},
	{"Collection[1, 2]", "Struct[{a => Any, NotUndef[b] => Any}]", false},
	{"Struct[{a => Integer}]", "Struct[{a => Integer[0]}]", false},
	{"Struct[{Optional[a] => Integer}]", "Struct[{a => Integer}]", false},
	{"Struct[{a => Integer, Optional[b] => Any}]", "Struct[{a => Integer}]", false},
	{"Struct[{Optional[a] => Integer}]", "Hash[0, 0]", false},
	{"Data", "Hash[String, Array[Integer]]", false},
	{"Data", "Array[Data]", false},
	{"Data", "Optional[Scalardata]", false},
	{"RichData", "Data", false},
	{"RichData", "Hash[Integer, Sensitive]", false},
	{"RichData", "Array[RichData]", false},
	{"Sensitive", "Sensitive[String]", false},
	{"Sensitive[Scalar]", "Sensitive[Integer]", false},
	{"Type", "Type[String]", false},
	{"Type[Scalar]", "Type[Integer]", false},
	{"Iterable", "Array[String]", false},
	{"Iterable[String]", "Array[Enum[a]]", false},
	{"Iterable[Integer]", "Integer[0, 10]", false},
	{"Iterable[String[1, 1]]", "String", false},
	{"Iterable[Tuple[String, Integer]]", "Hash[String, Integer]", false},
	{"Iterable", "Type[Integer[1, 9]]", false},
	{"Iterable[Scalar]", "Iterable[String]", false},
	{"Init[Integer]", "Integer", false},
	{"Init[Integer]", "Boolean", false},
	{"Init[Integer]", "Timespan", false},
	{"Init[Integer]", "Enum['7']", false},
	{"Init[String]", "Integer", false},
	{"Init[Boolean]", "Integer", false},
	{"Class", "Class[a]", false},
	{"Resource", "File", false},
	{"File", "File['/a']", false},
	{"CatalogEntry", "File['/a']", false},
	{"Runtime", "Runtime[ruby, 'Symbol']", false},
}

// TestAssignable goes through the pairs in both directions.
func TestAssignable(t *testing.T) {
	for _, c := range assignable {
		g, s := puppettype.MustParse(c.general), puppettype.MustParse(c.specific)
		if !g.Assignable(s) {
			if c.general == "Init[Integer]" && c.specific == "Enum['7']" {
				continue // an Enum is not read word by word: the law allows to miss it
			}
			t.Errorf("%s does not take %s", g, s)
		}
		if got := s.Assignable(g); got != c.both {
			t.Errorf("%s takes %s: %v", s, g, got)
		}
	}
}

// TestNotAssignable are pairs of which neither takes the other.
func TestNotAssignable(t *testing.T) {
	for _, c := range [][2]string{
		{"Boolean[true]", "Boolean[false]"},
		{"Integer[0, 1]", "Integer[1, 2]"},
		{"Integer", "Float"},
		{"Integer[1, 1]", "Float[1.0, 1.0]"},
		{"String[1, 2]", "String[3, 4]"},
		{"Enum[a]", "Enum[b]"},
		{"Enum[a]", "Pattern[/b/]"},
		{"Pattern[/a/]", "Pattern[/aa/]"},
		{"Pattern[/a/]", "String[1]"},
		{"Regexp[/a/]", "Regexp[/b/]"},
		{"Timestamp['2020-01-01']", "Timestamp[default, '2019-01-01']"},
		{"Timestamp", "Timespan"},
		{"Timespan[0, 1]", "Timespan[2, 3]"},
		{"SemVer['1.x']", "SemVer['2.x']"},
		{"SemVer", "SemVerRange"},
		{"SemVer", "String"},
		{"Array[Integer]", "Array[String]"},
		{"Array[Integer, 1, 2]", "Array[Integer, 2, 3]"},
		{"Array", "Hash"},
		{"Tuple[Integer]", "Tuple[Integer, Integer]"},
		{"Tuple[Integer, String]", "Tuple[String, Integer]"},
		{"Hash[String, Integer]", "Hash[Integer, String]"},
		{"Hash[String, Integer]", "Struct[{a => String}]"},
		{"Struct[{a => Integer}]", "Struct[{b => Integer}]"},
		{"Struct[{a => Integer}]", "Struct[{a => String}]"},
		{"Struct[{a => Integer}]", "Hash[String, String, 1, 1]"},
		{"Sensitive[Integer]", "Sensitive[String]"},
		{"Sensitive[String]", "String"},
		{"Type[Integer]", "Type[String]"},
		{"Type[Integer]", "Integer"},
		{"Iterable[Integer]", "Iterable[Float]"},
		{"Iterable[Integer]", "Integer[-1, 1]"},
		{"Init[Boolean]", "Init[Integer]"},
		{"Class[a]", "Class[b]"},
		{"File['a']", "File['b']"},
		{"File", "Package"},
		{"Class", "Resource"},
		{"Runtime[ruby, 'Symbol']", "Runtime[go, 'Symbol']"},
		{"Callable[String]", "Callable[Integer]"},
		{"Binary", "String"},
		{"URI", "String"},
		{"Undef", "Default"},
		{"NotUndef", "Undef"},
	} {
		a, b := puppettype.MustParse(c[0]), puppettype.MustParse(c[1])
		if a.Assignable(b) || b.Assignable(a) {
			t.Errorf("%s takes %s: %v; the reverse: %v", a, b, a.Assignable(b), b.Assignable(a))
		}
	}
}

// TestLawsOfTheTables holds the laws on all types of the tables of this file: each is
// assignable to itself, chains hold, and Common has both.
func TestLawsOfTheTables(t *testing.T) {
	var ts []*puppettype.Type
	for _, c := range assignable {
		ts = append(ts, puppettype.MustParse(c.general), puppettype.MustParse(c.specific))
	}
	for _, a := range ts {
		if !a.Assignable(a) {
			t.Errorf("%s is not assignable to itself", a)
		}
		for _, b := range ts {
			c := puppettype.Common(a, b)
			if !c.Assignable(a) || !c.Assignable(b) {
				t.Errorf("%s is not common to %s and %s", c, a, b)
			}
			if !a.Assignable(b) {
				continue
			}
			if !c.Assignable(a) || !a.Assignable(c) {
				t.Errorf("the common type of %s and %s, which is one of it, is %s", a, b, c)
			}
			for _, d := range ts {
				if b.Assignable(d) && !a.Assignable(d) {
					t.Errorf("%s takes %s, which takes %s; the first does not take the last", a, b, d)
				}
			}
		}
	}
}

// TestLawWiderTypes holds that a type with something added takes the type without.
func TestLawWiderTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := types.Draw(t, "a"), types.Draw(t, "b")
		for _, text := range []string{"Optional[" + a.String() + "]", "Variant[" + b.String() + ", " + a.String() + "]"} {
			if wide, err := puppettype.Parse(text); err == nil && !wide.Assignable(a) {
				t.Fatalf("%s does not take %s", wide, a)
			}
		}
		if narrow, err := puppettype.Parse("NotUndef[" + a.String() + "]"); err == nil && !a.Assignable(narrow) {
			t.Fatalf("%s does not take %s", a, narrow)
		}
	})
}

// TestLawHoldersFollow holds that lists, hashes, wrappers and types of types are
// assignable where their contents are.
func TestLawHoldersFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := types.Draw(t, "a"), types.Draw(t, "b")
		for _, frame := range []string{"Array[%]", "Array[%, 1, 3]", "Hash[String, %]", "Tuple[%, Integer]", "Struct[{NotUndef[a] => %}]", "Sensitive[%]", "Type[%]"} {
			x, errX := puppettype.Parse(replaceMark(frame, a.String()))
			y, errY := puppettype.Parse(replaceMark(frame, b.String()))
			if errX != nil || errY != nil {
				t.Skip("it nests too deeply")
			}
			if a.Assignable(b) && !x.Assignable(y) {
				t.Fatalf("%s takes %s, and %s does not take %s", a, b, x, y)
			}
		}
	})
}

// TestCommonTable has pairs with their common type, in both orders.
func TestCommonTable(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"Integer[1, 2]", "Integer[5, 6]", "Integer[1, 6]"},
		{"Integer[1, 2]", "Integer[5]", "Integer[1]"},
		{"Integer", "Float", "Numeric"},
		{"Float[0.5, 1.0]", "Float[2.0]", "Float[0.5]"},
		{"Boolean[true]", "Boolean[false]", "ScalarData"},
		{"Boolean", "Integer", "ScalarData"},
		{"Integer", "Regexp", "Scalar"},
		{"Integer", "Undef", "Optional[Integer]"},
		{"Optional[Integer]", "String", "Optional[ScalarData]"},
		{"Undef", "Undef", "Undef"},
		{"Undef", "Any", "Any"},
		{"Enum[a]", "Enum[b]", "Enum['a', 'b']"},
		{"String[1, 2]", "String[4, 5]", "String[1, 5]"},
		{"Enum[a]", "String[2, 3]", "String[1, 3]"},
		{"Timespan[0, 1]", "Timespan[5, 6]", "Timespan['0-00:00:00.0', '0-00:00:06.0']"},
		{"Array[Integer]", "Array[String]", "Array[ScalarData]"},
		{"Array[Integer, 1, 2]", "Array[Integer, 3, 4]", "Array[Integer]"},
		{"Array[0, 0]", "Array[String]", "Array[String]"},
		{"Tuple[Integer]", "Tuple[Float, Float]", "Array[Numeric]"},
		{"Hash[String, Integer]", "Hash[String, Float]", "Hash[String, Numeric]"},
		{"Hash[0, 0]", "Hash[String, Integer]", "Hash[String, Integer]"},
		{"Array[String]", "Hash[String, String]", "Data"},
		{"Array[Sensitive]", "Integer", "RichData"},
		{"Default", "Integer", "RichData"},
		{"Callable", "Integer", "Any"},
		{"Class[a]", "Class[b]", "Class"},
		{"File", "Class", "Any"},
		{"Runtime[ruby, 'A']", "Runtime[ruby, 'B']", "Runtime"},
		{"SemVer['1.x']", "SemVer['2.x']", "SemVer"},
		{"Type[String]", "Type", "Type"},
		{"Iterable[Integer]", "Iterable[Float]", "Iterable[Numeric]"},
		{"Variant[Integer, Enum[a]]", "Variant[Float, Regexp]", "Variant[Integer, Enum['a'], Float, Regexp]"},
		{"Variant", "Integer", "Integer"},
	} {
		a, b := puppettype.MustParse(c.a), puppettype.MustParse(c.b)
		if got := puppettype.Common(a, b).String(); got != c.want {
			t.Errorf("%s and %s: %s, not %s", a, b, got, c.want)
		}
		ab, ba := puppettype.Common(a, b), puppettype.Common(b, a)
		if !(ab.Assignable(ba) && ba.Assignable(ab)) {
			t.Errorf("%s and %s: %s, in the other order %s", a, b, ab, ba)
		}
	}
}

// TestLawCommonOfItself holds that the common type of one type is that type, and that
// the empty list adds nothing to a list.
func TestLawCommonOfItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := types.Draw(t, "type")
		again := puppettype.MustParse(a.String())
		if c := puppettype.Common(a, again); !c.Equal(a) {
			t.Fatalf("%s and itself: %s", a, c)
		}
	})
}
