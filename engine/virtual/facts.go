package virtual

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Facts are what is known of a machine: text, numbers, true or false, or a list of
// them, by name, as engine.Facts.Map gives them.
type Facts map[string]any

// Match is a rule on facts: it holds if any of its facts has any of the listed
// values. A fact with several values has each of them. An empty rule never holds.
type Match map[string][]any

// Holds reports whether the rule holds. Values are compared exactly; numbers by
// their value.
func (m Match) Holds(facts Facts) bool {
	for key, values := range m {
		for _, have := range several(facts[key]) {
			if slices.ContainsFunc(values, func(v any) bool { return same(have, v) }) {
				return true
			}
		}
	}
	return false
}

// String writes the rule as people say it: os is Debian or Ubuntu, or init is openrc.
func (m Match) String() string {
	parts := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values := make([]string, len(m[key]))
		for i, v := range m[key] {
			values[i] = fmt.Sprint(v)
		}
		parts = append(parts, key+" is "+strings.Join(values, " or "))
	}
	return strings.Join(parts, ", or ")
}

// several returns the values of a fact.
func several(fact any) []any {
	switch fact := fact.(type) {
	case nil:
		return nil
	case []any:
		return fact
	case []string:
		all := make([]any, len(fact))
		for i, v := range fact {
			all[i] = v
		}
		return all
	default:
		return []any{fact}
	}
}

// same compares two values exactly. Whole numbers are compared as such, since a float64 does not hold all of them.
func same(a, b any) bool {
	x, isX := number(a)
	y, isY := number(b)
	if !isX && !isY {
		return schema.Equal(a, b)
	}
	n, nWhole := wholeNumber(a)
	m, mWhole := wholeNumber(b)
	if nWhole && mWhole {
		return n == m
	}
	return isX && isY && x == y
}

// whole is a whole number: its bits, and whether it is below zero.
type whole struct {
	bits  uint64
	minus bool
}

func wholeNumber(v any) (whole, bool) {
	switch v := v.(type) {
	case int:
		return whole{uint64(v), v < 0}, true
	case int64:
		return whole{uint64(v), v < 0}, true
	case uint64:
		return whole{v, false}, true
	}
	return whole{}, false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Finding is what is probably wrong in a rule on facts.
type Finding struct {
	Where  string // function f: supported
	Detail string
	Key    string // of the description: supported, not_applicable, when or unless
}

// String returns both.
func (f Finding) String() string { return f.Where + ": " + f.Detail }

// Lint says which rules of the interface hold for no fact that there is, or would hold but
// for case or type: such a rule is rarely meant. facts are those of the
// machine; their names are the known ones.
func (i *Interface) Lint(facts Facts) []Finding {
	var all []Finding
	for _, f := range i.Functions {
		all = append(all, f.NotApplicable.lint("function "+f.Name+": not_applicable", facts)...)
		all = append(all, f.Supported.lint("function "+f.Name+": supported", facts)...)
	}
	return all
}

// Lint is Interface.Lint for the rules of a backend.
func (b *Backend) Lint(facts Facts) []Finding {
	return append(b.When.lint("backend "+b.Name+": when", facts), b.Unless.lint("backend "+b.Name+": unless", facts)...)
}

func (m Match) lint(where string, facts Facts) (all []Finding) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		have, known := facts[key]
		if !known {
			detail := fmt.Sprintf("there is no fact %q", key)
			if near := schema.Nearest(key, slices.Sorted(maps.Keys(facts))); near != "" {
				detail += fmt.Sprintf(" (did you mean %q?)", near)
			}
			all = append(all, Finding{where, detail, where[strings.LastIndexByte(where, ' ')+1:]})
			continue
		}
		for _, h := range several(have) {
			for _, v := range m[key] {
				if !same(h, v) && strings.EqualFold(fmt.Sprint(h), fmt.Sprint(v)) {
					all = append(all, Finding{where, fmt.Sprintf("%s is %#v here and not %#v: values are compared exactly", key, h, v), where[strings.LastIndexByte(where, ' ')+1:]})
				}
			}
		}
	}
	sorted.Func(all, func(a, b Finding) int { return cmp.Compare(a.Detail, b.Detail) })
	return all
}
