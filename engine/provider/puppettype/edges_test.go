package puppettype_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestNamedGoValues: a provider in Go hands over values of types that it has named itself.
// They count as the values that they are made of.
func TestNamedGoValues(t *testing.T) {
	type (
		flag   bool
		count  int16
		size   uint16
		ratio  float32
		word   string
		words  []word
		byWord map[word]flag
	)
	for _, tt := range []struct {
		value any
		takes string
		not   string
	}{
		{flag(true), "Boolean[true]", "Boolean[false]"},
		{count(-3), "Integer[-3, -3]", "Integer[0]"},
		{size(3), "Integer[3, 3]", "Float"},
		{ratio(0.5), "Float[0.5, 0.5]", "Integer"},
		{word("w"), "Enum[w]", "Enum[v]"},
		{words{"a", "b"}, "Array[Enum[a, b], 2, 2]", "Array[Enum[a]]"},
		{byWord{"a": true}, "Struct[{a => Boolean[true]}]", "Hash[String, Boolean[false]]"},
	} {
		if err := puppettype.MustParse(tt.takes).Check("it", tt.value); err != nil {
			t.Errorf("%#v: %v", tt.value, err)
		}
		if err := puppettype.MustParse(tt.not).Check("it", tt.value); err == nil {
			t.Errorf("%s takes %#v", tt.not, tt.value)
		}
	}
}

// TestCountsOfParameters: an error names the number of parameters that a type takes, in
// words that fit the number.
func TestCountsOfParameters(t *testing.T) {
	for text, want := range map[string]string{
		"Tuple[]":                    "syntax error at ']'",
		"Array[String, 1, 2, 3]":     "Array takes 1 to 3 parameters, not 4",
		"Hash[String, Any, 1, 2, 3]": "Hash takes 2 to 4 parameters, not 5",
		"Optional[String, Any]":      "Optional takes 1 parameter, not 2",
		"Regexp[/a/, /b/]":           "Regexp takes 1 parameter, not 2",
	} {
		if _, err := puppettype.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestMustParsePanicsWithTheError: the text of a program's own type is a fault of the
// program, and the panic says where.
func TestMustParsePanicsWithTheError(t *testing.T) {
	defer func() {
		if text := recover(); text == nil || !strings.Contains(text.(error).Error(), "column: 7") {
			t.Errorf("the panic is %v", text)
		}
	}()
	puppettype.MustParse("Array[Strin]")
}

// TestSecretsDeepInside: a secret anywhere in a plain value makes the whole value
// sensitive where the type says Sensitive, and no message has its text.
func TestSecretsDeepInside(t *testing.T) {
	secret := schema.NewSecret("hunter2")
	for _, v := range []any{
		secret, []any{1, secret}, map[string]any{"a": secret}, map[string]any{"a": []any{map[string]any{"b": secret}}},
	} {
		lifted, err := puppettype.MustParse("Sensitive").Lift("it", v)
		if err != nil {
			t.Errorf("%v: %v", v, err)
		}
		if _, ok := lifted.(puppettype.Sensitive); !ok {
			if _, plain := lifted.(schema.Secret); !plain {
				t.Errorf("%v is lifted to %T", v, lifted)
			}
		}
		if err := puppettype.MustParse("Integer").Check("it", lifted); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the refusal says %v", err)
		}
	}
	if v, err := puppettype.MustParse("Sensitive").Lift("it", []any{map[string]any{"a": 1}}); err == nil {
		t.Errorf("without a secret it is lifted to %#v", v)
	}
}
