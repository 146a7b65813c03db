package puppettype_test

import (
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// scalarCases are checks of one scalar, each with a value that fits.
func scalarCases() map[string]any {
	return map[string]any{
		"Any":                               "a",
		"Boolean":                           true,
		"Integer[0, 65535]":                 int64(8080),
		"Float[0.5, 1.5]":                   1.0,
		"Numeric":                           2.5,
		"String[1, 10]":                     "héllo",
		"Enum[present, absent]":             "absent",
		"Enum[present, absent, true]":       "ABSENT",
		"Pattern[/\\A(0x)?\\h{8}\\Z/]":      "0xdeadbeef",
		"Optional[Integer[1]]":              int64(7),
		"Variant[Integer, Enum[a, b]]":      "b",
		"NotUndef[String]":                  "x",
		"Scalar":                            "x",
		"ScalarData":                        int64(1),
		"Data":                              1.5,
		"RichData":                          "x",
		"Sensitive[String[1]]":              schema.NewSecret("hush"),
		"Timestamp['2000-01-01']":           time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		"Timespan[0, 86400]":                time.Hour,
		"SemVer['>=1.0.0 <2.0.0']":          puppettype.Version{Major: 1, Minor: 2},
		"Variant[Pattern[/^a/], String[9]]": "abc",
	}
}

// TestScalarsDoNotAllocate holds the promise of Accepts, also for Check where the
// value fits.
func TestScalarsDoNotAllocate(t *testing.T) {
	for text, v := range scalarCases() {
		if raced && strings.Contains(text, "Pattern") {
			continue
		}
		ty := puppettype.MustParse(text)
		if !ty.Accepts(v) {
			t.Errorf("%s does not accept %v", text, v)
		}
		if n := testing.AllocsPerRun(100, func() { _ = ty.Accepts(v); _ = ty.Check("a", v) }); n > 0.05 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
	refuse := puppettype.MustParse("Variant[Integer, Enum[a], String[9], Array[String]]")
	var v any = "c"
	if n := testing.AllocsPerRun(100, func() { _ = refuse.Accepts(v) }); n > 0.05 {
		t.Errorf("refusing: %v allocations", n)
	}
}

// BenchmarkAccepts measures one scalar; the yardstick is 1 microsecond.
func BenchmarkAccepts(b *testing.B) {
	for text, v := range scalarCases() {
		ty := puppettype.MustParse(text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !ty.Accepts(v) {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	const text = "Struct[{mode => Enum[read, write, update], path => Optional[String[1]], Optional[owner] => Variant[Integer[0], Pattern[/\\A[a-z]+\\Z/]]}]"
	for b.Loop() {
		if _, err := puppettype.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
