package scenario

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/policy"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// heard is a policy that notes which resources violate which of its rules.
type heard struct {
	*policy.Policy

	mu       sync.Mutex
	violated map[string][]string // resources, by rule
}

// Graph implements reactor.Policy.
func (h *heard) Graph(g *resgraph.Graph, skip func(int) bool) schema.Diagnostics {
	ds := h.Policy.Graph(g, skip)
	for _, d := range ds {
		h.note(d.Class, d.Resource)
	}
	return ds
}

// Change implements reactor.Policy.
func (h *heard) Change(p *reactor.Proposed) []reactor.Ruling {
	list := h.Policy.Change(p)
	for _, r := range list {
		h.note(r.Rule, p.ID)
	}
	return list
}

func (h *heard) note(rule, resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.violated == nil {
		h.violated = map[string][]string{}
	}
	if list := h.violated[rule]; !slices.Contains(list, resource) {
		h.violated[rule] = append(list, resource)
	}
}

// violates compares what has violated the policy with what the test expects.
func (r *run) violates() {
	n := r.test.node.Get("violates")
	if n == nil {
		return
	}
	if r.policy == nil {
		r.failf(n.Pos, "there is no policy: name its files by policy, next to graph")
		return
	}
	r.policy.mu.Lock()
	defer r.policy.mu.Unlock()
	rules := r.policy.Rules()
	for _, p := range n.Pairs {
		if !slices.Contains(rules, p.Key) {
			r.failf(p.Pos, "the policy has no rule %s; it has %s", p.Key, strings.Join(rules, ", "))
		}
	}
	for _, rule := range rules {
		want, have, pos := r.test.Violates[rule], r.policy.violated[rule], n.Pos
		if at := n.Get(rule); at != nil {
			pos = at.Pos
		}
		for _, id := range want {
			if !slices.Contains(have, id) {
				r.failf(pos, "%s does not violate the rule %s; those that do: %s", id, rule, cmp.Or(strings.Join(have, ", "), "none"))
			}
		}
		for _, id := range have {
			if !slices.Contains(want, id) {
				r.failf(pos, "%s violates the rule %s", id, rule)
			}
		}
	}
}

// onlyViolated reports whether the graph was refused as a test expects: by the policy alone.
func (r *run) onlyViolated(err error) bool {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	return ok && r.policy != nil && r.test.Violates != nil && !slices.ContainsFunc(ds, func(d schema.Diagnostic) bool {
		return d.Severity == schema.Error && !slices.Contains(r.policy.Rules(), d.Class)
	})
}
