package puppettype_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
)

const canary = "canary-7f3a"

// TestSecretsAreNotShown holds what is wrapped, and what CheckSecret checks, out of
// every text.
func TestSecretsAreNotShown(t *testing.T) {
	secret := puppettype.NewSensitive(map[string]any{canary: []any{canary, int64(424242)}})
	raw, err := json.Marshal(map[string]any{"a": secret})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("value", "v", secret)
	texts := []string{string(raw), log.String(), secret.String(), fmt.Sprintf("%v %+v %#v %s %q %d", secret, secret, secret, secret, secret, secret)}
	for _, text := range []string{"Integer", "Sensitive[Integer]", "Sensitive[Struct[{a => Enum[b]}]]", "Variant[Integer, Sensitive[Array[Enum[x]]]]",
		"Struct[{a => Integer}]", "Sensitive[Pattern[/x/]]", "Enum[a]", "Pattern[/x/]", "Optional[Pattern[/x/]]", "Hash[Enum[x], Any]", "Tuple[Integer[0, 1], String]"} {
		ty := puppettype.MustParse(text)
		for _, v := range []any{secret, schema.NewSecret(canary), []any{secret, secret}, puppettype.NewSensitive(int64(424242))} {
			texts = append(texts, puppettype.Infer(v).String(), puppettype.InferEach(v).String())
			if err := ty.Check("x.y", v); err != nil {
				texts = append(texts, err.Error())
			}
		}
		for _, v := range []any{canary, map[string]any{canary: canary}, []any{canary}, int64(424242), puppettype.Map{{canary, 1}}} {
			if err := ty.CheckSecret("x.y", v); err != nil {
				texts = append(texts, err.Error())
			} else if !ty.Accepts(v) {
				t.Errorf("%s refuses %v and CheckSecret does not", text, v)
			}
		}
	}
	for _, text := range texts {
		if strings.Contains(text, canary) || strings.Contains(text, "424242") {
			t.Errorf("shown in %s", text)
		}
	}
	if len(texts) < 60 {
		t.Errorf("%d texts", len(texts))
	}
}

func TestGoValues(t *testing.T) {
	type word string
	for _, tt := range []struct {
		value any
		want  string
	}{
		{7, "Integer[7, 7]"},
		{uint8(7), "Integer[7, 7]"},
		{uint64(math.MaxUint64), "Integer[18446744073709551615, 18446744073709551615]"},
		{big.NewInt(5), "Integer[5, 5]"},
		{float32(0.5), "Float[0.5, 0.5]"},
		{word("w"), "String"},
		{[]string{"a", "b"}, "Tuple[String, String]"},
		{map[string][]int{"a": {1}}, "Struct[{'a' => Tuple[Integer[1, 1]]}]"},
		{schema.NewSecret("x"), "Sensitive[String]"},
		{puppettype.Sensitive{}, "Sensitive[Undef]"},
		{struct{}{}, "Runtime[go, 'struct {}']"},
		{map[int]int{1: 1}, "Runtime[go, 'map[int]int']"},
		{math.Inf(1), "Float[Infinity]"},
		{math.Inf(-1), "Float[default, -Infinity]"},
		{-90 * time.Second, "Timespan['-0-00:01:30.0', '-0-00:01:30.0']"},
		{time.Duration(math.MinInt64), "Timespan['-106751-23:47:16.854775808', '-106751-23:47:16.854775808']"},
		{puppettype.Symbol("default"), "Default"},
	} {
		ty := puppettype.InferEach(tt.value)
		if ty.String() != tt.want || !ty.Accepts(tt.value) {
			t.Errorf("%#v: %s, not %s", tt.value, ty, tt.want)
		}
	}
}

