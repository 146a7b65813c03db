package puppettype

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The laws of the parts that no other package sees: spans, sizes, kinds, quotes, and
// what is made of a type for messages and for comparisons.

// smallSpan draws a span that may be open at either end.
var smallSpan = rapid.Custom(func(t *rapid.T) span[int64] {
	n := rapid.Int64Range(-4, 4)
	a, b := n.Draw(t, "a"), n.Draw(t, "b")
	s := span[int64]{new(min(a, b)), new(max(a, b))}
	if rapid.Bool().Draw(t, "no lower") {
		s.lo = nil
	}
	if rapid.Bool().Draw(t, "no upper") {
		s.hi = nil
	}
	return s
})

// TestLawsOfSpans holds each operation by the values of a span, from -9 to 9: that is
// beyond all bounds which are drawn.
func TestLawsOfSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := smallSpan.Draw(t, "a"), smallSpan.Draw(t, "b")
		covers, meets := true, false
		join := a.join(b, cmp.Compare)
		for n := int64(-9); n <= 9; n++ {
			inA, inB := a.has(n, cmp.Compare), b.has(n, cmp.Compare)
			covers = covers && (inA || !inB)
			meets = meets || inA && inB
			if (inA || inB) && !join.has(n, cmp.Compare) {
				t.Fatalf("the join of %v and %v lacks %d", a, b, n)
			}
		}
		if got := a.covers(b, cmp.Compare); got != covers {
			t.Fatalf("covers is %v", got)
		}
		if got := a.meets(b, cmp.Compare); got != meets || got != b.meets(a, cmp.Compare) {
			t.Fatalf("meets is %v", got)
		}
		if !join.covers(a, cmp.Compare) || !join.covers(b, cmp.Compare) || !join.equal(b.join(a, cmp.Compare), cmp.Compare) {
			t.Fatal("the join does not cover both, or has an order")
		}
		if a.covers(b, cmp.Compare) && b.covers(a, cmp.Compare) != a.equal(b, cmp.Compare) {
			t.Fatal("two spans that cover each other differ")
		}
		if a.open() != (a.lo == nil && a.hi == nil) {
			t.Fatal("open")
		}
	})
}

// TestLawsOfSizes holds the same of sizes.
func TestLawsOfSizes(t *testing.T) {
	sizes := rapid.Custom(func(t *rapid.T) Size {
		a, b := rapid.Int64Range(0, 4).Draw(t, "a"), rapid.Int64Range(0, 4).Draw(t, "b")
		if rapid.Bool().Draw(t, "no limit") {
			return Size{min(a, b), noLimit}
		}
		return Size{min(a, b), max(a, b)}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := sizes.Draw(t, "a"), sizes.Draw(t, "b")
		covers := true
		for n := range int64(9) {
			covers = covers && (a.has(n) || !b.has(n))
			if (a.has(n) || b.has(n)) && !a.join(b).has(n) {
				t.Fatalf("the join lacks %d", n)
			}
		}
		if a.Max != noLimit && b.Max == noLimit {
			covers = false
		}
		if a.covers(b) != covers {
			t.Fatalf("%v covers %v: %v", a, b, a.covers(b))
		}
		if !anySize.covers(a) || a.empty() != (a.Max == 0) || (*Size)(nil).or() != anySize || (&a).or() != a {
			t.Fatal(a)
		}
	})
}

