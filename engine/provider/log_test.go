package provider_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// logBench is a Logger whose events are kept.
type logBench struct {
	*provider.Logger
	host   *enginetest.FakeHost
	rt     *provider.Runtime
	events []provider.Event
}

// newLogBench makes one of a Set with these titles; none are no Set.
func newLogBench(o provider.LogOptions, titles ...string) *logBench {
	b := &logBench{host: enginetest.NewHost()}
	o.Type, o.Titles = "apt_key", titles
	o.Sink = func(e provider.Event) { b.events = append(b.events, e) }
	b.Logger = provider.NewLogger(o)
	b.rt = &provider.Runtime{Log: b.Logger, Host: b.host, Noop: o.Noop}
	return b
}

// spec returns all that was logged as the specification has it.
func (b *logBench) spec() string { return b.text(provider.SpecText) }

func (b *logBench) text(lines func(provider.Event) []string) string {
	var out []string
	for _, e := range b.events {
		out = append(out, lines(e)...)
	}
	return strings.Join(out, "\n")
}

func (b *logBench) wantSpec(t *testing.T, want string) {
	t.Helper()
	if got := b.spec(); got != strings.TrimSpace(want) {
		t.Errorf("logged:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

// wantStatus compares the statuses of titles, written as title=status.
func (b *logBench) wantStatus(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		title, _, _ := strings.Cut(w, "=")
		if s, _ := b.Status(title); title+"="+s.String() != w {
			t.Errorf("%s=%s, want %s", title, s, w)
		}
	}
}

// wantBroken compares the first rule that was broken; none for nothing.
func (b *logBench) wantBroken(t *testing.T, want string) {
	t.Helper()
	err := b.Broken()
	if want == "" {
		if err != nil {
			t.Errorf("broken: %v", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("broken: %v, want %q", err, want)
	}
}

// TestSeedExample is the specification's example of a context, in full.
func TestSeedExample(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "F1D2D2F9")
	b.host.SetCommand(exits(0))
	aptKey := b.rt.Command("apt-key")
	err := b.Updating("F1D2D2F9", func() error {
		b.Warning("Original key not found")
		if err := aptKey.Run(t.Context(), "..."); err != nil {
			return err
		}
		b.AttributeChanged("content", nil, "E242ED3B", provider.Message("Replaced with content hash E242ED3B"))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	b.wantSpec(t, `
Debug: Apt_key[F1D2D2F9]: Started updating
Warning: Apt_key[F1D2D2F9]: Updating: Original key not found
Debug: Apt_key[F1D2D2F9]: Executing 'apt-key ...'
Debug: Apt_key[F1D2D2F9]: Successfully executed 'apt-key ...'
Notice: Apt_key[F1D2D2F9]: Updating content: Replaced with content hash E242ED3B
Notice: Apt_key[F1D2D2F9]: Successfully updated`)
	b.wantStatus(t, "F1D2D2F9=updated")
}

// TestSeedExampleThatFails is its example of an error (whose first line lacks a bracket
// there). The error is returned.
func TestSeedExampleThatFails(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "F1D2D2F9")
	wrong := errors.New("Something went wrong")
	err := b.Updating("F1D2D2F9", func() error {
		b.Warning("Original key not found")
		return wrong
	})
	if err != wrong {
		t.Errorf("returned %v", err)
	}
	b.wantSpec(t, `
Debug: Apt_key[F1D2D2F9]: Started updating
Warning: Apt_key[F1D2D2F9]: Updating: Original key not found
Error: Apt_key[F1D2D2F9]: Updating failed: Something went wrong`)
	b.wantStatus(t, "F1D2D2F9=failed")
	if _, words := b.Status("F1D2D2F9"); words != "Something went wrong" {
		t.Errorf("failed with %q", words)
	}
}

// TestSeedLongForm is its example without a block: the same lines.
func TestSeedLongForm(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "F1D2D2F9", "B", "C")
	key := provider.Of("F1D2D2F9")
	if err := b.Updating("F1D2D2F9", nil); err != nil {
		t.Error(err)
	}
	b.Warning("Original key not found", key)
	b.AttributeChanged("content", nil, "E242ED3B", key, provider.Message("Replaced with content hash E242ED3B"))
	b.Info("of the type")
	b.Updated("F1D2D2F9")
	b.Notice("afterwards", key)
	_ = b.Updating("B", nil)
	_ = b.Deleting("C", nil)
	b.Info("of both", provider.Of("B", "C"))
	if e := b.events[len(b.events)-1]; e.Context != nil {
		t.Errorf("they have no context in common, and this is said in %+v", e.Context)
	}
	b.Failed("B", "Something went wrong")
	b.wantSpec(t, `
Debug: Apt_key[F1D2D2F9]: Started updating
Warning: Apt_key[F1D2D2F9]: Updating: Original key not found
Notice: Apt_key[F1D2D2F9]: Updating content: Replaced with content hash E242ED3B
Info: apt_key: of the type
Notice: Apt_key[F1D2D2F9]: Successfully updated
Notice: Apt_key[F1D2D2F9]: afterwards
Debug: Apt_key[B]: Started updating
Debug: Apt_key[C]: Started deleting
Info: Apt_key[B, C]: of both
Error: Apt_key[B]: Updating failed: Something went wrong`)
	b.wantStatus(t, "F1D2D2F9=updated", "B=failed")
	b.wantBroken(t, "")
}

// TestSpecText pins every other form.
func TestSpecText(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, strings.Split("abcdefghijklm", "")...)
	b.Warning("Unexpected state detected, continuing in degraded mode.")
	b.Debug("d", provider.Of("a"))
	b.Info("i", provider.Of("a", "b"))
	b.Notice("n", provider.Of())
	b.Err("only words", provider.Of("a"))
	b.Created("a")
	b.Updated("b", provider.Also("c"), provider.Message("Brought up to date"))
	b.Deleted("d")
	b.Unchanged("e")
	b.Failed("f", "bad")
	b.AttributeChanged("ensure", nil, "present", provider.Of("g"))
	b.AttributeChanged("flag", true, false, provider.Of("g"))
	b.Processed("g", provider.Record{"same": int64(1), "v": 1.5, "gone": "x"}, provider.Record{"same": int64(1), "v": int64(2), "l": []any{"x", nil}})
	b.Processed("h", nil, provider.Record{"ensure": "present"}, provider.Message("Done by the tool"))
	_ = b.Processing("i", provider.Record{"v": "1"}, provider.Record{"v": "2"}, func() error { return nil })
	_ = b.Deleting("j", func() error { b.Info("inner"); return errors.New("why") }, provider.Message("Sweeping"))
	_ = b.Creating("k", func() error { return nil }, provider.Message("Making"))
	_ = b.Failing("l", func() error { return nil })
	_ = b.Creating("m", func() error {
		b.AttributeChanged("text", "", strings.Repeat("x", 500))
		return nil
	})
	b.wantSpec(t, `
Warning: apt_key: Unexpected state detected, continuing in degraded mode.
Debug: Apt_key[a]: d
Info: Apt_key[a, b]: i
Notice: apt_key: n
Error: Apt_key[a]: only words
Notice: Apt_key[a]: Created
Notice: Apt_key[b, c]: Brought up to date
Notice: Apt_key[d]: Deleted
Error: Apt_key[f]: bad
Notice: Apt_key[g]: ensure: changed undef to 'present'
Notice: Apt_key[g]: flag: changed true to false
Notice: Apt_key[g]: l: changed undef to ['x', undef]
Notice: Apt_key[g]: v: changed 1.5 to 2
Notice: Apt_key[g]: Processed
Notice: Apt_key[h]: ensure: changed undef to 'present'
Notice: Apt_key[h]: Done by the tool
Debug: Apt_key[i]: Started processing
Notice: Apt_key[i]: Processing v: changed '1' to '2'
Notice: Apt_key[i]: Successfully processed
Debug: Apt_key[j]: Sweeping: Started deleting
Info: Apt_key[j]: Sweeping: inner
Error: Apt_key[j]: Sweeping failed: why
Debug: Apt_key[k]: Making: Started creating
Notice: Apt_key[k]: Making: Successfully created
Debug: Apt_key[l]: Started failing
Warning: Apt_key[l]: Failed
Debug: Apt_key[m]: Started creating
Notice: Apt_key[m]: Creating text: changed '' to '`+strings.Repeat("x", 199)+`... (502 bytes)
Notice: Apt_key[m]: Successfully created`)
	b.wantStatus(t, "a=created", "b=updated", "c=updated", "d=deleted", "e=unchanged", "f=failed", "g=processed",
		"i=processed", "j=failed", "k=created", "l=failed", "z=")
	b.wantBroken(t, "")
}

// TestRSAPIText pins the forms that the vectors do not have.
func TestRSAPIText(t *testing.T) {
	b := newLogBench(provider.LogOptions{Now: stepping(1500 * time.Millisecond)}, "a", "b", "c", "d", "e", "f")
	rec := provider.Record{"z": nil, "list": []any{int64(1), 2.0, true}, "hash": map[string]any{"k": "#{x}"}, "big": 1e20}
	b.Processed("a", nil, rec)
	_ = b.Processing("b", nil, provider.Record{}, func() error { return errors.New("why") })
	_ = b.Updating("c", func() error {
		b.Info("inner", provider.Of("c"))
		b.AttributeChanged("l", []any{"x"}, nil)
		b.Updated("c")
		b.Failed("d", "bad")
		return nil
	})
	_ = b.Updating("e", nil, provider.Also("f"))
	b.Updated("e")
	want := strings.TrimSpace(`
notice: apt_key: Processed a from {} to {:big=>1e+20, :hash=>{"k"=>"\#{x}"}, :list=>[1, 2.0, true], :z=>nil}
debug: apt_key[b]: Processing: Starting processing of b from {} to {}
err: apt_key[b]: Processing: Failed processing b after 1.50 seconds: why
debug: apt_key[c]: Updating: Start
info: apt_key[c]: inner
notice: apt_key[c]: Updating: c: attribute 'l' changed from '["x"]' to nil
notice: apt_key[c]: Updating: Updated: c
err: apt_key[d]: bad
notice: apt_key[c]: Updating: Finished in 1.50 seconds
debug: apt_key[e, f]: Updating: Start
notice: apt_key[e]: Updating: Finished in 1.50 seconds`)
	want = strings.Replace(want, "1e+20", "1.0e+20", 1)
	if got := b.text(provider.RSAPIText); got != want {
		t.Errorf("logged:\n%s\nwant:\n%s", got, want)
	}
}

// stepping is a clock that goes on by d at each look.
func stepping(d time.Duration) func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time { now = now.Add(d); return now }
}

// exits is a command that ends with this status and says nothing.
func exits(status int) func(context.Context, engine.Command) (*engine.Result, error) {
	return func(context.Context, engine.Command) (*engine.Result, error) {
		return &engine.Result{ExitCode: status}, nil
	}
}

// TestLogClock holds that durations are those of the clock: time.Now, here that of the
// bubble.
func TestLogClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLogBench(provider.LogOptions{}, "a")
		_ = b.Creating("a", func() error { time.Sleep(90 * time.Second); return nil })
		if d := b.events[len(b.events)-1].Duration; d != 90*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// TestLogRules breaks each rule. What breaks one is not logged.
func TestLogRules(t *testing.T) {
	nothing := func() error { return nil }
	for name, c := range map[string]struct {
		do     func(*logBench)
		broken string
		status string // of a
		events int
	}{
		"a foreign title of an action":    {func(b *logBench) { b.Created("x") }, `Created of "x": it is not among the changes of this Set`, "a=", 0},
		"a foreign title beside another":  {func(b *logBench) { b.Created("a", provider.Also("x")) }, `Created of "x": it is not`, "a=", 0},
		"a foreign title of a message":    {func(b *logBench) { b.Warning("w", provider.Of("x")) }, `Warning of "x": it is not`, "a=", 0},
		"a foreign title of an attribute": {func(b *logBench) { b.AttributeChanged("v", 1, 2, provider.Of("x")) }, `AttributeChanged of "x": it is not`, "a=", 0},
		"an attribute of nothing":         {func(b *logBench) { b.AttributeChanged("v", 1, 2) }, "outside of a context it needs Of", "a=", 0},
		"an attribute after the action": {func(b *logBench) {
			b.Updated("a")
			b.AttributeChanged("v", 1, 2, provider.Of("a"))
		}, `AttributeChanged of "a": it was called updated already`, "a=updated", 1},
		"a second status": {func(b *logBench) { b.Updated("a"); b.Deleted("a") }, `Deleted of "a": it was called updated already`, "a=updated", 1},
		"the same twice":  {func(b *logBench) { b.Updated("a"); b.Updated("a") }, `Updated of "a": it was called updated already`, "a=updated", 1},
		"failed after another one": {func(b *logBench) { b.Updated("a"); b.Failed("a", "no") },
			`Failed of "a": it was called updated already`, "a=failed", 1},
		"failed with a foreign one": {func(b *logBench) { b.Failed("a", "no", provider.Also("x")) }, `Failed of "x"`, "a=failed", 0},
		"a context after a message": {func(b *logBench) { b.Info("i", provider.Of("a")); _ = b.Updating("a", nothing) },
			`Updating of "a": a context must be opened before anything else`, "a=", 1},
		"a context after an attribute": {func(b *logBench) {
			b.AttributeChanged("v", 1, 2, provider.Of("a"))
			_ = b.Creating("a", nothing)
		}, `Creating of "a": a context must`, "a=", 1},
		"a context after an action": {func(b *logBench) { b.Unchanged("a"); _ = b.Deleting("a", nothing) },
			`Deleting of "a": it was called unchanged already`, "a=unchanged", 0},
		"a context within its own": {func(b *logBench) {
			_ = b.Updating("a", func() error { _ = b.Updating("a", nothing); return nil })
		}, `Updating of "a": a context must`, "a=updated", 2},
		"nothing wrong": {func(b *logBench) {
			_ = b.Updating("a", func() error { b.AttributeChanged("v", 1, 2); b.Info("i"); return nil })
			b.Info("after", provider.Of("a"))
		}, "", "a=updated", 5},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLogBench(provider.LogOptions{}, "a", "b")
			c.do(b)
			b.wantBroken(t, c.broken)
			b.wantStatus(t, c.status, "b=")
			if len(b.events) != c.events {
				t.Errorf("%d events, want %d:\n%s", len(b.events), c.events, b.spec())
			}
		})
	}
}

