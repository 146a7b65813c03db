package policy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/gapi"
)

// mostUndecided is about how many resources of a graph a rule is asked that can't be decided: the author sees it by the first ones.
const mostUndecided = 20

// never is the time since something that has not happened.
const never = int64(math.MaxInt64)

// Graph implements reactor.Policy. What is to be approved is a note: it refuses nothing.
func (p *Policy) Graph(g *resgraph.Graph, skip func(i int) bool) schema.Diagnostics {
	var found schema.Findings
	undecided := map[*rule]int{}
	for i, v := range g.All() {
		if v == nil || skip != nil && skip(i) || engine.MetaOf(v.Res).Hidden {
			continue
		}
		q := &reactor.Proposed{ID: g.ID(i), Res: v.Res, Secret: func(key string, _ any) bool { return slices.Contains(v.Special().Secret, key) }}
		names := named(q)
		for _, r := range p.rules {
			if r.dynamic || undecided[r] >= mostUndecided {
				continue
			}
			if ruling, yes, err := r.judge(names); yes {
				if expr.IsTooCostly(err) {
					undecided[r] = mostUndecided
				} else if err != nil {
					undecided[r]++
				}
				found.Add(finding(v, q.ID, &ruling))
			}
		}
	}
	return found.All()
}

// finding is a rule that a resource violates.
func finding(v *resgraph.Vertex, id string, r *reactor.Ruling) schema.Diagnostic {
	d := schema.Diagnostic{Pos: v.Pos, Resource: id, Class: r.Rule, Message: id + ": " + r.Message, Related: []schema.Related{{Pos: r.Pos, Message: "by the rule " + r.Rule}}}
	switch r.Effect {
	case reactor.EffectWarn:
		d.Severity = schema.Warning
	case reactor.EffectAsk:
		d.Severity, d.Message = schema.Note, id+": a change of it has to be approved: "+r.Message
	}
	return d
}

// Change implements reactor.Policy.
func (p *Policy) Change(q *reactor.Proposed) (list []reactor.Ruling) {
	names := named(q)
	names[nameChanges] = once(func() any { return changesOf(q) })
	names[nameHistory] = once(func() any { return historyOf(q) })
	for _, r := range p.rules {
		if ruling, yes, _ := r.judge(names); yes {
			list = append(list, ruling)
		}
	}
	return list
}

// judge reports whether the rule matches. err says that it could not be decided.
func (r *rule) judge(names map[string]any) (ruling reactor.Ruling, yes bool, err error) {
	ruling = reactor.Ruling{Rule: r.Name, Pos: r.pos, Effect: r.Effect, Message: r.Message, Approvals: r.Approvals}
	v, err := r.program.Eval(names)
	if err == nil {
		var ok bool
		if yes, ok = v.(bool); ok {
			return ruling, yes, nil
		}
		err = errors.New("it is neither true nor false")
	}
	ruling.Message += "; the rule can't be decided, which counts as a match: " + err.Error()
	return ruling, true, err
}

// named returns the names of an expression about a resource. Those that cost something are functions, which the library calls when they are read.
func named(q *reactor.Proposed) map[string]any {
	item := selection.Named(q.ID)
	labels := map[string]any{}
	module := ""
	if m := engine.MetaOf(q.Res); m != nil {
		module = m.Module
		for key, value := range m.Labels {
			labels[key] = value
		}
	}
	return map[string]any{
		"kind": item.Kind, "name": item.Name, "resource": q.ID, "module": module, "labels": labels, "params": once(func() any { return paramsOf(q) }),
	}
}

// once returns a function that computes a value when a rule reads it, for all rules.
func once(f func() any) func() any { return sync.OnceValue(f) }

// paramsOf returns the parameters of a resource without its secrets.
func paramsOf(q *reactor.Proposed) (params map[string]any) {
	defer func() {
		if params == nil {
			params = map[string]any{}
		}
	}()
	var encoded any
	err := callsafe.Do("encoding it", func() (err error) { encoded, err = schema.EncodeAll(q.Res); return err })
	if params, _ = encoded.(map[string]any); err != nil {
		return nil // each rule that reads one matches
	}
	if t, err := schema.TypeOf(q.Res); err == nil {
		for _, f := range t.Fields { // an optional one that is not set is null
			if _, set := params[f.Key]; !set {
				params[f.Key] = nil
			}
		}
	}
	for key, v := range params {
		if q.Secret != nil && q.Secret(key, v) {
			delete(params, key)
		} else if v, ok := plain(v); ok {
			params[key] = v
		} else {
			delete(params, key)
		}
	}
	return params
}

// plain returns a value in the types of an expression: what has a notation is a text, and a size a number. It is false for a secret.
func plain(v any) (any, bool) {
	if size, ok := v.(schema.Size); ok {
		return int64(size), true
	}
	if text, ok := v.(string); ok {
		return text, !strings.Contains(text, schema.Redacted)
	}
	if secrets.Holds(v) {
		return nil, false
	}
	if text, ok := gapi.NotationText(v); ok {
		return text, true
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var ok bool
			if out[i], ok = plain(v[i]); !ok {
				return nil, false
			}
		}
		return out, true
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			var ok bool
			if out[key], ok = plain(x); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return v, true
}

// changesOf returns what would be changed. A value that is a secret is not there.
func changesOf(q *reactor.Proposed) []any {
	out := make([]any, 0, len(q.Changes))
	for _, c := range q.Changes {
		m := map[string]any{"action": action(c.Verb), "field": c.Field}
		for key, v := range map[string]any{"from": c.From, "to": c.To} {
			if v, ok := plain(v); ok && v != any(engine.Unknown) {
				m[key] = v
			}
		}
		out = append(out, m)
	}
	return out
}

// action names what a change does.
func action(v engine.Verb) string {
	if v == engine.Updated {
		return "updated"
	}
	return string(v)
}

// historyOf returns what is known of earlier runs.
func historyOf(q *reactor.Proposed) map[string]any {
	var past reactor.Past
	if q.Past != nil {
		past = q.Past()
	}
	ago := func(t time.Time) int64 {
		if t.IsZero() {
			return never
		}
		return max(0, int64(q.Now.Sub(t)/time.Second))
	}
	return map[string]any{
		"changed_ago": ago(past.Changed), "failed_ago": ago(past.Failed), "changes": int64(past.Changes), "failures": int64(past.Failures),
	}
}

// Violated returns, of findings of Graph, the resources by the rules that they match.
func Violated(ds schema.Diagnostics, rules []string) map[string][]string {
	out := map[string][]string{}
	for _, d := range ds {
		if slices.Contains(rules, d.Class) && d.Resource != "" {
			out[d.Class] = append(out[d.Class], d.Resource)
		}
	}
	return out
}
