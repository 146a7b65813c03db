package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// guarded is a graph of a text that others alter, with something below.
type guarded struct {
	t     *testing.T
	rg    *rig
	w     *stage
	text  text
	alter chan struct{} // its Watch says Event
	above chan struct{} // what is above it changes, and refreshes it
	look  func()        // when the text is looked at; nil for nothing
	file  []byte        // of declarations
}

// text is that of the machine, which runs and the test alter.
type text struct {
	mu sync.Mutex
	is string
}

func (x *text) get() string  { x.mu.Lock(); defer x.mu.Unlock(); return x.is }
func (x *text) set(s string) { x.mu.Lock(); defer x.mu.Unlock(); x.is = s }

func newGuarded(t *testing.T, o reactor.Options, drift engine.Drift) *guarded {
	g := &guarded{t: t, w: newWorld(), alter: make(chan struct{}), above: make(chan struct{})}
	g.start(o, drift)
	return g
}

// start starts an engine on the machine as it is.
func (g *guarded) start(o reactor.Options, drift engine.Drift) {
	o.Sweep, o.Declared = -1, declaredIn(g.t, &g.file)
	g.rg = newRig(g.t, o)
	g.declare("right", drift)
}

func (g *guarded) declare(want string, drift engine.Drift) {
	a := &fake{w: g.w, Want: want, watch: eventer(g.alter), check: func(_ context.Context, f *fake, apply bool) (bool, error) {
		if g.text.get() == f.Want {
			return true, nil
		}
		if g.look != nil {
			g.look()
		}
		c := engine.Change{Field: "want", From: g.text.get(), To: f.Want}
		switch {
		case g.text.get() == "":
			c = engine.Change{Verb: engine.Created}
		case f.Want == "gone":
			c = engine.Change{Verb: engine.Deleted}
		}
		f.init.Change(c)
		if apply {
			g.text.set(f.Want)
		}
		return false, nil
	}}
	a.SetMetaParams(&engine.MetaParams{Drift: drift})
	up := &fake{w: g.w, watch: eventer(g.above), check: func(context.Context, *fake, bool) (bool, error) { return g.w.count("up") < 2, nil }}
	g.rg.swap(newDecl(g.t).add("up", up).add("a", a).add("b", &fake{w: g.w}).edges("up!a", "a>b"))
	synctest.Wait()
}

// write is a stranger.
func (g *guarded) write(text string) {
	g.text.set(text)
	g.alter <- struct{}{}
	synctest.Wait()
}

// wants checks the text and what holds it: a limit, and with rejected or the change more.
func (g *guarded) wants(text, held string) reactor.Status {
	g.t.Helper()
	s, got := g.rg.state("a"), ""
	if s.Held != nil {
		got = s.Held.Limit
		if s.Held.Limit == reactor.LimitApproval {
			got = strings.ReplaceAll(fmt.Sprint(got, " ", s.Held.Changes), `"`, "")
		}
		if s.Held.Rejected {
			got += " " + s.Held.Reason
		}
	}
	if g.text.get() != text || got != held || (held == "") != (s.State == resgraph.StateOK) {
		g.t.Errorf("%q, %s by %q; want %q, by %q", g.text.get(), s.State, got, text, held)
	}
	return s
}

func (g *guarded) decide(yes bool, digest, reason string) error {
	err := g.rg.r.Decide(g.t.Context(), reactor.Decision{Approve: yes, By: "root", Reason: reason, Proposals: []reactor.Proposal{{Resource: "fake[a]", Digest: digest}}})
	synctest.Wait()
	return err
}

func (g *guarded) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// TestDriftAsks: what a stranger has altered stays until a person approves that change, and no other one. What the graph says anew is
// asked of nobody.
func TestDriftAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{}, engine.DriftAsk)
		defer func() { g.rg.close() }()
		g.wants("right", "")
		g.write("wrong")
		first := g.wants("wrong", "approval [want: wrong -> right]").Held.Digest
		if n := len(g.rg.runs("a")); n != 2 {
			t.Errorf("%d runs are told, want 2", n)
		}
		g.write("worse")
		second := g.wants("worse", "approval [want: worse -> right]").Held.Digest
		if err := g.decide(true, first, ""); !errors.As(err, new(*reactor.OtherChangeError)) {
			t.Error("the change of before: ", err)
		}
		g.wants("worse", "approval [want: worse -> right]")
		g.must(g.decide(true, second, ""))
		g.wants("right", "")
		g.write("worse") // each change is approved once
		g.wants("worse", "approval [want: worse -> right]")
		g.write("right") // by hand
		g.wants("right", "")
		if err := g.decide(true, second, ""); !errors.As(err, new(*reactor.NotAskedError)) {
			t.Error("nothing waits: ", err)
		}
		g.declare("another", engine.DriftAsk)
		g.wants("another", "")
	})
}