// TestRefusedContext holds that a context that breaks a rule calls nothing, and returns
// what it breaks.
func TestRefusedContext(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a")
	never := func() error { t.Error("it was called"); return nil }
	for _, open := range []func(string, func() error, ...provider.LogOption) error{b.Creating, b.Updating, b.Deleting, b.Failing} {
		if e, ok := errors.AsType[*provider.LogError](open("x", never)); !ok || e.Title != "x" || e.Type != "apt_key" {
			t.Errorf("%+v", e)
		}
	}
	if err := b.Processing("x", nil, nil, never); err == nil {
		t.Error("no error")
	}
}

// TestLogOutsideOfSet holds that there only plain messages are possible.
func TestLogOutsideOfSet(t *testing.T) {
	b := newLogBench(provider.LogOptions{})
	b.Warning("w")
	b.Info("i", provider.Of("any"))
	b.wantSpec(t, "Warning: apt_key: w\nInfo: Apt_key[any]: i")
	b.wantBroken(t, "")
	b.Created("a")
	b.AttributeChanged("v", 1, 2, provider.Of("a"))
	b.Failed("a", "no")
	if err := b.Updating("a", func() error { t.Error("it was called"); return nil }); err == nil {
		t.Error("no error of a context")
	}
	if n := strings.Count(b.Broken().Error(), "there are no changes here"); n != 4 {
		t.Errorf("%d calls are refused: %v", n, b.Broken())
	}
	if len(b.events) != 2 {
		t.Errorf("logged:\n%s", b.spec())
	}
}

