package strictjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for text, want := range map[string]any{
		`null`: nil, ` "a\ud83d\ude00\\ud800" `: "a\U0001f600\\ud800", `12345678901234567`: int64(12345678901234567), `1.0`: 1.0, `1e3`: 1e3, `-5`: int64(-5),
		`{"a": [true, {}], "b": []}`: map[string]any{"a": []any{true, map[string]any{}}, "b": []any{}},
	} {
		if got, err := strictjson.Parse([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		``: "no JSON", `canary`: "no JSON", `{"canary"`: "no JSON", `[1,`: "no JSON", `{1: 2}`: "no JSON", `[1}`: "no JSON",
		`1 2`: "more than one value", `{} x`: "more than one value",
		"\"canary\xff\"": "no UTF-8", `"canary\ud800"`: "half of a surrogate pair", `"\uDC00\ud800"`: "half of a surrogate pair",
		`{"canary": 1, "canary": 2}`: "twice", `[{"a": {"b": 1, "\u0062": 2}}]`: "twice",
		`12345678901234567890`: "too large", `1e400`: "too large",
		strings.Repeat("[", 101) + strings.Repeat("]", 101): "more than 100 levels", strings.Repeat(`{"a":`, 1<<20): "more than 100 levels",
	} {
		if got, err := strictjson.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.40q: %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestIsText(t *testing.T) {
	for _, v := range []any{nil, int64(1), "é", []any{"a"}, map[string]any{"k": []any{"a"}}} {
		if !strictjson.IsText(v) {
			t.Errorf("%v", v)
		}
	}
	for _, v := range []any{"\xff", []any{"a", "\xff"}, map[string]any{"k": map[string]any{"k": "\xff"}}, map[string]any{"\xff": "a"}} {
		if strictjson.IsText(v) {
			t.Errorf("%q", v)
		}
	}
}

// FuzzParse: what is read is what encoding/json reads, and can be written again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x"]}`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `1 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := strictjson.Parse(text)
		if err != nil {
			return
		}
		var theirs any
		if err := json.Unmarshal(text, &theirs); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var ours any
		if err := json.Unmarshal(again, &ours); err != nil || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%q: %v, not %v", text, ours, theirs)
		}
	})
}
