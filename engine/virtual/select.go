package virtual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// System is what a choice between backends goes by.
type System = engine.Machine

// Selection is a choice that was made.
type Selection struct {
	Backend   *Backend
	Ambiguous []string  // backends of the same priority that could have been chosen too, sorted
	Refused   []Refusal // and why the others were not, sorted by name
}

// Select chooses one of the backends of a module. want is the name of the wanted
// backend, or empty. It may be a backend for other facts, but its programs must be
// there. Else it is the backend that suits the system and has the highest priority;
// among equals the first by name. The error is a *NoBackendError.
func Select(module string, backends []*Backend, s System, want string) (*Selection, error) {
	var fit []*Backend
	sel := &Selection{}
	for _, b := range backends {
		if b.Module != module {
			continue
		}
		if reason := b.refuse(s, want); reason != "" {
			sel.Refused = append(sel.Refused, Refusal{b.Name, reason})
			continue
		}
		fit = append(fit, b)
	}
	sorted.Func(sel.Refused, func(a, b Refusal) int { return cmp.Compare(a.Backend, b.Backend) })
	if len(fit) == 0 {
		return nil, noBackend(module, want, sel.Refused)
	}
	slices.SortFunc(fit, func(a, b *Backend) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	sel.Backend = fit[0]
	for _, b := range fit[1:] {
		if b.Priority == fit[0].Priority {
			sel.Ambiguous = append(sel.Ambiguous, b.Name)
		}
	}
	return sel, nil
}

// noBackend is the error; with a wanted backend only its own fault counts.
func noBackend(module, want string, refused []Refusal) error {
	if want == "" {
		return &NoBackendError{Module: module, Refused: refused}
	}
	i := slices.IndexFunc(refused, func(r Refusal) bool { return r.Backend == want })
	if i < 0 {
		var names []string
		for _, r := range refused {
			names = append(names, r.Backend)
		}
		reason := "there is no such backend"
		if len(names) > 0 {
			reason += ", only " + strings.Join(names, ", ")
		}
		return &NoBackendError{module, []Refusal{{want, reason}}}
	}
	return &NoBackendError{module, refused[i : i+1]}
}

// refuse returns why the backend cannot be chosen, or nothing.
func (b *Backend) refuse(s System, want string) string {
	switch {
	case want != "" && want != b.Name:
		return want + " was asked for"
	case want == "" && len(b.When) > 0 && !b.When.Holds(s.Facts):
		return "it is for machines where " + b.When.String() + b.When.here(s.Facts)
	case want == "" && b.Unless.Holds(s.Facts):
		return "it is not for machines where " + b.Unless.String() + b.Unless.here(s.Facts)
	}
	for _, need := range b.Needs {
		if !slices.ContainsFunc(strings.Split(need, "|"), s.HasProgram) {
			return "there is no program " + strings.ReplaceAll(need, "|", " or ")
		}
	}
	return ""
}

// here says what the facts of the rule are on this machine.
func (m Match) here(facts Facts) string {
	var parts []string
	for key := range m {
		if have, ok := facts[key]; ok {
			parts = append(parts, fmt.Sprintf("%s is %v", key, have))
		} else {
			parts = append(parts, key+" is not known")
		}
	}
	slices.Sort(parts)
	return " (here " + strings.Join(parts, ", ") + ")"
}
