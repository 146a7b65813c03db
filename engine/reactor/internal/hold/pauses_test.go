package hold

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRecordOfAPause: a record is read as encoding/json reads it, whatever the reason. A damaged text that both can read
// means the same to both, and none panics.
func TestRecordOfAPause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pause{Reason: string(rapid.OneOf(rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }), rapid.SliceOf(rapid.Byte())).Draw(t, "reason"))}
		if rapid.Bool().Draw(t, "ends") {
			p.Until = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(time.FixedZone("", 60*rapid.IntRange(-700, 700).Draw(t, "zone")))
		}
		text, err := p.Record(time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "left")))
		if err != nil {
			t.Fatal(err)
		}
		same(t, text, true)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			text[at] = rapid.Byte().Draw(t, "byte")
		case 1:
			text = text[:at]
		default:
			text = append(text[:at:at], text[at+1:]...)
		}
		same(t, text, false)
	})
}

// same compares a record with what encoding/json reads. It has to be readable where whole says so.
func same(t rapid.TB, text []byte, whole bool) {
	t.Helper()
	var want pauseRecord
	err := json.Unmarshal(text, &want)
	got, ok := readPause(string(text))
	if whole && !ok {
		t.Fatalf("%q is not read", text)
	}
	if ok && err == nil && (!got.Until.Equal(want.Until) || got.For != want.For || got.Reason != want.Reason) {
		t.Fatalf("%q is read as %+v, want %+v, %v", text, got, want, err)
	}
}

// TestForeignRecordOfAPause: what is no record is refused, and nothing panics.
func TestForeignRecordOfAPause(t *testing.T) {
	for _, text := range []string{"", "{", "{}", "null", `"until":"2026-01-02T03:04:05Z","for":1,"reason":""}`, `{"for":1,"reason":"x"}x`,
		`{"for":,"reason":"x"}`, `{"for":1}`, `{"for":1,"reason":'x'}`, "{\"for\":1,\"reason\":`x`}", `{"until":"soon","for":1,"reason":"x"}`} {
		if rec, ok := readPause(text); ok {
			t.Errorf("%q is read as %+v", text, rec)
		}
	}
}