// TestSizeWords holds how a size is told to users.
func TestSizeWords(t *testing.T) {
	for want, s := range map[string]Size{
		"0": {0, 0}, "3": {3, 3}, "unlimited": {0, noLimit}, "at most 3": {0, 3}, "at least 3": {3, noLimit}, "between 1 and 3": {1, 3},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestKinds holds that each kind has a name of its own, and that a set has what was put
// into it.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := range Kind(numKinds) {
		if name := k.String(); name == "" || name == "?" || seen[strings.ToLower(name)] {
			t.Errorf("kind %d is named %q", k, name)
		}
		seen[strings.ToLower(k.String())] = true
		set := kinds(k)
		for o := range Kind(numKinds) {
			if set.has(o) != (o == k) {
				t.Errorf("the set of %s has %s: %v", k, o, set.has(o))
			}
		}
		if bare[k].kind != k || !bare[k].isBare() || bare[k].String() == "" {
			t.Errorf("the bare type of %s is %s", k, bare[k])
		}
	}
	if got := Kind(numKinds).String(); got != "?" {
		t.Error(got)
	}
	if numKinds > 64 {
		t.Error("a set of kinds has 64 bits")
	}
	if scalar&scalarData != scalarData || scalarData&texts != texts {
		t.Error("a text is no scalar")
	}
}

// TestKindOfIsNarrow holds that kindOf names a kind whose bare type accepts the value.
func TestKindOfIsNarrow(t *testing.T) {
	for _, v := range []any{nil, true, int64(1), 1.5, "a", []any{}, map[string]any{}, Map{}, Default{}, time.Time{}, time.Second, Version{}, &VersionRange{},
		[]byte{}, URI(""), anyType, Sensitive{}, Symbol("s"), struct{}{}} {
		k := kindOf(v)
		if !bare[k].accepts(v) {
			t.Errorf("%s does not accept %#v", k, v)
		}
		if scalarData.has(k) != bare[KindScalarData].accepts(v) || scalar.has(k) != bare[KindScalar].accepts(v) {
			t.Errorf("%#v is of kind %s, and a Scalar: %v", v, k, bare[KindScalar].accepts(v))
		}
	}
}

// someTypes are types in which the parts below differ.
func someTypes() []*Type {
	var out []*Type
	for _, text := range []string{"Any", "Undef", "Integer", "Integer[0, 7]", "Integer[8]", "Float[0.5, 1.0]", "Float[0.7, 2.0]", "String", "String[1]", "Enum[a]", "Enum[b]",
		"Enum[a, true]", "Pattern[/a/]", "Pattern[/b/]", "Boolean", "Boolean[true]", "Data", "RichData", "Optional", "Optional[String]", "Optional[Optional[Integer]]",
		"Optional[NotUndef[Optional[String]]]", "NotUndef", "NotUndef[String]", "NotUndef[Optional[Integer]]", "NotUndef[Data]", "Variant", "Variant[Undef, String]",
		"Variant[Integer[0, 3], Integer[4, 7]]", "Variant[Integer[0, 3], Integer[6, 7]]", "Variant[Enum[a], Enum[b], Integer]", "Variant[Pattern[/a/], Pattern[/b/]]",
		"Variant[Optional[String], Integer]", "Variant[Optional, Integer]", "Variant[Timespan[0, 5], Timespan[3, 9]]", "Variant[Float[0.5, 1.0], Float[0.7, 2.0]]",
		"Variant[Timestamp['2020-01-01', '2020-03-01'], Timestamp['2020-02-01']]", "Array", "Array[NotUndef[String]]", "Array[Variant[Enum[a], Enum[b]]]", "Array[0, 0]",
		"Hash[NotUndef[String], Optional[Optional[Integer]]]", "Tuple[NotUndef[String], Variant[Enum[a], Enum[b]]]", "Struct[{a => NotUndef[String], Optional[b] => Any}]",
		"Sensitive[NotUndef[String]]", "Sensitive[Variant[Enum[a], Enum[b]]]", "Type[NotUndef[String]]", "Init[NotUndef[String]]", "Init[String]", "Iterable[NotUndef[Integer]]",
		"Callable[NotUndef[String]]", "Class[a]", "File['/a']", "Timestamp", "SemVer['1.x']", "Binary"} {
		out = append(out, MustParse(text))
	}
	return out
}

