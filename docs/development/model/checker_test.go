package model

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
)

// A trace is what the real reactor shows from outside, in its order: to its resources, its store and its listener. SetRefresh is called on the
// loop when a vertex is chosen, Ran when it takes the end of a run, and Swapped when a graph takes effect; a call of Commit is what the
// journal will have after a crash. What happens between two of them, such as an event in the mailbox, is hidden: the checker keeps all
// states in which the model may be.

// shown is one line of a trace.
type shown struct {
	what    string
	v       int
	yes     bool    // start: with Refresh; check: it is right; apply, end: it has changed something
	journal Records // of "journal"
}

// String returns the line.
func (l shown) String() string {
	switch l.what {
	case "journal":
		return fmt.Sprintf("journal %v\n", l.journal)
	case "start", "check", "apply", "end":
		return fmt.Sprintf("%s %d %t\n", l.what, l.v, l.yes)
	default:
		return fmt.Sprintf("%s %d\n", l.what, l.v)
	}
}

// String names the records, without the numbers of refreshes.
func (r Records) String() (text string) {
	for v := range N {
		if r&intent(v) != 0 {
			text += fmt.Sprintf(" intent %d", v)
		}
		for source := range N {
			if r&refreshes(v, source) != 0 {
				text += fmt.Sprintf(" refresh %d from %d", v, source)
			}
		}
	}
	return text
}

// show returns the line of a step of the model, and false for one that is hidden.
func show(action string, from, to *at) (line shown, is bool) {
	line, is = shown{what: action, v: from.v}, true
	switch action {
	case "start":
		line.yes = to.x.Run.Acts != 0
	case "check":
		line.yes = to.x.Run.Phase == Right
	case "apply":
		line.yes = to.x.Run.Changed
	case "end":
		line.yes = from.x.Run.Changed
		is = !from.x.Run.Old || line.yes
	case "fail":
		is = !from.x.Run.Old
	case "swap", "drift", "break", "crash":
	default:
		line, is = shown{what: "journal", journal: to.Journal.shape()}, from.Journal.shape() != to.Journal.shape()
	}
	return line, is
}

// shape returns the records without their numbers: the first one stands for any.
func (r Records) shape() (all Records) {
	for v := range N {
		all |= r & intent(v)
		for source := range N {
			if r&refreshes(v, source) != 0 {
				all |= first(v, source)
			}
		}
	}
	return all
}

func first(v, source int) Records { return refreshes(v, source) & -refreshes(v, source) }

// checker follows a trace.
type checker struct {
	m      *Model
	states map[State]bool
	broken []string // laws
}

func newChecker(m *Model) *checker { return &checker{m: m, states: map[State]bool{{Graph: -1}: true}} }

// steps yields what may happen in a state: the line, false for a hidden step, and the next state.
func (c *checker) steps(s State) iter.Seq2[*shown, State] {
	return func(yield func(*shown, State) bool) {
		for _, action := range c.m.Actions {
			for v := range N {
				from := c.m.at(&s, v)
				if !action.Guard(&from) {
					continue
				}
				next := s
				to := c.m.at(&next, v)
				action.Effect(&to)
				to = c.m.at(&next, v)
				for _, l := range laws {
					if l.step != nil && !l.step(action.Name, &from, &to) {
						c.broken = append(c.broken, fmt.Sprintf("%s: %s %d from %+v", l.name, action.Name, v, s))
					}
				}
				line, is := show(action.Name, &from, &to)
				if is && !yield(&line, next) {
					return
				}
				cut := action.Name == "break" && from.x.Run.Old // it may end before its resource sees that
				if (!is || cut) && !yield(nil, next) {
					return
				}
			}
		}
	}
}

// hide adds the states that hidden steps lead to.
func (c *checker) hide() {
	todo := slices.Collect(maps.Keys(c.states))
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for line, next := range c.steps(s) {
			if line == nil && !c.states[next] {
				c.states[next] = true
				todo = append(todo, next)
			}
		}
	}
}

// take follows one line. It reports whether the model can do that.
func (c *checker) take(line shown) bool {
	c.hide()
	next := map[State]bool{}
	for s := range c.states {
		for l, to := range c.steps(s) {
			if l != nil && *l == line {
				next[to] = true
			}
		}
	}
	c.states = next
	return len(next) > 0
}

// rests reports whether the model may have nothing left to do.
func (c *checker) rests() bool {
	c.hide()
	for s := range c.states {
		rests := true
		for _, action := range c.m.Actions {
			for v := range N {
				a := c.m.at(&s, v)
				rests = rests && (action.Of != Engine || !action.Guard(&a))
			}
		}
		if rests {
			return true
		}
	}
	return false
}

// one returns a state in which the model may be.
func (c *checker) one() (s State) {
	for s = range c.states {
		break
	}
	return s
}

// TestChecker: a checker refuses the first line that the model can't do.
func TestChecker(t *testing.T) {
	swap, start := shown{what: "swap"}, shown{what: "start"}
	check, apply, end := shown{what: "check"}, shown{what: "apply", yes: true}, shown{what: "end", yes: true}
	written := func(r Records) shown { return shown{what: "journal", journal: r} }
	below := func(what string, yes bool) shown { return shown{what: what, v: 1, yes: yes} }
	due := first(1, 0)
	right := []shown{swap, start, check, written(intent(0)), apply, end, below("start", true), written(due), below("apply", true), written(0), below("end", true)}
	for name, c := range map[string]struct {
		trace   []shown
		refused int // which line, -1 for none
	}{
		"right":                              {right, -1},
		"killed before the refresh":          {slices.Concat(right[:6], []shown{{what: "crash"}, swap, start, {what: "check", yes: true}, {what: "end"}, below("start", true)}), -1},
		"an apply without an intent":         {slices.Concat(right[:3], right[4:]), 3},
		"a start below one that runs":        {slices.Concat(right[:5], right[6:]), 5},
		"a target that is not refreshed":     {slices.Concat(right[:6], []shown{below("start", false)}), 6},
		"an end of a refresh that came not":  {slices.Concat(right[:8], right[9:]), 8},
		"a vertex that starts without cause": {slices.Concat(right[:6], []shown{start}), 6},
	} {
		t.Run(name, func(t *testing.T) {
			checker := newChecker(New(declare("110", "0!1")))
			for i, line := range c.trace {
				if ok := checker.take(line); ok == (i == c.refused) {
					t.Fatalf("line %d: %t", i, ok)
				} else if !ok {
					return
				}
			}
		})
	}
}
