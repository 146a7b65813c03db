package sched_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/sched"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/transcript"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// TestTranscripts plays the files of testdata. The commands are in script.do.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 25, func(*testing.T) func([]string) string {
		s := newScript(0)
		return func(input []string) string {
			answer := s.do(input)
			if err := s.m.Invariants(); err != nil {
				answer += fmt.Sprintln("BROKEN:", err)
			}
			return answer
		}
	})
}

// script is a machine whose vertices have names.
type script struct {
	m     *sched.Machine
	slot  map[string]sched.Vertex
	names []string // by slot; empty is a hole
	busy  []bool   // by slot: in use, or removed while it ran and not forgotten
	runs  map[sched.Vertex]bool
	ended map[sched.Vertex]resgraph.State // how the last run of each ended
}

func newScript(parallel int) *script {
	return &script{
		m:    sched.New(sched.Options{Parallel: parallel, Changes: true}),
		slot: map[string]sched.Vertex{},
		runs: map[sched.Vertex]bool{}, ended: map[sched.Vertex]resgraph.State{},
	}
}

// do obeys one command and returns what came of it: for most the vertices whose
// own state or witness changed. Some commands ask: "state", "counts", "resting" for the states at rest, and "ancestors a".
func (s *script) do(input []string) string {
	word, rest, _ := strings.Cut(input[0], " ")
	args := strings.Fields(rest)
	var out strings.Builder
	switch word {
	case "parallel":
		n, _ := strconv.Atoi(rest)
		*s = *newScript(n)
		return ""
	case "graph":
		out.WriteString(s.graph(input[1:]))
	case "patch":
		out.WriteString(s.patch(input[1:]))
	case "next":
		s.next(&out)
	case "run":
		for s.next(&out) {
		}
	case "state":
		return s.state()
	case "counts":
		return s.counts()
	case "resting":
		return s.resting()
	case "bound":
		n, _ := strconv.Atoi(rest)
		s.m.SetParallel(n)
	case "ancestors":
		var names []string
		for v := range s.m.Ancestors(s.slot[rest], nil) {
			names = append(names, s.names[v])
		}
		return strings.Join(names, " ") + "\n"
	default:
		if err := s.event(word, args); err != nil {
			return err.Error() + "\n"
		}
	}
	for _, v := range s.m.Changed() {
		fmt.Fprintln(&out, s.describe(v))
	}
	return out.String()
}

// next tells what starts; it reports whether something did.
func (s *script) next(out *strings.Builder) bool {
	run, ok := s.m.Next()
	if !ok {
		fmt.Fprintln(out, "nothing starts")
		return false
	}
	var names []string
	for _, v := range run {
		s.runs[v] = true
		names = append(names, s.names[v])
	}
	fmt.Fprintln(out, "start", strings.Join(names, " "))
	return true
}

