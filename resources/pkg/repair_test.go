package pkg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// shared gives all packages of a bench what those of one graph have in common.
func (b *bench) shared() {
	lists := &lists{clock: clock.System{}}
	for _, r := range b.res {
		r.(*Res).Handle().Shared = lists
	}
}

// TestFindingB1InterruptedDatabaseIsRepairedFirst: what an earlier transaction has left half done is ended before anything
// else, also where all packages of the graph are right; a plan says so and repairs nothing.
func TestFindingB1InterruptedDatabaseIsRepairedFirst(t *testing.T) {
	b := newPkgBench(t, "git", "real")
	b.tool.lists = b.tool.repo
	b.put(t, "git", "1")
	b.tool.half = []string{"old"}
	told := `database: "interrupted: old" -> "repaired"`
	b.want(t, false, "git [] true", "real ["+told+` state: "uninstalled" -> "installed"] false`)
	b.wantCalls(t)
	b.want(t, true, "git [] true", "real ["+told+` state: "uninstalled" -> "installed"] false`)
	b.wantCalls(t, "repair", "install real")
	b.want(t, true, "git [] true", "real [] true")
	b.tool.half = []string{"real"}
	b.want(t, true, `git [database: "interrupted: real" -> "repaired"] false`, "real [] true")
	b.wantCalls(t, "repair")
	if err := os.Remove(filepath.Join(b.tool.dir, "real")); err != nil {
		t.Fatal(err)
	}
	b.tool.half = []string{"real"}
	b.want(t, true, "git [] true", `real [database: "interrupted: real" -> "repaired"] false`)
	b.wantCalls(t, "repair")
}

// TestFindingB1BrokenBeyondRepair: one package fails and says what to do, the others go on; the repair is tried again with a
// growing pause and not at each event; and when a person has mended it, all is well at once.
func TestFindingB1BrokenBeyondRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPkgBench(t, "git", "real")
		b.shared()
		b.tool.lists = b.tool.repo
		b.put(t, "git", "1")
		b.put(t, "real", "1")
		b.tool.half, b.tool.broken = []string{"old"}, "no postinst"
		bad := `git [database: "interrupted: old" -> "repaired"] false the package database of toy is interrupted (old), and the repair has failed: pkg.repair: toy: no postinst; repair it with the package manager, and mgmt goes on`
		repairs := 0
		for range 100 {
			b.want(t, true, bad, "real [] true")
			repairs += len(b.tool.calls)
			time.Sleep(time.Second)
		}
		if repairs != 3 { // after 15 and 30 seconds
			t.Errorf("it was tried to repair it %d times in 100 seconds", repairs)
		}
		alone := bench{tool: b.tool, res: b.res[1:], fakes: b.fakes[1:], host: b.host}
		alone.want(t, true, "real [] true")
		b.tool.half = nil
		b.want(t, true, "git [] true", "real [] true")
		b.wantCalls(t)
	})
}

// holding says that another program uses the package manager until a time.
func holding(until time.Time) func(string) *pkglock.Holder {
	return func(string) *pkglock.Holder {
		if time.Now().Before(until) {
			return &pkglock.Holder{Lock: pkglock.Lock{Path: "/var/lib/toy/lock", Advice: "end it"}, PID: 4711, Command: "unattended-upgr"}
		}
		return nil
	}
}

// check is one call on the members of a bench, with another program.
func (b *bench) check(ctx context.Context, t testing.TB, holder func(string) *pkglock.Holder) []engine.Outcome {
	t.Helper()
	r := b.res[0].(*Res)
	m, err := r.Open(ctx, "pkg", r.Backend())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	batch := newPkgBatch(m, b.res)
	batch.holder = holder
	if err := batch.checkApply(ctx, true); err != nil {
		return virtualkind.FailAll(len(b.res), err)
	}
	return batch.outcomes()
}

// TestFindingB1WhatAnotherProgramDoesIsNoDrift: while it works its packages are half done, which is neither an interrupted
// database nor a package to install.
func TestFindingB1WhatAnotherProgramDoesIsNoDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPkgBench(t, "git", "real")
		b.shared()
		b.put(t, "git", "1")
		b.tool.half = []string{"real"}
		start := time.Now()
		until := holding(start.Add(31 * time.Second))
		upgrades := func(backend string) *pkglock.Holder {
			h := until(backend)
			if h == nil { // it has upgraded real
				b.put(t, "real", "1")
				b.tool.half = nil
			}
			return h
		}
		for i, o := range b.check(t.Context(), t, upgrades) {
			if !o.OK || o.Err != nil || len(b.fakes[i].Changes()) > 0 {
				t.Errorf("%s: %+v, %v", b.res[i], o, b.fakes[i].Changes())
			}
		}
		if took := time.Since(start); took < 31*time.Second || took > 32*time.Second || len(b.tool.calls) > 0 {
			t.Errorf("after %s it has called %q", took, b.tool.calls)
		}
	})
}