// someValues are values that tell these types apart.
func someValues() []any {
	at := time.Date(2020, 2, 15, 0, 0, 0, 0, time.UTC)
	return []any{nil, true, false, int64(-1), int64(0), int64(3), int64(4), int64(5), int64(7), int64(8), 0.5, 0.8, 1.5, 3.0, math.Inf(1), "", "a", "A", "b", "ab", "c",
		[]any{}, []any{"a"}, []any{"a", "b"}, []any{nil}, []any{int64(1)}, map[string]any{}, map[string]any{"a": "x"}, map[string]any{"a": nil}, map[string]any{"a": int64(1)},
		map[string]any{"a": "x", "b": int64(1)}, NewSensitive("a"), NewSensitive("c"), NewSensitive(nil), MustParse("String"), MustParse("Optional[String]"), Default{},
		at, at.AddDate(-1, 0, 0), 4 * time.Nanosecond, 8 * time.Nanosecond, time.Hour, Version{Major: 1}, Version{Major: 2}, []byte("a"), URI("x:"), Symbol("s"), struct{}{}}
}

// TestLawNormalKeepsTheValues holds that messages are about the same set of values, and
// that normal has nothing to add to its own result.
func TestLawNormalKeepsTheValues(t *testing.T) {
	for _, ty := range someTypes() {
		n := ty.normal()
		for _, v := range someValues() {
			if ty.accepts(settle(v)) != n.accepts(settle(v)) {
				t.Errorf("%s accepts %#v: %v; its normal form %s differs", ty, v, ty.Accepts(v), n)
			}
		}
		if again := n.normal(); !again.Equal(n) {
			t.Errorf("%s is in normal form %s, and that is %s", ty, n, again)
		}
	}
}