// TestDriftAsksBesideARefresh: what a stranger has altered is asked about also where something above has changed meanwhile.
func TestDriftAsksBesideARefresh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{}, engine.DriftAsk)
		defer g.rg.close()
		g.rg.pause(t, "a")
		g.write("wrong")
		g.above <- struct{}{}
		synctest.Wait()
		g.rg.resume(t, "a")
		g.wants("wrong", "approval [want: wrong -> right]")
		if run := g.rg.lastRun("a"); run.Class != reactor.Cascade {
			t.Errorf("its run is %s, and was to be a cascade, too", run.Class)
		}
	})
}

// TestDriftAsksAfterARestart: a restart repairs nothing that has to be asked about. What was rejected stays so.
func TestDriftAsksAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		g := newGuarded(t, reactor.Options{Store: store}, engine.DriftAsk)
		defer func() { g.rg.close() }()
		g.wants("right", "")
		restart := func() {
			g.rg.close()
			g.start(reactor.Options{Store: store}, engine.DriftAsk)
		}
		g.rg.close()
		g.text.set("wrong")
		g.start(reactor.Options{Store: store}, engine.DriftAsk)
		const held = "approval [want: wrong -> right]"
		digest := g.wants("wrong", held).Held.Digest
		restart()
		if got := g.wants("wrong", held).Held.Digest; got != digest {
			t.Errorf("the digest is %s after a restart, and was %s", got, digest)
		}
		g.must(g.decide(false, digest, "mine"))
		g.wants("wrong", held+" rejected by root: mine")
		g.write("wrong")
		g.wants("wrong", held+" rejected by root: mine")
		restart()
		g.wants("wrong", held+" rejected by root: mine")
		g.write("worse")
		g.wants("worse", "approval [want: worse -> right]")
		g.write("wrong")
		g.wants("wrong", held) // it was rejected for as long as it waited
		g.must(g.decide(false, digest, ""))
		g.must(g.decide(true, digest, ""))
		g.wants("right", "")
		restart()
		g.wants("right", "")
	})
}

// TestApprove: which changes wait for an approval, and that resume is none.
func TestApprove(t *testing.T) {
	for approve, want := range map[string]string{
		"changes": "created updated deleted", "removals": "deleted", "fake": "created updated deleted", "file": "", "removals,file": "deleted", "off": "",
	} {
		t.Run(approve, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, err := reactor.ParseApproval(approve)
				if err != nil {
					t.Fatal(err)
				}
				g := newGuarded(t, reactor.Options{Approve: a}, "")
				defer g.rg.close()
				var asked []string
				pass := func(what, text string) {
					if s := g.rg.state("a"); s.Held != nil {
						asked = append(asked, what)
						g.must(g.rg.r.Resume(t.Context(), ""))
						if err := g.rg.r.Resume(t.Context(), "fake[a]"); !errors.As(err, new(*reactor.UnapprovedError)) {
							t.Error("resume: ", err)
						}
						synctest.Wait()
						if g.text.get() == text {
							t.Error("resume has approved it")
						}
						g.must(g.decide(true, s.Held.Digest, ""))
					}
					g.wants(text, "")
				}
				pass("created", "right")
				g.declare("more", "")
				pass("updated", "more")
				g.declare("gone", "")
				pass("deleted", "gone")
				if got := strings.Join(asked, " "); got != want {
					t.Errorf("asked about %q, want %q", got, want)
				}
			})
		})
	}
}

// TestWindow: outside of the windows nothing is changed, but for what a person resumes.
// TestApprovalOfOtherDeclaration declares something else, of which the change says the same, as that of a command says only that it runs.
func TestApprovalOfOtherDeclaration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{Approve: reactor.Approval{Changes: true}}, "")
		defer g.rg.close()
		seen := g.rg.state("a").Held.Digest
		g.declare("other", "")
		if now := g.rg.state("a").Held.Digest; now == seen {
			t.Errorf("what was seen of the declaration before, %s, approves the new one", seen)
		}
	})
}

