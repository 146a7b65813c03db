package transform

import (
	"fmt"
	"math"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
)

// MetaRule says what one metaparameter means for a group.
type MetaRule struct {
	Key  string // of the metaparameter
	Rule string // one of the words below
	Why  string // for people

	alone func(*engine.MetaParams) bool         // Alone: it is set
	equal func(*engine.MetaParams) any          // Equal: the compared values
	merge func(into, member *engine.MetaParams) // Larger, Either and Union
}

// The meanings of a rule.
const (
	RuleAlone  = "alone"   // a resource that has it is not grouped
	RuleEqual  = "equal"   // members must have the same
	RuleLarger = "larger"  // the group has the largest of its members'
	RuleEither = "either"  // the group has it if one member has
	RuleUnion  = "union"   // the group has all that its members have
	RuleOwner  = "owner's" // the group has its owner's; it means nothing any more
)

// MetaRules returns the rule of each metaparameter, in the order of
// engine.MetaParams. Where no merge keeps the meaning for every member, the rule is
// RuleEqual or RuleAlone.
func MetaRules() []MetaRule { return slices.Clone(metaRules[:]) }

// metaKey is what members must have in common.
type metaKey [equalRules]any

const equalRules = 11

var metaRules = [...]MetaRule{
	{Key: "noop", Rule: RuleEqual, Why: "a group looks or alters as a whole",
		equal: func(m *engine.MetaParams) any {
			if m.Noop == nil {
				return nil
			}
			return *m.Noop
		}},
	{Key: "retry", Rule: RuleLarger, Why: "-1, for ever, is the largest, absent the next; to look again at a right resource costs nothing",
		merge: func(into, m *engine.MetaParams) {
			if tries(m.Retry) > tries(into.Retry) {
				into.Retry = m.Retry
			}
		}},
	{Key: "retryreset", Rule: RuleEither, Why: "it only gives more retries",
		merge: func(into, m *engine.MetaParams) { into.RetryReset = into.RetryReset || m.RetryReset }},
	{Key: "delay", Rule: RuleEqual, Why: "a group waits as a whole",
		equal: func(m *engine.MetaParams) any { return m.Delay }},
	{Key: "delaymax", Rule: RuleEqual, Why: "a group waits as a whole",
		equal: func(m *engine.MetaParams) any { return m.DelayMax }},
	{Key: "timeout", Rule: RuleAlone, Why: "the time for one look and repair would be used up by other members",
		alone: func(m *engine.MetaParams) bool { return m.Timeout != 0 }},
	{Key: "poll", Rule: RuleEqual, Why: "a group is watched or polled as a whole",
		equal: func(m *engine.MetaParams) any { return m.Poll }},
	{Key: "settle", Rule: RuleEqual, Why: "a group's events are those of all members",
		equal: func(m *engine.MetaParams) any { return m.Settle }},
	{Key: "limit", Rule: RuleEqual, Why: "a run of the group is one of each member",
		equal: func(m *engine.MetaParams) any { return m.Limit }},
	{Key: "burst", Rule: RuleEqual, Why: "a run of the group is one of each member",
		equal: func(m *engine.MetaParams) any { return m.Burst }},
	{Key: "reset", Rule: RuleEqual, Why: "the carried state is the group's",
		equal: func(m *engine.MetaParams) any { return m.Reset }},
	{Key: "sema", Rule: RuleUnion, Why: "a run of the group is one of each member, which holds its semaphores; none twice",
		merge: func(into, m *engine.MetaParams) { into.Sema = union(into.Sema, m.Sema) }},
	{Key: "rewatch", Rule: RuleEither, Why: "it only lets a group that has failed try again",
		merge: func(into, m *engine.MetaParams) { into.Rewatch = into.Rewatch || m.Rewatch }},
	{Key: "realize", Rule: RuleAlone, Why: "it is about one resource that leaves the graph",
		alone: func(m *engine.MetaParams) bool { return m.Realize }},
	{Key: "reverse", Rule: RuleAlone, Why: "it is about one resource that leaves the graph",
		alone: func(m *engine.MetaParams) bool { return m.Reverse }},
	{Key: "leaving", Rule: RuleAlone, Why: "it is about one resource that leaves the graph; keep is no reason",
		alone: func(m *engine.MetaParams) bool {
			return m.Leaving == engine.LeavingUndo || m.Leaving == engine.LeavingAsk
		}},
	{Key: "autoedge", Rule: RuleOwner, Why: "the automatic edges were made before"},
	{Key: "autogroup", Rule: RuleAlone, Why: "false says so",
		alone: func(m *engine.MetaParams) bool { return !m.AutoGroups() }},
	{Key: "drift", Rule: RuleEqual, Why: "a group is repaired or reported as a whole; with ask, a resource is not grouped, since a person decides on one resource",
		alone: func(m *engine.MetaParams) bool { return m.Drift == engine.DriftAsk },
		equal: func(m *engine.MetaParams) any {
			if m.Drift == "" {
				return engine.DriftFix
			}
			return m.Drift
		}},
	{Key: "backend", Rule: RuleEqual, Why: "one backend does the work of a group",
		equal: func(m *engine.MetaParams) any { return m.Backend }},
	{Key: "export", Rule: RuleAlone, Why: "it is published as one resource",
		alone: func(m *engine.MetaParams) bool { return len(m.Export) > 0 }},
	{Key: "exportfor", Rule: RuleAlone, Why: "it is published as one resource",
		alone: func(m *engine.MetaParams) bool { return m.ExportFor != 0 }},
	{Key: "labels", Rule: RuleOwner, Why: "each member keeps its own, and selects the group by them"},
	{Key: "-", Rule: RuleAlone, Why: "a part of its parameters could not be read, so that it never runs",
		alone: func(m *engine.MetaParams) bool { return m.Unread != "" }},
	{Key: "-", Rule: RuleEqual, Why: "a run of the group is one of each member, and needs the leases of all",
		equal: func(m *engine.MetaParams) any {
			if len(m.Proofs) == 0 {
				return "" // most have none
			}
			return fmt.Sprint(m.Proofs)
		}},
	{Key: "-", Rule: RuleOwner, Why: "each member keeps its own module, and selects the group by it"},
	{Key: "-", Rule: RuleAlone, Why: "it rests after its first success, and no other member does",
		alone: func(m *engine.MetaParams) bool { return m.Rests }},
	{Key: "secret", Rule: RuleAlone, Why: "it is about the parameters of one resource",
		alone: func(m *engine.MetaParams) bool { return len(m.Secret) > 0 }},
	{Key: "hidden", Rule: RuleAlone, Why: "it never runs",
		alone: func(m *engine.MetaParams) bool { return m.Hidden }},
	{Key: "dollar", Rule: RuleOwner, Why: "it is about the name, which was checked before"},
}