// TestFindingB1LockHeldForAnHour: who is right is ok at once, who is not fails alone and says who holds it and what to do;
// the wait for it ends with the context.
func TestFindingB1LockHeldForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPkgBench(t, "git", "real")
		b.put(t, "git", "1")
		b.tool.lists = b.tool.repo
		start := time.Now()
		outs := b.check(t.Context(), t, holding(start.Add(time.Hour)))
		if !outs[0].OK || outs[1].OK || outs[1].Err == nil || len(b.tool.calls) > 0 {
			t.Errorf("%+v, %q", outs, b.tool.calls)
		}
		if text := outs[1].Err.Error(); !strings.Contains(text, "toy is locked by process 4711 (unattended-upgr), which holds /var/lib/toy/lock; if it hangs, end it") {
			t.Error(text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		outs = b.check(ctx, t, holding(start.Add(time.Hour)))
		if took := time.Since(start); took > 2*time.Second || !errors.Is(outs[1].Err, context.DeadlineExceeded) {
			t.Errorf("after %s: %+v", took, outs)
		}
		if outs = b.check(t.Context(), t, holding(time.Time{})); outs[1].Err != nil || !slices.Equal(b.tool.calls, []string{"install real"}) {
			t.Errorf("when it is free: %+v, %q", outs, b.tool.calls)
		}
	})
}

// TestFindingC9PkgNewest: what is the newest is told by lists that are fetched after the last change above the package.
func TestFindingC9PkgNewest(t *testing.T) {
	b := newPkgBench(t, "git=newest")
	b.shared()
	b.want(t, true, `git [state: "uninstalled" -> "2"] false`)
	b.tool.repo["git"] = []string{"1", "2", "3"}
	b.want(t, true, "git [] true")
	b.wantCalls(t)
	b.res[0].(*Res).Handle().Shared.(engine.Forgetter).Forget()
	b.want(t, true, `git [state: "2" -> "3"] false`)
	b.wantCalls(t, "refresh", "install git")
}

// TestFindingC9PkgRepair: a repair that has failed is tried again after a change above the package, and not first after its pause.
func TestFindingC9PkgRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPkgBench(t, "git")
		b.shared()
		b.put(t, "git", "1")
		b.tool.half, b.tool.broken = []string{"old"}, "no interpreter"
		b.run(t.Context(), true)
		b.wantCalls(t, "repair")
		b.tool.broken = ""
		b.run(t.Context(), true)
		b.wantCalls(t)
		b.res[0].(*Res).Handle().Shared.(engine.Forgetter).Forget()
		b.run(t.Context(), true)
		b.wantCalls(t, "repair")
	})
}

// TestFindingC9PkgByHand: what a command has installed or removed by hand is seen by the next look, though nothing has told of it.
func TestFindingC9PkgByHand(t *testing.T) {
	b := newPkgBench(t, "git", "old=uninstalled")
	b.shared()
	b.tool.lists = b.tool.repo
	b.want(t, true, `git [state: "uninstalled" -> "installed"] false`, "old [] true")
	if err := os.Remove(filepath.Join(b.tool.dir, "git")); err != nil {
		t.Fatal(err)
	}
	b.put(t, "old", "1")
	b.want(t, true, `git [state: "uninstalled" -> "installed"] false`, `old [state: "1" -> "uninstalled"] false`)
}

// hastyHost is a host on whose clock a minute passes with each look, and each wait is over soon.
type hastyHost struct{ *enginetest.FakeHost }

func (hastyHost) Clock() clock.Clock { return new(hasty) }

type hasty struct{ looks atomic.Int64 }

func (c *hasty) Now() time.Time { return time.Unix(60*c.looks.Add(1), 0) }

func (*hasty) AfterFunc(_ time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Millisecond, f).Stop
}

// TestFindingB1NoRepairWhileItIsUsed: what is half done while another program works is that program's: where all packages are
// right nothing waits for it, and where one is not, it fails in its time; nothing is repaired.
func TestFindingB1NoRepairWhileItIsUsed(t *testing.T) {
	for name, wrong := range map[string]bool{"all right": false, "one is missing": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newPkgBench(t, "git", "real")
				b.shared()
				b.tool.lists = b.tool.repo
				b.put(t, "git", "1")
				if !wrong {
					b.put(t, "real", "1")
				}
				b.tool.half = []string{"other"}
				outs := b.check(t.Context(), t, holding(time.Now().Add(time.Hour)))
				if !outs[0].OK || outs[0].Err != nil || outs[1].OK == wrong || (outs[1].Err != nil) != wrong || len(b.tool.calls) > 0 {
					t.Errorf("%+v after %q", outs, b.tool.calls)
				}
				b.check(t.Context(), t, holding(time.Time{}))
				if len(b.tool.calls) == 0 || b.tool.calls[0] != "repair" {
					t.Errorf("when it is free: %q", b.tool.calls)
				}
			})
		})
	}
}

// TestFindingB1LockIsFreeAfterAnHour: a package that has failed because another process holds the lock is looked at when the lock is free, however
// long its next retry is away.
func TestFindingB1LockIsFreeAfterAnHour(t *testing.T) {
	b := newPkgBench(t, "git")
	lists := &lists{clock: clock.System{}, locks: pkglock.Waits{Life: t.Context()}}
	defer lists.Close()
	r := b.res[0].(*Res)
	r.Handle().Shared = lists
	r.Handle().Running()
	locks, end := kindtest.LockedUntil(t)
	r.Handle().Host = hastyHost{b.host}
	m, err := r.Open(t.Context(), "pkg", r.Backend())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	batch := newPkgBatch(m, b.res)
	batch.holder = func(string) *pkglock.Holder { return pkglock.Held(locks) }
	if err := batch.checkApply(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if o := batch.outcomes()[0]; o.Err == nil || !strings.Contains(o.Err.Error(), "toy is locked by") {
		t.Fatalf("it does not fail for the lock: %+v", o)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	b.fakes[0].WaitEvent(t)
}