// TestBrokenIsBounded holds that a provider that breaks rules without end fills nothing.
func TestBrokenIsBounded(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a")
	for range 1000 {
		b.Created("x")
	}
	if n := strings.Count(b.Broken().Error(), "\n"); n > 100 {
		t.Errorf("%d lines", n)
	}
}

// TestContextsNest holds that after the inner context the outer one goes on.
func TestContextsNest(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a", "b", "c")
	_ = b.Creating("a", func() error {
		b.Info("1")
		_ = b.Deleting("b", func() error { b.Info("2"); return nil })
		b.Info("3")
		b.AttributeChanged("v", "x", "y")
		b.AttributeChanged("v", "x", "y", provider.Of("c"))
		return nil
	})
	b.Info("4")
	b.Info("5", provider.Of("a"))
	b.wantSpec(t, `
Debug: Apt_key[a]: Started creating
Info: Apt_key[a]: Creating: 1
Debug: Apt_key[b]: Started deleting
Info: Apt_key[b]: Deleting: 2
Notice: Apt_key[b]: Successfully deleted
Info: Apt_key[a]: Creating: 3
Notice: Apt_key[a]: Creating v: changed 'x' to 'y'
Notice: Apt_key[c]: v: changed 'x' to 'y'
Notice: Apt_key[a]: Successfully created
Info: apt_key: 4
Info: Apt_key[a]: 5`)
}

