package reactor

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Policy judges graphs and changes by rules. Package engine/policy reads one from files.
type Policy interface {
	// Graph returns what the rules about resources say of a graph that is to take effect. An error among the findings refuses the graph.
	// It does not look at vertices without a value, nor at those for which skip, which may be nil, is true.
	Graph(g *resgraph.Graph, skip func(i int) bool) schema.Diagnostics
	// Change returns the rules that match a change that is about to be made. Runs call it, on any goroutine.
	Change(p *Proposed) []Ruling
}

// Proposed is what a Policy may know of a resource and of what would be changed.
type Proposed struct {
	ID      string
	Res     engine.Res
	Secret  func(key string, value any) bool // a parameter that no rule may read
	Changes []engine.Change                  // without secrets
	Now     time.Time
	Past    func() Past // nil where nothing is known
}

// Past is what is known of earlier runs of a resource.
type Past struct {
	Changed, Failed   time.Time // the last time; zero for never
	Changes, Failures int       // in the last 24 hours
}

// Effect is what a rule of a Policy does.
type Effect string

// The effects of rules.
const (
	EffectWarn Effect = "warn"
	EffectAsk  Effect = "ask" // a person has to approve the change
	EffectDeny Effect = "deny"
)

// Ruling is a rule that matches a change.
type Ruling struct {
	Rule      string     `json:"rule"`
	Pos       schema.Pos `json:"-"` // of the rule
	Effect    Effect     `json:"effect"`
	Message   string     `json:"message"`
	Approvals int        `json:"approvals,omitempty"` // with EffectAsk: how many persons have to approve it; 0 for one
}

func (r Ruling) String() string { return fmt.Sprintf("%s (rule %s, %s)", r.Message, r.Rule, r.Pos) }

// DeniedError is the error of a change that a Policy denies. Nothing was changed.
type DeniedError struct{ Rulings []Ruling }

func (e *DeniedError) Error() string {
	return "the policy denies it: " + join(e.Rulings, "; ")
}

func join(list []Ruling, between string) string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = r.String()
	}
	return strings.Join(texts, between)
}

// By parts rulings by their effect.
func By(list []Ruling) (deny, ask, warn []Ruling) {
	for _, r := range list {
		switch r.Effect {
		case EffectDeny:
			deny = append(deny, r)
		case EffectAsk:
			ask = append(ask, r)
		default:
			warn = append(warn, r)
		}
	}
	return deny, ask, warn
}

// Denied returns the error of rulings that deny a change; nil where none does. No other try alters it.
func Denied(list []Ruling) error {
	if deny, _, _ := By(list); len(deny) > 0 {
		return failure.Permanent(&DeniedError{deny})
	}
	return nil
}

// Persons returns how many have to approve a change, and why; 0 for none.
func Persons(list []Ruling) (persons int, why []string) {
	_, ask, _ := By(list)
	for _, r := range ask {
		persons = max(persons, cmp.Or(r.Approvals, 1))
		why = append(why, r.String())
	}
	return persons, why
}

// judge asks the policy about a change of v, and of the members that it runs.
func (x *runner) judge(p Policy, v *vertex, cs []engine.Change) []Ruling {
	if p == nil {
		return nil
	}
	q := Proposed{ID: v.ID, Res: v.Res, Changes: v.clean(cs), Now: x.opt.Wall(), Secret: v.isSecret}
	if past := x.opt.Past; past != nil {
		q.Past = func() Past { return past(q.ID) }
	}
	list := p.Change(&q)
	for _, m := range v.membership.members { // each rule counts for the one that it names
		q.ID, q.Res = m.Res.String(), m.Res
		list = append(list, p.Change(&q)...)
	}
	return list
}

// isSecret reports whether a parameter, with its value, may not be shown.
func (v *vertex) isSecret(key string, value any) bool {
	if w := v.wired(); w.HasSecret() && w.IsSecret(key) {
		return true
	}
	return v.Holds(value)
}

// warned tells of the rules that warn of a change which is made now.
func (x *runner) warned(v *vertex, list []Ruling) {
	_, _, warn := By(list)
	for _, r := range warn {
		x.log.Warn("the policy warns of a change", slog.String("resource", v.ID), slog.String("rule", r.Rule), slog.String("message", r.Message))
	}
}

// Policy returns the policy that counts; nil for none. Callable from any goroutine.
func (r *Reactor) Policy() Policy { return r.guards.Load().policy }