func TestTimespans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "1:30": 90 * time.Second, "1:0:0": time.Hour, "2-01:00:00": 49 * time.Hour, "-0:01.5": -1500 * time.Millisecond,
		"0-00:00:00.000000001": 1,
	} {
		if got, err := puppettype.ParseTimespan(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "1:2:3:4", "1-2", "1-1:2", "+1", "1.", "1.1234567890", "99999999999999", "1:-1", "--1", "1:+1"} {
		if got, err := puppettype.ParseTimespan(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, d := range []time.Duration{0, 1, -1, math.MaxInt64, math.MinInt64, 25*time.Hour + time.Nanosecond} {
		if back, err := puppettype.ParseTimespan(puppettype.FormatTimespan(d)); err != nil || back != d {
			t.Errorf("%d: %s, %v", d, puppettype.FormatTimespan(d), err)
		}
	}
}

func TestTimestamps(t *testing.T) {
	want := time.Date(2020, 1, 31, 12, 30, 0, 0, time.UTC)
	for _, text := range []string{"2020-01-31T12:30:00Z", "2020-01-31T12:30:00.000 UTC", "2020-01-31 12:30:00 UTC", "2020-01-31T12:30", "2020-01-31T13:30:00+01:00",
		puppettype.FormatTimestamp(want)} {
		if got, err := puppettype.ParseTimestamp(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "now", "2020-13-01", "2020-01-31T12:30:00 CET", "2020-01-31T25:00"} {
		if got, err := puppettype.ParseTimestamp(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestVersions(t *testing.T) {
	order := strings.Fields("0.0.1-1 0.0.1-2 0.0.1-10 0.0.1-a 0.0.1-a.1 0.0.1-b 0.0.1 0.1.0 1.0.0-rc.1 1.0.0 1.2.0 1.2.3 1.10.0 2.0.0")
	for i, low := range order {
		for j, high := range order {
			a, errA := puppettype.ParseVersion(low)
			b, errB := puppettype.ParseVersion(high)
			if errA != nil || errB != nil || (a.Compare(b) < 0) != (i < j) || (a.Compare(b) == 0) != (i == j) || a.String() != low {
				t.Errorf("%s, %s: %d", low, high, a.Compare(b))
			}
		}
	}
	for _, text := range []string{"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "1.2.3-", "1.2.3-a..b", "1.2.3-ä", "1.2.3+", "+1.2.3", "1.2.99999999999999999999"} {
		if v, err := puppettype.ParseVersion(text); err == nil {
			t.Errorf("%q: %s", text, v)
		}
	}
}

func TestVersionRanges(t *testing.T) {
	for text, in := range map[string]string{
		"1.2.3":             "1.2.3 | 1.2.4 1.2.3-rc.1",
		">=1.0.0 <2.0.0":    "1.0.0 1.9.9 | 0.9.9 2.0.0",
		">= 1.0.0 < 2.0.0":  "1.0.0 1.9.9 | 0.9.9 2.0.0",
		">1.0.0":            "1.0.1 2.0.0 | 1.0.0",
		">1.x":              "2.0.0 | 1.9.9",
		"<=1.2":             "1.2.9 0.0.1 | 1.3.0",
		"1.x":               "1.0.0 1.9.0 | 2.0.0 0.9.0",
		"1.2.*":             "1.2.0 1.2.9 | 1.3.0",
		"x":                 "0.0.1 9.0.0 | ",
		"~1.2.3":            "1.2.3 1.2.9 | 1.3.0 1.2.2",
		"~1":                "1.0.0 1.9.0 | 2.0.0",
		"^1.2":              "1.2.0 1.9.0 | 2.0.0 1.1.9",
		"^0.2.3":            "0.2.3 0.2.9 | 0.3.0",
		"^0.0.3":            "0.0.3 0.0.4 | 0.1.0",
		"1.0.0 - 1.2":       "1.0.0 1.2.0 | 1.2.9 1.3.0",
		"1.0.0 || >=3.0.0":  "1.0.0 3.1.0 | 2.0.0",
		">2.0.0 <1.0.0":     " | 1.5.0 0.1.0",
		">=2.0.0-0 <=3.0.0": "2.0.0-0 3.0.0 | 1.9.9",
	} {
		r, err := puppettype.ParseVersionRange(text)
		if err != nil {
			t.Error(err)
			continue
		}
		yes, no, _ := strings.Cut(in, "|")
		for _, list := range []struct {
			versions string
			want     bool
		}{{yes, true}, {no, false}} {
			for word := range strings.FieldsSeq(list.versions) {
				v, err := puppettype.ParseVersion(word)
				if err != nil || r.Has(v) != list.want {
					t.Errorf("%s has %s: %v, %v", text, word, r.Has(v), err)
				}
			}
		}
	}
	for _, text := range []string{"", "a", ">", "1.2.3.4", ">>1", "1.x.3", "1 -", "||", ">x", "1.0.0 ||"} {
		if r, err := puppettype.ParseVersionRange(text); err == nil {
			t.Errorf("%q: %s", text, r)
		}
	}
}

func TestCleanTextDiffers(t *testing.T) {
	ty := puppettype.MustParse("Variant[Boolean, Enum['true', 'no']]")
	_, err := ty.CleanText("k.a", "true")
	if err == nil || err.Error() != `k.a "true" can be read in more than one way as Variant[Boolean, Enum['no', 'true']]; give it as JSON` {
		t.Error(err)
	}
	if v, err := ty.CleanText("k.a", "no"); v != "no" || err != nil {
		t.Error(v, err)
	}
	v, err := puppettype.MustParse("Array[Variant[Integer, Boolean]]").CleanText("k.a", []string{"1", "true"})
	if diff := cmp.Diff([]any{int64(1), true}, v); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestLongFindingsAreCut holds that a message is bounded.
func TestLongFindingsAreCut(t *testing.T) {
	list := make([]any, 1000)
	for i := range list {
		list[i] = strings.Repeat("x", 1000)
	}
	err := puppettype.MustParse("Array[Enum[a]]").Check("k.a", list)
	m, ok := err.(*puppettype.Mismatch)
	if !ok || len(m.Lines) != 21 || m.Lines[20] != "k.a does not fit in 980 more places" || len(err.Error()) > 10_000 {
		t.Error(len(m.Lines), err)
	}
}

// TestNilPointers holds that what a provider hands over by mistake does no harm.
func TestNilPointers(t *testing.T) {
	for _, v := range []any{(*big.Int)(nil), (*puppettype.Type)(nil), (*rubyre.Regexp)(nil), (*puppettype.VersionRange)(nil)} {
		if ty := puppettype.Infer(v); ty.String() != "Undef" || !ty.Accepts(v) {
			t.Errorf("%T: %s", v, ty)
		}
	}
	if err := puppettype.MustParse("Integer").Check("k.a", (*int)(nil)); err == nil {
		t.Error("a nil pointer is a number")
	}
}