// TestNormalForms has the forms that messages show.
func TestNormalForms(t *testing.T) {
	for text, want := range map[string]string{
		"NotUndef[String]":                              "String",
		"NotUndef[Optional[String]]":                    "String",
		"NotUndef[Any]":                                 "NotUndef",
		"Optional[Optional[String]]":                    "Optional[String]",
		"Optional[NotUndef[String]]":                    "Optional[String]",
		"Optional[Any]":                                 "Any",
		"Variant[Undef, String]":                        "Optional[String]",
		"Variant[Optional[String], Integer]":            "Optional[Variant[String, Integer]]",
		"Variant[Enum[a], Integer, Enum[b]]":            "Variant[Integer, Enum['a', 'b']]",
		"Variant[Pattern[/a/], Pattern[/b/, /a/]]":      "Pattern[/a/, /b/]",
		"Variant[Integer[0, 3], Integer[4, 7]]":         "Integer[0, 7]",
		"Variant[Integer[4, 7], Integer[0, 3]]":         "Integer[0, 7]",
		"Variant[Integer[0, 2], Integer[4, 7]]":         "Variant[Integer[0, 2], Integer[4, 7]]",
		"Variant[Float[0.0, 1.0], Float[1.0, 2.0]]":     "Float[0.0, 2.0]",
		"Variant[Timespan[0, 1], Timespan[1, 2]]":       "Timespan['0-00:00:00.0', '0-00:00:02.0']",
		"Array[Variant[Undef, NotUndef[String]]]":       "Array[Optional[String]]",
		"Struct[{a => Variant[Undef, String]}]":         "Struct[{'a' => Optional[String]}]",
		"Init[NotUndef[String]]":                        "Init[NotUndef[String]]",
		"Variant[Enum[a, true], Enum[b]]":               "Variant[Enum['a', true], Enum['b']]",
		"Variant[Sensitive[NotUndef[String]], Integer]": "Variant[Sensitive[String], Integer]",
	} {
		if got := MustParse(text).normal().String(); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

// TestLawPresent holds that present is the type without undef.
func TestLawPresent(t *testing.T) {
	for _, ty := range someTypes() {
		p := ty.present()
		for _, v := range someValues() {
			if got, want := p.Accepts(v), v != nil && ty.Accepts(v); got != want {
				t.Errorf("%s without undef is %s; it accepts %#v: %v", ty, p, v, got)
			}
		}
		if p.mayBeUndef() && ty.kind != KindAny {
			t.Errorf("%s without undef is %s", ty, p)
		}
	}
}

// TestLawGeneral holds that general is wider, and a fixed point.
func TestLawGeneral(t *testing.T) {
	for _, ty := range someTypes() {
		g := ty.general()
		for _, v := range someValues() {
			if ty.Accepts(v) && !g.Accepts(v) && ty.kind != KindType && ty.kind != KindInit {
				t.Errorf("%s in general is %s; it lacks %#v", ty, g, v)
			}
		}
		if !g.general().Equal(g) {
			t.Errorf("%s in general is %s, and that is %s", ty, g, g.general())
		}
	}
}

// TestLawResolved holds that an alias and what it stands for are one set.
func TestLawResolved(t *testing.T) {
	for _, k := range []Kind{KindData, KindRichData} {
		alias, long := bare[k], bare[k].resolved()
		if long.isAlias() || !alias.Assignable(long) || !long.Assignable(alias) {
			t.Errorf("%s stands for %s", alias, long)
		}
		for _, v := range someValues() {
			if alias.Accepts(v) != long.Accepts(v) {
				t.Errorf("%s accepts %#v: %v; %s differs", alias, v, alias.Accepts(v), long)
			}
		}
	}
	if anyType.resolved() != anyType {
		t.Error("Any stands for another type")
	}
}

// TestLawAsHash holds that the hash of a struct is wider than the struct.
func TestLawAsHash(t *testing.T) {
	for _, text := range []string{"Struct", "Struct[{a => Integer}]", "Struct[{Optional[a] => Integer, b => String}]", "Struct[{NotUndef[a] => Any}]"} {
		st := MustParse(text)
		h := st.asHash()
		if h.kind != KindHash || !h.Assignable(st) {
			t.Errorf("%s as a hash is %s", st, h)
		}
		for _, v := range someValues() {
			if st.Accepts(v) && !h.Accepts(v) {
				t.Errorf("%s lacks %#v", h, v)
			}
		}
	}
}

// TestLawItems holds that the type of elements takes each element.
func TestLawItems(t *testing.T) {
	for _, ty := range someTypes() {
		item := ty.item()
		if item == nil {
			continue
		}
		all := wrap(KindIterable, item)
		for _, v := range someValues() {
			if ty.Accepts(v) && !all.Accepts(v) {
				t.Errorf("%s yields %s, and not for %#v", ty, item, v)
			}
		}
	}
}

// TestLawEqual holds that equality is that of the texts, and goes both ways.
func TestLawEqual(t *testing.T) {
	for _, a := range someTypes() {
		for _, b := range someTypes() {
			if a.Equal(b) != (a.String() == b.String()) || a.Equal(b) != b.Equal(a) {
				t.Errorf("%s equals %s: %v", a, b, a.Equal(b))
			}
		}
		if a.Equal(nil) || (*Type)(nil).Equal(a) {
			t.Errorf("%s equals nothing", a)
		}
	}
	if !(*Type)(nil).Equal(nil) {
		t.Error("nothing differs from nothing")
	}
}

// TestHolds holds that Holds goes by what is written, at every depth.
func TestHolds(t *testing.T) {
	for text, want := range map[string]bool{
		"Sensitive": true, "Array[Sensitive]": true, "Hash[Sensitive, Any]": true, "Hash[Any, Sensitive]": true, "Variant[Integer, Sensitive]": true,
		"Struct[{a => Array[Sensitive[Integer]]}]": true, "Tuple[Any, Sensitive]": true, "Optional[Sensitive]": true, "Type[Sensitive]": true,
		"Any": false, "RichData": false, "Array": false, "Struct[{a => String}]": false,
	} {
		if got := MustParse(text).Holds(KindSensitive); got != want {
			t.Errorf("%s holds a Sensitive: %v", text, got)
		}
	}
}

// TestAccessors holds what the exported parts of a type are.
func TestAccessors(t *testing.T) {
	h := MustParse("Hash[Enum[b, a], Array[Integer]]")
	if h.Kind() != KindHash || h.Key().String() != "Enum['a', 'b']" || h.Elem().String() != "Array[Integer]" || h.Types() != nil || h.Members() != nil {
		t.Error(h)
	}
	if words := h.Key().Words(); len(words) != 2 || words[0] != "a" {
		t.Error(words)
	}
	if types := MustParse("Variant[Integer, String]").Types(); len(types) != 2 || types[1].Kind() != KindString {
		t.Error(types)
	}
	members := MustParse("Struct[{Optional[a] => Integer, b => Any, NotUndef[c] => Any}]").Members()
	for i, want := range []Member{{"a", true, intType}, {"b", true, anyType}, {"c", false, anyType}} {
		if !members[i].equal(want) {
			t.Errorf("%v, not %v", members[i], want)
		}
	}
	if MustParse("Optional").Elem() != nil || MustParse("Sensitive").Elem() != nil {
		t.Error("a bare type holds another")
	}
}

// TestFloatsAsRuby has numbers with the text that Ruby gives them.
func TestFloatsAsRuby(t *testing.T) {
	for want, f := range map[string]float64{
		"0.0": 0, "1.0": 1, "-1.5": -1.5, "100000.0": 1e5, "0.0001": 1e-4, "1.0e-05": 1e-5, "1.5e-05": 1.5e-5, "1000000000000000.0": 1e15, "1.0e+16": 1e16,
		"1.2345e+20": 1.2345e20, "-1.0e+100": -1e100, "NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "0.1": 0.1, "5.0e-324": math.SmallestNonzeroFloat64,
		"1.7976931348623157e+308": math.MaxFloat64,
	} {
		if got := formatFloat(f); got != want {
			t.Errorf("%v: %s, not %s", f, got, want)
		}
	}
}

// TestLawFloatsReadBack holds that a bound of a Float is the same number after it was
// printed.
func TestLawFloatsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return
		}
		ty := &Type{kind: KindFloat, floats: span[float64]{lo: &f}}
		back, err := Parse(ty.String())
		if err != nil || *back.floats.lo != f {
			t.Fatalf("%s reads back as %v, %v", ty, back, err)
		}
	})
}

