package secrets_test

import (
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestForms: a secret is known in the forms in which programs write text.
func TestForms(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"", "nothing", "nothing"},
		{"ab\n", "x ab", "x (secret)"},
		{"a\tb", `x "a\tb"`, `x "(secret)"`},
		{"one\ntwo more\n", "two more, one", "(secret), one"},
		{" a b ", "(a b)", "((secret))"},
		{`it's \`, `'it\'s \\' "it's \\" 'it'\''s \' 'it'"'"'s \'`, `'(secret)' "(secret)" '(secret)' '(secret)'`},
		{"<é\x01", `\u003cé\u0001 <\u00e9\u0001 <é\u0001 <é\x01`, "(secret) (secret) (secret) (secret)"},
		{`it's "<`, `+ read '{"k":"it'\''s \"\u003c"}'`, `+ read '{"k":"(secret)"}'`},
		{`it's "<`, `no '{"k": "it\'s \\"<"}'`, `no '{"k": "(secret)"}'`},
		{`it's "<`, `no "{\"k\":\"it's \\\"\\u003c\"}"`, `no "{\"k\":\"(secret)\"}"`},
		{"a\U0001f600", `a\ud83d\ude00`, "(secret)"},
	} {
		var s secrets.Texts
		s.Add(c.secret)
		if got := s.Clean(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.secret, got, c.want)
		}
	}
}

// TestClean: whatever the secrets are, none of them is left, however it is quoted, and the
// text around them is.
func TestClean(t *testing.T) {
	text := rapid.StringMatching(`[a-c'"\\<é\n ]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		var s secrets.Texts
		all := rapid.SliceOfN(text, 1, 4).Draw(t, "secrets")
		for _, one := range all {
			s.Add(one)
		}
		one := rapid.SampledFrom(all).Draw(t, "one")
		asJSON, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{one, strconv.Quote(one), string(asJSON)} {
			got := s.Clean("[[" + form + "]]")
			if form = strings.Trim(form, `"`); len(form) > 4 && strings.Contains(got, form) {
				t.Errorf("%q leaves %q", form, got)
			}
			if !strings.HasPrefix(got, "[[") || !strings.HasSuffix(got, "]]") {
				t.Errorf("%q became %q", form, got)
			}
		}
	})
}

// pairs is a value of another's.
type pairs [][2]any

func (p pairs) All() iter.Seq2[any, any] {
	return func(yield func(k, v any) bool) {
		for _, e := range p {
			if !yield(e[0], e[1]) {
				return
			}
		}
	}
}

type wrapped struct{ v any }

func (w wrapped) Reveal() any { return w.v }

// TestLearn: what is wrapped is learnt, wherever it is, and nothing else; or all.
func TestLearn(t *testing.T) {
	value := []any{
		"text", []byte("bytes"), schema.NewSecret("inner"), int64(77777), nil,
		map[string]any{"key": schema.NewSecret("under"), "open": "plain"},
		pairs{{wrapped{[]any{"first"}}, "second"}},
	}
	const text = "text bytes inner key under open plain first second 77777"
	for all, want := range map[bool]string{
		false: "text bytes S key S open plain S second 77777",
		true:  "S S S key S open S S S 77777",
	} {
		var s secrets.Texts
		s.Learn(value, all)
		if got := strings.ReplaceAll(s.Clean(text), schema.Redacted, "S"); got != want {
			t.Errorf("all %t: %s", all, got)
		}
	}
}

// TestValueAndError: a value is copied; an error without a secret is the same.
func TestValueAndError(t *testing.T) {
	var s secrets.Texts
	s.Add("hunter2")
	in := map[string]any{"k": []any{"is hunter2", int64(1), nil}}
	if diff := cmp.Diff(map[string]any{"k": []any{"is (secret)", int64(1), nil}}, s.Value(in)); diff != "" {
		t.Error(diff)
	}
	if in["k"].([]any)[0] != "is hunter2" {
		t.Error("it was altered")
	}
	plain, told := errors.New("no"), errors.New("no hunter2")
	if s.Error(nil) != nil || s.Error(plain) != plain || s.Error(told).Error() != "no (secret)" || errors.Is(s.Error(told), told) {
		t.Error(s.Error(plain), s.Error(told))
	}
}