func TestWindow(t *testing.T) {
	bubble(t, func(t *testing.T) { // begins on Saturday 2000-01-01 00:00 UTC
		w, err := reactor.ParseWindows("mon-fri 08:00-17:00 UTC")
		if err != nil {
			t.Fatal(err)
		}
		g := newGuarded(t, reactor.Options{Windows: w, MaxChanges: reactor.Budget{Most: 100, Within: time.Hour}}, "")
		defer g.rg.close()
		if s := g.wants("", "window"); s.Held.For != 56*time.Hour {
			t.Errorf("it is held for %s, want 56h", s.Held.For)
		}
		g.must(g.rg.r.Resume(t.Context(), "fake[a]"))
		synctest.Wait()
		g.wants("right", "")
		g.write("wrong")
		g.wants("wrong", "window")
		time.Sleep(56*time.Hour - time.Nanosecond)
		synctest.Wait()
		g.wants("wrong", "window")
		time.Sleep(time.Minute)
		synctest.Wait()
		g.wants("right", "")
		time.Sleep(9 * time.Hour)
		g.write("wrong")
		g.wants("wrong", "window")
		g.must(g.rg.r.SetLimits(t.Context(), reactor.Limits{}))
		synctest.Wait()
		g.wants("right", "")
	})
}

// TestApprovalDuringALook: an approval that comes while the resource is looked at again counts.
func TestApprovalDuringALook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{}, engine.DriftAsk)
		defer g.rg.close()
		g.write("wrong")
		digest := g.wants("wrong", "approval [want: wrong -> right]").Held.Digest
		g.look = func() {
			g.look = nil
			g.must(g.rg.r.Decide(t.Context(), reactor.Decision{Approve: true, Proposals: []reactor.Proposal{{Resource: "fake[a]", Digest: digest}}}))
		}
		g.write("wrong")
		g.wants("right", "")
	})
}

// TestLongChangeWaits: of a long text that waits a part is kept, and the digest is that of the whole.
func TestLongChangeWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{}, engine.DriftAsk)
		defer g.rg.close()
		var before string
		for _, end := range []string{"a", "b"} {
			g.write(strings.Repeat("x", 1<<20) + end)
			h := g.rg.state("a").Held
			if from := fmt.Sprint(h.Changes[0].From); len(from) > 17<<10 || !strings.HasSuffix(from, "... (1048577 bytes)") || h.Digest == before {
				t.Errorf("%d bytes are kept, with the digest %s", len(from), h.Digest)
			}
			before = h.Digest
		}
	})
}

// TestParseWindow: each window is read as it is written, and is open when it says so.
func TestParseWindow(t *testing.T) {
	const layout = "Mon 2006-01-02 15:04 -0700"
	for _, c := range []struct{ text, at, left string }{
		{"mon-fri 08:00-17:00 UTC", "Mon 2026-11-30 08:00 +0000", ""},
		{"mon-fri 08:00-17:00 UTC", "Mon 2026-11-30 07:59 +0000", "1m0s"},
		{"mon-fri 08:00-17:00 UTC", "Fri 2026-12-04 17:00 +0000", "63h0m0s"},
		{"sat,sun 00:00-24:00 UTC", "Sun 2026-12-06 23:59 +0000", ""},
		{"22:00-04:00 UTC", "Tue 2026-12-01 03:59 +0000", ""},
		{"22:00-04:00 UTC", "Tue 2026-12-01 04:00 +0000", "18h0m0s"},
		{"fri 22:00-04:00 UTC", "Sat 2026-12-05 03:00 +0000", ""},
		{"fri-mon 22:00-04:00 UTC", "Wed 2026-12-02 03:00 +0000", "67h0m0s"},
		{"00:00-00:00 UTC", "Tue 2026-12-01 00:00 +0000", ""},
		{"08:00-09:00 Europe/Berlin", "Sat 2026-03-28 08:30 +0000", "21h30m0s"}, // the night in which the hour is missing
		{"02:30-03:30 Europe/Berlin", "Sun 2026-03-29 01:15 +0000", ""},         // the window begins in it
	} {
		w, err := reactor.ParseWindows(c.text)
		at, terr := time.Parse(layout, c.at)
		if err := errors.Join(err, terr); err != nil {
			t.Fatal(err)
		}
		left, shut := w.Shut(at)
		got := ""
		if shut {
			got = left.String()
		}
		if got != c.left || w.String() != c.text {
			t.Errorf("%s at %s: %q, want %q", w, c.at, got, c.left)
		}
	}
	for text, want := range map[string]string{
		" ": "is no window", "mon": "is no window", "mon 08:00-09:00 UTC;": "is no window", "mon 8-9": "no time of day", "mon 08:00": "has no end", "monday 08:00-09:00": "names no days",
		"08:00-25:00": "no time of day", "24:00-25:00": "no time of day", "24:00-04:00": "at the end of a day", "08:00-09:00 Europe/Atlantis": "is no place", "mon 08:00-09:00 UTC more": "is no window",
	} {
		if _, err := reactor.ParseWindows(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
