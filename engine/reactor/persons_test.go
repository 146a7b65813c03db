package reactor_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// policyOf rules by a function.
type policyOf struct {
	change func(p *reactor.Proposed) []reactor.Ruling
}

func (p *policyOf) Graph(*resgraph.Graph, func(int) bool) schema.Diagnostics { return nil }
func (p *policyOf) Change(q *reactor.Proposed) []reactor.Ruling              { return p.change(q) }

// twoPersons asks for two persons, or as many, for each change of a.
func twoPersons(n int) *policyOf {
	return &policyOf{func(p *reactor.Proposed) []reactor.Ruling {
		if p.ID != "fake[a]" {
			return nil
		}
		return []reactor.Ruling{{Rule: "two", Effect: reactor.EffectAsk, Approvals: n, Message: "look at it"}}
	}}
}

func (g *guarded) approveBy(by, digest string) error {
	err := g.rg.r.Decide(g.t.Context(), reactor.Decision{Approve: true, By: by, Proposals: []reactor.Proposal{{Resource: "fake[a]", Digest: digest}}})
	synctest.Wait()
	return err
}

// TestTwoPersons: where a policy asks for two, two different persons approve a change, and who has had it declared is none of them. sudo
// makes no other person. What one has approved is known after a restart, and counts once.
func TestTwoPersons(t *testing.T) {
	bubble(t, func(t *testing.T) {
		store := &memStore{}
		o := reactor.Options{Policy: twoPersons(2), Store: store, Author: func() string { return "ann (uid 1000), on web1" }}
		g := newGuarded(t, o, "")
		digest := g.waits("2 persons have to approve it")
		for by, want := range map[string]string{
			"": "who you are", "ann (uid 1000), on web1": "you have had it declared", "root (uid 0), login ann (uid 1000), on web2": "you have had it declared", "ann@laptop": "you have had it declared",
		} {
			if err := g.approveBy(by, digest); !errors.As(err, new(*reactor.PersonError)) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", by, err)
			}
		}
		g.must(g.approveBy("bob (uid 1001), on web1", digest))
		g.waits("1 of 2 persons have approved it: bob (uid 1001), on web1")
		if err := g.approveBy("root (uid 0), login bob (uid 1001)", digest); err == nil || !strings.Contains(err.Error(), "you have approved it") {
			t.Error(err)
		}
		g.rg.close()
		o.Author = nil // the next process reads a file
		g.start(o, "")
		if again := g.waits("1 of 2 persons have approved it: bob"); again != digest {
			t.Errorf("%s, before %s", again, digest)
		}
		if err := g.approveBy("ann (uid 1000)", digest); err == nil || !strings.Contains(err.Error(), "you have had it declared") {
			t.Error("after a restart:", err)
		}
		g.must(g.approveBy("eve (uid 1002)", digest))
		g.wants("right", "")
		g.write("") // the same change once more
		g.waits("2 persons have to approve it")
		g.rg.close()
	})
}

// waits checks that the change waits for a reason, and returns its digest.
func (g *guarded) waits(reason string) string {
	g.t.Helper()
	s := g.rg.state("a")
	if s.Held == nil || s.Held.Limit != reactor.LimitApproval || !strings.Contains(s.Held.Reason, reason) || !strings.Contains(s.Held.Reason, "look at it (rule two") {
		g.t.Fatalf("%+v is not held by %q", s.Held, reason)
	}
	return s.Held.Digest
}

// TestApprovalExpires: an approval that was not used is over after a time, that of one of two persons too. The approval and its end are at
// one moment: the change is not made.
func TestApprovalExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{Policy: twoPersons(2), ApproveExpiry: time.Hour}, "")
		digest := g.waits("2 persons")
		g.must(g.approveBy("bob (uid 1)", digest))
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		g.waits("1 of 2 persons")
		time.Sleep(time.Second)
		g.must(g.approveBy("eve (uid 2)", digest)) // alone again
		if got := g.waits("1 of 2 persons have approved it: eve"); got != digest {
			t.Error(got)
		}
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		g.waits("2 persons have to")
		if g.text.get() != "" {
			t.Errorf("%q", g.text.get())
		}
		g.rg.close()
	})
	bubble(t, func(t *testing.T) {
		g := newGuarded(t, reactor.Options{Approve: reactor.Approval{Changes: true}, ApproveExpiry: time.Hour}, "")
		s := g.rg.state("a")
		g.must(g.rg.r.Pause(t.Context(), reactor.Pause{Resource: "fake[a]"}))
		g.must(g.approveBy("bob", s.Held.Digest))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		g.must(g.rg.r.Resume(t.Context(), "fake[a]"))
		synctest.Wait()
		if s := g.rg.state("a"); s.Held == nil || s.Held.Limit != reactor.LimitApproval || g.text.get() != "" {
			t.Errorf("%q, %+v", g.text.get(), s)
		}
		g.rg.close()
	})
}

// TestDenies: what a policy denies fails, and stays so until another policy counts.
func TestDenies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		deny := &policyOf{func(p *reactor.Proposed) []reactor.Ruling {
			if len(p.Changes) == 1 && p.Changes[0].Verb == engine.Created && p.ID == "fake[a]" {
				return []reactor.Ruling{{Rule: "no", Effect: reactor.EffectDeny, Message: "never"}, {Effect: reactor.EffectAsk}}
			}
			return nil
		}}
		g := newGuarded(t, reactor.Options{Policy: deny}, "")
		time.Sleep(time.Hour)
		synctest.Wait()
		s := g.rg.state("a")
		if s.State != resgraph.StateFailed || !errors.As(s.Err, new(*reactor.DeniedError)) || !strings.Contains(s.Err.Error(), "never (rule no") || s.RetryIn != 0 || g.text.get() != "" {
			t.Errorf("%+v", s)
		}
		g.must(g.rg.r.SetLimits(t.Context(), reactor.Limits{}))
		synctest.Wait()
		g.wants("right", "")
		g.rg.close()
	})
}