// TestContextOfSeveral holds that what is said of one of its titles stands.
func TestContextOfSeveral(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a", "b", "c", "d")
	err := b.Updating("a", func() error {
		b.AttributeChanged("v", "1", "2", provider.Of("a", "c"))
		b.Unchanged("b")
		b.Failed("c", "no")
		return nil
	}, provider.Also("b", "c", "d"))
	if err != nil {
		t.Error(err)
	}
	b.wantSpec(t, `
Debug: Apt_key[a, b, c, d]: Started updating
Notice: Apt_key[a, c]: Updating v: changed '1' to '2'
Error: Apt_key[c]: no
Notice: Apt_key[a, d]: Successfully updated`)
	b.wantStatus(t, "a=updated", "b=unchanged", "c=failed", "d=updated")

	b = newLogBench(provider.LogOptions{}, "a", "b")
	_ = b.Updating("a", func() error { b.Updated("a"); return errors.New("late") }, provider.Also("b"))
	b.wantStatus(t, "a=updated", "b=failed")

	b = newLogBench(provider.LogOptions{}, "a")
	_ = b.Updating("a", func() error { b.Unchanged("a"); return nil })
	b.wantSpec(t, "Debug: Apt_key[a]: Started updating")
}

// TestFail holds that the context fails, also if the error is dropped.
func TestFail(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a", "b")
	if err := b.Updating("a", func() error { return b.Fail("stop") }); err == nil || err.Error() != "stop" {
		t.Errorf("returned %v", err)
	}
	if err := b.Updating("b", func() error { _ = b.Fail("first"); _ = b.Fail("second"); return nil }); err == nil || err.Error() != "first" {
		t.Errorf("returned %v", err)
	}
	if err := b.Fail("outside"); err == nil || err.Error() != "outside" {
		t.Errorf("outside of a context: %v", err)
	}
	b.wantStatus(t, "a=failed", "b=failed")
	b.wantBroken(t, "")
}

