package engine_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// TestMetaParamsRefused has each rule of the metaparameters, with the path of the finding
// and a part of its words.
func TestMetaParamsRefused(t *testing.T) {
	for _, c := range []struct {
		meta       engine.MetaParams
		path, want string
	}{
		{engine.MetaParams{Retry: -2}, "retry", "must be -1 (for ever) or more"},
		{engine.MetaParams{Delay: -1}, "delay", "must not be negative"},
		{engine.MetaParams{Delay: 11 * 365 * 24 * time.Hour}, "delay", "at most"},
		{engine.MetaParams{Delay: time.Second, DelayMax: -1}, "delaymax", "must not be negative"},
		{engine.MetaParams{DelayMax: time.Second}, "delaymax", "without a delay to begin with"},
		{engine.MetaParams{Delay: time.Minute, DelayMax: time.Second}, "delaymax", "must not be below delay"},
		{engine.MetaParams{Timeout: -time.Second}, "timeout", "must not be negative"},
		{engine.MetaParams{Timeout: math.MaxInt64}, "timeout", "which is ten years"},
		{engine.MetaParams{Poll: -1}, "poll", "must not be negative"},
		{engine.MetaParams{Poll: time.Millisecond}, "poll", "at least 100ms, or 0 to watch"},
		{engine.MetaParams{Settle: -1}, "settle", "must not be negative"},
		{engine.MetaParams{Limit: -1, Burst: 1}, "limit", "a number of runs a second"},
		{engine.MetaParams{Limit: math.NaN(), Burst: 1}, "limit", "a number of runs a second"},
		{engine.MetaParams{Limit: math.Inf(1), Burst: 1}, "limit", "a number of runs a second"},
		{engine.MetaParams{Limit: 1e-9, Burst: 1}, "limit", "at least 1e-08 runs a second"},
		{engine.MetaParams{Burst: -1}, "burst", "must not be negative"},
		{engine.MetaParams{Limit: 1}, "limit", "without a burst"},
		{engine.MetaParams{Burst: 1}, "burst", "without a limit"},
		{engine.MetaParams{Sema: []string{""}}, "sema[0]", "has no name"},
		{engine.MetaParams{Sema: []string{"a", ":2"}}, "sema[1]", "has no name"},
		{engine.MetaParams{Sema: []string{"a:0"}}, "sema[0]", "a whole number above 0"},
		{engine.MetaParams{Sema: []string{"a:x"}}, "sema[0]", "a whole number above 0"},
		{engine.MetaParams{Sema: []string{"a:1:2"}}, "sema[0]", "a whole number above 0"},
		{engine.MetaParams{Sema: []string{"3"}}, "sema[0]", "is a number alone"},
		{engine.MetaParams{Sema: []string{"a", "a:1"}}, "sema[1]", "is named twice"},
		{engine.MetaParams{Drift: "mend"}, "drift", "must be fix, report or ask"},
		{engine.MetaParams{Leaving: "go"}, "leaving", "must be keep, undo or ask"},
		{engine.MetaParams{Labels: map[string]string{"": "db"}}, "labels", "a label without a name"},
		{engine.MetaParams{Export: []string{"*", ""}}, "export[1]", "a host without a name"},
	} {
		err := c.meta.Validate()
		ds, ok := errors.AsType[schema.Diagnostics](err)
		if !ok || len(ds) != 1 || ds[0].Path != c.path || !strings.Contains(ds[0].Message, c.want) {
			t.Errorf("%+v: %v", c.meta, err)
		}
	}
}

