package basic

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func newTest(t *testing.T, r *TestRes) *enginetest.Fake {
	t.Helper()
	return kindtest.Begin(t, "test", r)
}

func TestTestDiffers(t *testing.T) {
	r := &TestRes{Differs: 2}
	f := newTest(t, r)
	kindtest.Want(t, f, r, "differs: 2 -> 1")
	kindtest.Want(t, f, r, "differs: 1 -> 0")
	kindtest.Want(t, f, r, "")
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "refreshed")
}

func TestTestErrors(t *testing.T) {
	r := &TestRes{CheckError: "bad", CheckFails: 2}
	f := newTest(t, r)
	for _, what := range []string{"error: bad", "error: bad", "", ""} {
		if got := kindtest.Verbs(t, f, r, true); got != what {
			t.Errorf("got %q, want %q", got, what)
		}
	}
	r = &TestRes{CheckError: "bad", Permanent: true}
	newTest(t, r)
	for range 5 {
		if _, err := r.CheckApply(t.Context(), true); !failure.IsPermanent(err) {
			t.Errorf("got %v", err)
		}
	}
	r = &TestRes{ValidateError: "v", InitError: "i", CleanupError: "c"}
	f = enginetest.NewInit(t)
	for _, e := range []struct {
		err  error
		want string
	}{{r.Validate(), "v"}, {r.Init(f.Init()), "i"}, {r.Cleanup(), "c"}} {
		if e.err == nil || e.err.Error() != e.want {
			t.Errorf("got %v, want %s", e.err, e.want)
		}
	}
}

func TestTestPanics(t *testing.T) {
	f := enginetest.NewInit(t)
	for method, call := range map[string]func(*TestRes){
		"validate":   func(r *TestRes) { _ = r.Validate() },
		"init":       func(r *TestRes) { _ = r.Init(f.Init()) },
		"cleanup":    func(r *TestRes) { _ = r.Cleanup() },
		"watch":      func(r *TestRes) { _ = r.Watch(t.Context()) },
		"checkapply": func(r *TestRes) { _, _ = r.CheckApply(t.Context(), true) },
		"cmp":        func(r *TestRes) { _ = r.Cmp(&TestRes{}) },
	} {
		func() {
			defer func() {
				if v := recover(); v != "told to panic in "+method {
					t.Errorf("%s: %v", method, v)
				}
			}()
			call(&TestRes{Panic: method})
		}()
	}
}

func TestTestSleepsAndIsDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			res  *TestRes
			took time.Duration
			err  error
		}{
			{&TestRes{Sleep: time.Hour}, time.Minute, context.DeadlineExceeded},
			{&TestRes{Sleep: time.Second}, time.Second, nil},
			{&TestRes{Deaf: time.Hour}, time.Hour, nil},
		} {
			newTest(t, tt.res)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			_, err := tt.res.CheckApply(ctx, true)
			cancel()
			if took := time.Since(start); took != tt.took || !errors.Is(err, tt.err) {
				t.Errorf("%s, %v; want %s, %v", took, err, tt.took, tt.err)
			}
		}
	})
}

func TestTestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &TestRes{WatchEvery: time.Second, WatchSlow: 5 * time.Second}
		f := newTest(t, r)
		start := time.Now()
		stop := kindtest.Watching(t, f, r)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("armed after %s", d)
		}
		time.Sleep(3500 * time.Millisecond)
		stop()
		if n := f.EventCount(); n != 3 {
			t.Errorf("%d events", n)
		}
		r = &TestRes{WatchNil: true}
		if f = newTest(t, r); r.Watch(t.Context()) != nil || f.RunningCount() != 0 {
			t.Error("it did not end at once")
		}
		r = &TestRes{WatchError: "bad"}
		f = newTest(t, r)
		if err := r.Watch(t.Context()); err == nil || err.Error() != "bad" || f.RunningCount() != 1 {
			t.Errorf("got %v", err)
		}
		r = &TestRes{WatchSlow: time.Hour}
		f = newTest(t, r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Watch(ctx); err != nil || f.RunningCount() != 0 {
			t.Errorf("got %v", err)
		}
	})
}

func TestTestSends(t *testing.T) {
	r := &TestRes{Differs: 1}
	f := newTest(t, r)
	if kindtest.Verbs(t, f, r, false); f.Sent() != nil {
		t.Errorf("sent %v before it ran", f.Sent())
	}
	kindtest.Verbs(t, f, r, true)
	if want := (&TestSends{Hello: "hello from it", Answer: 42}); !reflect.DeepEqual(f.Sent(), want) {
		t.Errorf("sent %+v", f.Sent())
	}
	r = &TestRes{Str: "s", Int: 7, Any: 1.5, List: []string{"l"}, Secret: schema.NewSecret("x")}
	f = newTest(t, r)
	kindtest.Verbs(t, f, r, true)
	if want := (&TestSends{"s", 7, 1.5, []string{"l"}, r.Secret}); !reflect.DeepEqual(f.Sent(), want) {
		t.Errorf("sent %+v", f.Sent())
	}
	r = &TestRes{SendNone: true}
	f = newTest(t, r)
	if kindtest.Verbs(t, f, r, true); f.Sent() != nil {
		t.Errorf("sent %v", f.Sent())
	}
}

func TestTestBatch(t *testing.T) {
	members := []*TestRes{{Batch: "b", Differs: 1}, {Batch: "b", CheckError: "bad"}, {Batch: "b"}}
	var all []engine.Res
	for _, m := range members {
		newTest(t, m)
		all = append(all, m)
	}
	if members[0].GroupKey() != "b" {
		t.Error("another key")
	}
	out := members[0].CheckApplyBatch(t.Context(), true, all)
	if len(out) != 3 || out[0].OK || out[0].Err != nil || out[1].Err == nil || !out[2].OK {
		t.Errorf("got %+v", out)
	}
}

// It is the fixture of the schema: no type may be missing.
func TestTestHasEveryType(t *testing.T) {
	k, err := engine.DefaultRegistry().Kind("test")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[schema.Kind]bool{}
	for _, f := range k.Type.Fields {
		seen[f.Type.Kind] = true
	}
	for kind := range schema.Kind(schema.NumKinds) {
		if !seen[kind] {
			t.Errorf("no parameter of the kind %d", kind)
		}
	}
}
