package provider_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
	"pgregory.net/rapid"
)

// logStep is one call of a Logger.
type logStep struct {
	op    string
	title string // x is foreign
	fails bool   // of a context
	body  []logStep
}

var (
	logContexts = map[string]provider.Status{"Creating": provider.Created, "Updating": provider.Updated, "Deleting": provider.Deleted, "Failing": provider.Failed}
	logActions  = map[string]provider.Status{"Created": provider.Created, "Unchanged": provider.Unchanged, "Failed": provider.Failed}
)

func logSteps(depth int) *rapid.Generator[[]logStep] {
	return rapid.Custom(func(t *rapid.T) []logStep {
		steps := make([]logStep, rapid.IntRange(0, 4).Draw(t, "n"))
		for i := range steps {
			s := logStep{title: rapid.SampledFrom([]string{"a", "b", "c", "d", "x"}).Draw(t, "title")}
			s.op = rapid.SampledFrom([]string{"Creating", "Updating", "Deleting", "Failing", "Created", "Unchanged", "Failed", "attribute", "message"}).Draw(t, "op")
			if _, ok := logContexts[s.op]; ok && depth > 0 {
				s.fails, s.body = rapid.Bool().Draw(t, "fails"), logSteps(depth-1).Draw(t, "body")
			}
			steps[i] = s
		}
		return steps
	})
}

// logModel is what the rules say of a sequence of calls.
type logModel struct {
	status map[string]provider.Status
	logged map[string]bool
	broken bool
	opened int
}

func (m *logModel) run(steps []logStep) {
	for _, s := range steps {
		m.step(s)
	}
}

func (m *logModel) step(s logStep) {
	decided := m.status[s.title] != provider.Unmarked
	status, isContext := logContexts[s.op]
	switch {
	case s.title == "x", s.op != "message" && decided, isContext && m.logged[s.title]:
		m.broken = true
		if s.op == "Failed" && s.title != "x" {
			m.status[s.title] = provider.Failed
		}
		return
	}
	m.logged[s.title] = true
	if !isContext {
		if action, ok := logActions[s.op]; ok {
			m.status[s.title] = action
		}
		return
	}
	m.opened++
	m.run(s.body)
	if s.fails {
		status = provider.Failed
	}
	if m.status[s.title] == provider.Unmarked {
		m.status[s.title] = status
	}
}

func runLogSteps(b *logBench, steps []logStep) {
	contexts := map[string]func(string, func() error, ...provider.LogOption) error{
		"Creating": b.Creating, "Updating": b.Updating, "Deleting": b.Deleting, "Failing": b.Failing,
	}
	for _, s := range steps {
		switch s.op {
		case "Created":
			b.Created(s.title)
		case "Unchanged":
			b.Unchanged(s.title)
		case "Failed":
			b.Failed(s.title, "why")
		case "attribute":
			b.AttributeChanged("v", 1, 2, provider.Of(s.title))
		case "message":
			b.Info("i", provider.Of(s.title))
		default:
			_ = contexts[s.op](s.title, func() error {
				runLogSteps(b, s.body)
				if s.fails {
					return errors.New("why")
				}
				return nil
			})
		}
	}
}

// TestLawLogRules: whatever is called, statuses and broken rules are those of the model,
// each context that was opened has one start, and at the end none is open.
func TestLawLogRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := logSteps(3).Draw(t, "steps")
		m := &logModel{status: map[string]provider.Status{}, logged: map[string]bool{}}
		m.run(steps)
		b := newLogBench(provider.LogOptions{}, "a", "b", "c", "d")
		runLogSteps(b, steps)
		got := map[string]provider.Status{}
		for _, title := range []string{"a", "b", "c", "d"} {
			if s, _ := b.Status(title); s != provider.Unmarked {
				got[title] = s
			}
		}
		if !maps.Equal(got, m.status) || (b.Broken() != nil) != m.broken {
			t.Fatalf("%v, broken: %v\nwant %v, broken: %t", got, b.Broken(), m.status, m.broken)
		}
		starts := 0
		for _, e := range b.events {
			if e.Phase == provider.PhaseStart {
				starts++
			}
		}
		b.Info("at the end")
		if last := b.events[len(b.events)-1]; starts != m.opened || last.Context != nil {
			t.Fatalf("%d of %d contexts were opened, and at the end is open: %v", starts, m.opened, last.Context)
		}
	})
}