// String says why the metaparameter keeps a resource out of every group.
func (r *MetaRule) String() string { return "meta." + r.Key + ": " + r.Why }

// keepsAlone returns the rule that keeps a resource out of every group; nil for none.
func keepsAlone(m *engine.MetaParams) *MetaRule {
	for i := range metaRules {
		if r := &metaRules[i]; r.alone != nil && r.alone(m) {
			return r
		}
	}
	return nil
}

func metaKeyOf(m *engine.MetaParams) (k metaKey) {
	at := 0
	for i := range metaRules {
		if r := &metaRules[i]; r.equal != nil {
			k[at] = r.equal(m)
			at++
		}
	}
	return k
}

// mergeMeta returns the combined metaparameters of a group and of one more member.
// It alters neither.
func mergeMeta(group, member *engine.MetaParams) *engine.MetaParams {
	m := *group
	for i := range metaRules {
		if r := &metaRules[i]; r.merge != nil {
			r.merge(&m, member)
		}
	}
	return &m
}

// tries puts the values of retry in order.
func tries(retry int) int {
	switch retry {
	case engine.RetryForever:
		return math.MaxInt
	case engine.RetryDefault:
		return math.MaxInt - 1
	default:
		return retry // below 0 for never
	}
}

// union returns both lists as one, sorted, each entry once; a new one if there is
// anything in it.
func union(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