// TestPanicInContext holds that a panic is logged and goes on, and that the context has
// ended.
func TestPanicInContext(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a")
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = b.Updating("a", func() error { panic("boom") })
	}()
	b.Info("after")
	b.wantSpec(t, "Debug: Apt_key[a]: Started updating\nError: Apt_key[a]: Updating failed: panic: boom\nInfo: apt_key: after")
	b.wantStatus(t, "a=failed")
}

// TestGoexitInContext holds the same for a goroutine that ends itself.
func TestGoexitInContext(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Updating("a", func() error { runtime.Goexit(); return nil })
	}()
	<-done
	b.Info("after")
	b.wantSpec(t, "Debug: Apt_key[a]: Started updating\nError: Apt_key[a]: Updating failed: its goroutine was ended (runtime.Goexit)\nInfo: apt_key: after")
	b.wantStatus(t, "a=failed")
}

// TestForks holds that contexts of goroutines don't mix, whatever the order.
func TestForks(t *testing.T) {
	var titles []string
	for i := range 50 {
		titles = append(titles, fmt.Sprint("t", i))
	}
	b := newLogBench(provider.LogOptions{}, append([]string{"outer"}, titles...)...)
	_ = b.Processing("outer", nil, nil, func() error {
		var all sync.WaitGroup
		for _, title := range titles {
			rt := b.rt.Fork()
			all.Go(func() {
				rt.Log.Debug("before " + title)
				_ = rt.Log.Updating(title, func() error {
					rt.Log.Info("in " + title)
					return nil
				})
				rt.Log.Debug("after " + title)
			})
		}
		all.Wait()
		b.Info("in outer")
		return nil
	})
	seen := 0
	for _, e := range b.events {
		if said, ok := strings.CutPrefix(e.Message, "in "); ok {
			seen++
			if !reflect.DeepEqual(e.Titles, []string{said}) {
				t.Errorf("%q is about %v", e.Message, e.Titles)
			}
		} else if e.Message != "" && !reflect.DeepEqual(e.Titles, []string{"outer"}) {
			t.Errorf("%q is about %v", e.Message, e.Titles)
		}
	}
	if seen != 51 {
		t.Errorf("%d messages", seen)
	}
	b.wantBroken(t, "")
	b.wantStatus(t, "outer=processed", "t0=updated", "t49=updated")
}