// TestLawQuotes holds that any text in quotes reads back, in an Enum, as a key and as a
// title.
func TestLawQuotes(t *testing.T) {
	odd := rapid.StringOfN(rapid.RuneFrom([]rune("ab'\"\\$/{}[]#\n\t\r\x00\x1b é😀=>,")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := odd.Draw(t, "text")
		for _, frame := range []string{"Enum[%]", "File[%]", "Optional[%]", "Class[%]", "Runtime[%, 'x']", "Struct[{% => Any}]"} {
			if s == "" && strings.HasPrefix(frame, "Struct") {
				continue // a key is not empty
			}
			ty, err := Parse(strings.Replace(frame, "%", quote(s), 1))
			if err != nil {
				t.Fatalf("%q in %s: %v", s, frame, err)
			}
			back, err := Parse(ty.String())
			if err != nil || !back.Equal(ty) {
				t.Fatalf("%s reads back as %v, %v", ty, back, err)
			}
		}
		if ty := MustParse("Enum[" + quote(s) + "]"); !ty.Accepts(s) {
			t.Fatalf("%s does not accept %q", ty, s)
		}
	})
}

// TestEscapes has the escapes of strings in both sorts of quotes.
func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		`'a'`: "a", `"a"`: "a", `'it\'s'`: "it's", `'a\\b'`: `a\b`, `'a\nb'`: `a\nb`, `'a\"b'`: `a\"b`, `'a$b'`: "a$b",
		`"a\nb"`: "a\nb", `"a\tb"`: "a\tb", `"a\rb"`: "a\rb", `"a\sb"`: "a b", `"a\"b"`: `a"b`, `"a\'b"`: "a'b", `"a\\b"`: `a\b`, `"a\$b"`: "a$b",
		`"\u0041"`: "A", `"\u{41}"`: "A", `"\u{1F600}"`: "😀", `"a\qb"`: `a\qb`, `"$"`: "$", `"a $ b"`: "a $ b", `"é"`: "é",
	} {
		ty, err := Parse("Enum[" + text + "]")
		if err != nil || len(ty.words) != 1 || ty.words[0] != want {
			t.Errorf("%s: %v, %v", text, ty, err)
		}
	}
	for _, text := range []string{`"$a"`, `"${a}"`, `"a${b}c"`} {
		if ty, err := Parse("Enum[" + text + "]"); err == nil || !strings.Contains(err.Error(), "a type has no variables") {
			t.Errorf("%s: %v, %v", text, ty, err)
		}
	}
}