// TestMetaParamsTaken has values at the edges of the rules.
func TestMetaParamsTaken(t *testing.T) {
	for _, m := range []engine.MetaParams{
		{}, {Retry: engine.RetryForever}, {Retry: engine.RetryNever}, {Retry: 1 << 30}, {Delay: time.Second, DelayMax: time.Second}, {Poll: 100 * time.Millisecond},
		{Delay: 10 * 365 * 24 * time.Hour}, {Limit: 1e-8, Burst: 1}, {Limit: 1e9, Burst: math.MaxInt}, {Sema: []string{"a", "a:2", "b", "3:1"}},
		{Drift: engine.DriftFix}, {Drift: engine.DriftReport}, {Export: []string{"*", "one"}}, {Settle: 1}, {Timeout: 1},
	} {
		if err := m.Validate(); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// TestMetaParamsAllAtOnce: every finding is told at once.
func TestMetaParamsAllAtOnce(t *testing.T) {
	m := engine.MetaParams{Retry: -5, Delay: -1, Timeout: -1, Poll: 1, Limit: 1, Sema: []string{"", "x:y"}, Drift: "x", Leaving: "x", Export: []string{""}}
	ds, ok := errors.AsType[schema.Diagnostics](m.Validate())
	var paths []string
	for _, d := range ds {
		paths = append(paths, d.Path)
	}
	if want := "retry delay timeout poll limit sema[0] sema[1] drift leaving export[0]"; !ok || strings.Join(paths, " ") != want {
		t.Errorf("%v, not %s", paths, want)
	}
}

// TestLawMetaParamsDiffer sets each field alone: Cmp names it, Equal sees it, and
// DecodeMeta does not lose it.
func TestLawMetaParamsDiffer(t *testing.T) {
	ty := reflect.TypeFor[engine.MetaParams]()
	for i := range ty.NumField() {
		m := &engine.MetaParams{}
		f := reflect.ValueOf(m).Elem().Field(i)
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(time.Second))
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.String:
			f.SetString(map[string]string{"Drift": "report", "Leaving": "ask"}[ty.Field(i).Name])
			if f.Len() == 0 {
				f.SetString("text")
			}
		case reflect.Slice:
			if f.Type() == reflect.TypeFor[[]world.Proof]() {
				f.Set(reflect.ValueOf([]world.Proof{{Lease: "a"}}))
			} else {
				f.Set(reflect.ValueOf([]string{"a"}))
			}
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"a": "b"}))
		case reflect.Pointer:
			f.Set(reflect.ValueOf(new(false)))
		default:
			t.Fatalf("%s is a %s", ty.Field(i).Name, f.Kind())
		}
		key := ty.Field(i).Tag.Get("yaml")
		zero := new(engine.MetaParams)
		if m.Equal(zero) || zero.Equal(m) || !m.Equal(m) {
			t.Errorf("%s is not compared by Equal", key)
		}
		if key == "-" { // no graph says it, so that it is neither written nor shown as a difference
			continue
		}
		if err := m.Cmp(zero); err == nil || !strings.Contains(err.Error(), "meta."+key) {
			t.Errorf("%s: Cmp says %v", key, err)
		}
		plain, err := schema.EncodeChanged(m, zero)
		if err != nil || len(plain) != 1 {
			t.Fatalf("%s is written as %v, %v", key, plain, err)
		}
		node, err := schema.NodeOf(plain)
		if err != nil {
			t.Fatal(err)
		}
		back := new(engine.MetaParams)
		if ds := engine.DecodeMeta(node, back); ds.Err() != nil || !back.Equal(m) {
			t.Errorf("%s comes back as %+v, %v", key, back, ds)
		}
	}
}

// TestLawChangesAreShort: the text of a change is one line, valid, and of a bounded
// length, however long and odd the values are; two values that differ look different.
func TestLawChangesAreShort(t *testing.T) {
	odd := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab\n\t\x00é😀")), 0, 200, -1), rapid.StringMatching(`a{90,120}[bc]x{0,90}`))
	rapid.Check(t, func(t *rapid.T) {
		from, to := odd.Draw(t, "from"), odd.Draw(t, "to")
		text := engine.Change{Field: "content", From: from, To: to}.String()
		if strings.ContainsAny(text, "\n\x00") || !utf8.ValidString(text) || utf8.RuneCountInString(text) > 250 {
			t.Fatalf("%q", text)
		}
		before, after, ok := strings.Cut(strings.TrimPrefix(text, "content: "), " -> ")
		if from != to && ok && before == after {
			t.Fatalf("%q and %q look the same: %s", from, to, text)
		}
	})
}

// TestMarksGoThroughWraps: each mark of an error is found behind others, and is none of
// the others.
func TestMarksGoThroughWraps(t *testing.T) {
	marks := []struct {
		name string
		mark func(error) error
		is   func(error) bool
	}{
		{"permanent", failure.Permanent, failure.IsPermanent},
		{"verdict", failure.Verdict, failure.IsVerdict},
		{"interrupted", failure.Interrupted, failure.IsInterrupted},
	}
	cause := errors.New("cause")
	for _, a := range marks {
		if a.mark(nil) != nil || a.is(nil) || a.is(cause) {
			t.Errorf("%s of nothing", a.name)
		}
		err := a.mark(cause)
		if !a.is(err) || !a.is(fmt.Errorf("outer: %w", err)) || !a.is(errors.Join(errors.New("x"), err)) || !errors.Is(err, cause) || err.Error() != "cause" {
			t.Errorf("%s: %v", a.name, err)
		}
		for _, b := range marks {
			if both := b.mark(err); !a.is(both) || !b.is(both) || b.name != a.name && b.is(err) {
				t.Errorf("%s and %s", a.name, b.name)
			}
		}
		if a.is(callsafe.CopyError("CheckApply", err)) != true {
			t.Errorf("%s is lost when the text is frozen", a.name)
		}
	}
	wait := &failure.WaitError{For: "a lock", Again: time.Second}
	if !failure.IsWait(fmt.Errorf("outer: %w", wait)) || failure.IsWait(cause) || wait.Error() != "a lock" {
		t.Error(wait)
	}
}