// event tells the machine something: "ready a b", "done a failed retry", "hold a
// paused", "yield", or "1000 event a".
func (s *script) event(word string, args []string) error {
	if n, err := strconv.Atoi(word); err == nil {
		for range n {
			if err := s.event(args[0], args[1:]); err != nil {
				return err
			}
		}
		return nil
	}
	switch word {
	case "yield":
		s.m.Yield()
		return nil
	case "regain":
		s.m.Regain()
		return nil
	}
	var vs []sched.Vertex
	var words []string
	for _, a := range args {
		if v, ok := s.slot[a]; ok {
			vs = append(vs, v)
		} else {
			words = append(words, a)
		}
	}
	if len(vs) == 0 {
		return fmt.Errorf("%s: no vertex in %q", word, args)
	}
	for _, v := range vs {
		if err := s.one(word, v, words); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) one(word string, v sched.Vertex, words []string) error {
	retry := slices.Contains(words, "retry")
	switch word {
	case "ready":
		s.m.Ready(v)
	case "unready":
		s.m.Unready(v)
	case "event":
		s.m.Event(v)
	case "done":
		s.m.Done(v, sched.Outcome{State: state(words), Retry: retry})
		s.ended[v] = state(words)
		delete(s.runs, v)
	case "defer":
		s.m.Defer(v)
		delete(s.runs, v)
	case "fail":
		s.m.Fail(v, retry)
	case "wake":
		s.m.Wake(v)
	case "hold":
		s.m.Hold(v, state(words))
	case "aside":
		s.m.Aside(v)
	case "release":
		s.m.Release(v)
	case "forgotten":
		s.m.Forgotten(v)
		s.forget(v)
	default:
		return fmt.Errorf("no command %q", word)
	}
	return nil
}

// state returns the first state that one of words names, else ok.
func state(words []string) resgraph.State {
	for s := range resgraph.State(resgraph.NumStates) {
		if slices.Contains(words, s.String()) {
			return s
		}
	}
	return resgraph.StateOK
}

func (s *script) describe(v sched.Vertex) string {
	text := s.names[v] + " " + s.m.State(v).String()
	if by, ok := s.m.BlockedBy(v); ok {
		text += " by " + s.names[by]
		if w, _ := s.m.Witness(v); w != by {
			text += ", waits for " + s.names[w]
		}
	} else if w, ok := s.m.Witness(v); ok {
		text += " for " + s.names[w]
	}
	return text
}

func (s *script) state() string {
	var lines []string
	for v, name := range s.names {
		if at, ok := s.slot[name]; ok && at == sched.Vertex(v) {
			lines = append(lines, s.describe(sched.Vertex(v)))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n" + s.rest()
}

func (s *script) rest() string {
	if s.m.AtRest() {
		return "at rest\n"
	}
	return fmt.Sprintf("pending %d\n", s.m.Pending())
}

// resting tells how each vertex stands at rest, and how many stand so.
func (s *script) resting() string {
	rested := func(v sched.Vertex) (resgraph.State, bool) { last, ok := s.ended[v]; return last, ok }
	var lines []string
	for v, name := range s.names {
		if at, ok := s.slot[name]; ok && at == sched.Vertex(v) {
			lines = append(lines, fmt.Sprintf("%s %v, level %d, above %d, below %d", name, s.m.AtRestState(at, rested), s.m.Level(at), len(s.m.Above(at)), len(s.m.Below(at))))
		}
	}
	slices.Sort(lines)
	for state, n := range s.m.AtRestCounts(rested) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%v: %d", resgraph.State(state), n))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *script) counts() string {
	var out strings.Builder
	for state, n := range s.m.Counts() {
		if n > 0 {
			fmt.Fprintf(&out, "%v %d\n", resgraph.State(state), n)
		}
	}
	return out.String() + s.rest()
}

// graph swaps to the graph that lines draw: "a b -> c -> d" makes each on the
// left of an arrow run before each on its right; "batch k: a b" gives vertices a
// key; "new a" says that a is another vertex than the one of that name before.
func (s *script) graph(lines []string) string {
	p := parse(lines)
	t := sched.Topology{}
	was := s.copy()
	for _, name := range slices.Sorted(maps.Keys(s.slot)) {
		v := s.slot[name]
		if s.names[v] == name && (!p.has[name] || p.anew[name]) {
			t.Removed = append(t.Removed, v)
			delete(s.slot, name)
			if !s.runs[v] {
				s.forget(v)
			}
		}
	}
	for _, name := range p.order {
		if _, ok := s.slot[name]; !ok {
			t.Added = append(t.Added, s.take(name))
		}
	}
	t.N = len(s.names)
	for _, e := range p.edges {
		t.Edges = append(t.Edges, [2]sched.Vertex{s.slot[e[0]], s.slot[e[1]]})
	}
	if len(p.keys) > 0 {
		for v := range s.names {
			t.Batch = append(t.Batch, p.key(s.names[v]))
		}
	}
	if err := s.m.Swap(t); err != nil {
		text := "refused: " + s.explain(err) + "\n"
		was.m = s.m
		*s = *was
		return text
	}
	s.keepGone(t.Removed)
	return ""
}

// patch changes a part: "gone a b" takes vertices away, and "cut a b" an edge. The other lines are those of graph: what is not there
// comes, and "new a" replaces a.
func (s *script) patch(lines []string) string {
	var p sched.Patch
	var cut []string
	gone := map[string]bool{}
	lines = slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "gone":
			for name := range strings.FieldsSeq(rest) {
				gone[name] = true
			}
		case "cut":
			cut = append(cut, rest)
		default:
			return false
		}
		return true
	})
	part, was := parse(lines), s.copy()
	for _, name := range slices.Sorted(maps.Keys(s.slot)) {
		if v := s.slot[name]; s.names[v] == name && (gone[name] || part.anew[name]) {
			p.Removed = append(p.Removed, v)
			delete(s.slot, name)
			if !s.runs[v] && gone[name] {
				s.forget(v)
			}
		}
	}
	for _, name := range part.order {
		if _, ok := s.slot[name]; !ok {
			p.Added = append(p.Added, s.take(name))
			p.Batch = append(p.Batch, part.key(name))
		}
	}
	for _, ends := range cut {
		a, b, _ := strings.Cut(ends, " ")
		p.Cut = append(p.Cut, [2]sched.Vertex{s.slot[a], s.slot[b]})
	}
	for _, e := range part.edges {
		p.Join = append(p.Join, [2]sched.Vertex{s.slot[e[0]], s.slot[e[1]]})
	}
	p.N = len(s.names)
	if err := s.m.Patch(p); err != nil {
		text := "refused: " + s.explain(err) + "\n"
		was.m = s.m
		*s = *was
		return text
	}
	s.keepGone(p.Removed)
	for _, v := range p.Removed {
		if !s.runs[v] && !slices.Contains(slices.Collect(maps.Values(s.slot)), v) {
			s.busy[v] = false
		}
	}
	return ""
}

// explain names the vertices of a cycle.
func (s *script) explain(err error) string {
	c, ok := errors.AsType[*sched.CycleError](err)
	if !ok {
		return err.Error()
	}
	var names []string
	for _, v := range append(slices.Clone(c.Path), c.Path[0]) {
		names = append(names, s.names[v])
	}
	return strings.Join(names, " -> ")
}

// keepGone makes removed vertices that run known as -name, for forgotten.
func (s *script) keepGone(removed []sched.Vertex) {
	for _, v := range removed {
		if s.runs[v] {
			s.slot["-"+s.names[v]] = v
		}
	}
}

func (s *script) forget(v sched.Vertex) {
	delete(s.slot, "-"+s.names[v])
	delete(s.runs, v)
	s.names[v], s.busy[v] = "", false
}

// take gives name the lowest free slot.
func (s *script) take(name string) sched.Vertex {
	v := slices.Index(s.busy, false)
	if v < 0 {
		v = len(s.busy)
		s.busy = append(s.busy, true)
		s.names = append(s.names, name)
	}
	s.busy[v], s.names[v], s.slot[name] = true, name, sched.Vertex(v)
	return sched.Vertex(v)
}