// TestForkOutlivesItsContext holds that a fork whose context has ended is outside of all.
func TestForkOutlivesItsContext(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a")
	var fork *provider.Logger
	_ = b.Updating("a", func() error { fork = b.Fork(); return nil })
	fork.Info("late")
	if last := b.events[len(b.events)-1]; last.Context != nil || len(last.Titles) > 0 {
		t.Errorf("%+v", last)
	}
}

// TestOverlapWithoutForks holds that contexts that end in another order than they began
// leave none open.
func TestOverlapWithoutForks(t *testing.T) {
	b := newLogBench(provider.LogOptions{}, "a", "b")
	aIn, bIn, aOut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = b.Updating("a", func() error { close(aIn); <-bIn; return nil })
		close(aOut)
	})
	all.Go(func() {
		<-aIn
		_ = b.Updating("b", func() error { close(bIn); <-aOut; b.Info("still"); return nil })
	})
	all.Wait()
	b.Info("after")
	if text := b.spec(); !strings.Contains(text, "Apt_key[b]: Updating: still") || !strings.HasSuffix(text, "Info: apt_key: after") {
		t.Errorf("logged:\n%s", text)
	}
	b.wantStatus(t, "a=updated", "b=updated")
}

// TestLogNoop holds that what would be done is marked, and what is said is not.
func TestLogNoop(t *testing.T) {
	b := newLogBench(provider.LogOptions{Noop: true}, "a", "b")
	_ = b.Updating("a", func() error { b.Info("a word"); b.AttributeChanged("v", 1, 2); return nil })
	b.Created("b")
	b.wantSpec(t, `
Debug: Apt_key[a]: Started updating (noop)
Info: Apt_key[a]: Updating: a word
Notice: Apt_key[a]: Updating v: changed 1 to 2 (noop)
Notice: Apt_key[a]: Successfully updated (noop)
Notice: Apt_key[b]: Created (noop)`)
	if !strings.HasSuffix(b.text(provider.RSAPIText), "notice: apt_key: Created: b (noop)") {
		t.Error(b.text(provider.RSAPIText))
	}
	if slices.ContainsFunc(b.events, func(e provider.Event) bool { return !e.Noop }) {
		t.Error("an event says that it was done")
	}
}