// TestLawTimesReadBack holds the same of moments and of lengths of time.
func TestLawTimesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "duration"))
		if back, err := ParseTimespan(FormatTimespan(d)); err != nil || back != d {
			t.Fatalf("%s reads back as %v, %v", FormatTimespan(d), back, err)
		}
		at := time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "second"), rapid.Int64Range(0, 999999999).Draw(t, "nanosecond")).UTC()
		if back, err := ParseTimestamp(FormatTimestamp(at)); err != nil || !back.Equal(at) {
			t.Fatalf("%s reads back as %v, %v", FormatTimestamp(at), back, err)
		}
	})
}

// TestTimestampLayouts has a moment in each way in which it may be written.
func TestTimestampLayouts(t *testing.T) {
	for text, want := range map[string]string{
		"2020-01-31":                          "2020-01-31T00:00:00.000000000 UTC",
		"2020-1-3":                            "2020-01-03T00:00:00.000000000 UTC",
		"2020-01-31T12:30":                    "2020-01-31T12:30:00.000000000 UTC",
		"2020-01-31 12:30":                    "2020-01-31T12:30:00.000000000 UTC",
		"2020-01-31T12:30:15":                 "2020-01-31T12:30:15.000000000 UTC",
		"2020-01-31T12:30:15.25":              "2020-01-31T12:30:15.250000000 UTC",
		"2020-01-31T12:30:15.123456789 UTC":   "2020-01-31T12:30:15.123456789 UTC",
		"2020-01-31T12:30:15Z":                "2020-01-31T12:30:15.000000000 UTC",
		"2020-01-31T12:30:15+0100":            "2020-01-31T11:30:15.000000000 UTC",
		"2020-01-31T12:30:15 -02:30":          "2020-01-31T15:00:15.000000000 UTC",
		"2020-01-31 12:30:15 +0100":           "2020-01-31T11:30:15.000000000 UTC",
		"2020-02-29":                          "2020-02-29T00:00:00.000000000 UTC",
		"0000-01-01T00:00:00.000000000 UTC":   "0000-01-01T00:00:00.000000000 UTC",
		"9999-12-31T23:59:59.999999999 UTC":   "9999-12-31T23:59:59.999999999 UTC",
		"2020-01-31T12:30:15.500000000 +0000": "2020-01-31T12:30:15.500000000 UTC",
	} {
		at, err := ParseTimestamp(text)
		if err != nil || FormatTimestamp(at) != want {
			t.Errorf("%s: %s, %v", text, FormatTimestamp(at), err)
		}
	}
	for _, text := range []string{"", "2020", "2020-01", "2020-13-01", "2020-02-30", "2021-02-29", "2020-01-31T25:00", "2020-01-31T12:60", "2020-01-31T12:30:61", "31.01.2020",
		"2020-01-31 CET", "12:30", "2020-01-31T", "tomorrow", " 2020-01-31", "2020-01-31 ", "20200131"} {
		if at, err := ParseTimestamp(text); err == nil {
			t.Errorf("%q is %s", text, FormatTimestamp(at))
		}
	}
}

// TestRangesAtTheEnds: the range up to the greatest number is not followed by the one from the least.
func TestRangesAtTheEnds(t *testing.T) {
	ty := MustParse("Variant[Integer[5, 9223372036854775807], Integer[-9223372036854775808, 3]]")
	if n := ty.normal(); n.Accepts(4) || n.String() != ty.String() {
		t.Errorf("it is shown as %s", n)
	}
}
