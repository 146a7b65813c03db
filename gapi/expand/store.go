package expand

import (
	"errors"
	"strings"
)

// # The store in expressions
//
// hosts has the facts of all hosts that share the store. scheduled('NAME') has the hosts that a schedule has chosen. Both are known when the graph
// is made, so they may stand in conditions and names. The frontend makes a new graph when one of them is another one.

// store has the parts of the store that expressions have read. A graph and its modules share one.
//
// # Laws
//
//   - The store is asked only where an expression reads it, and once for each question. So all expressions see one answer.
//   - Without a store this machine is the only host, so a graph can be validated and rendered anywhere.
//   - answer has all that was read, so equal answers mean an equal graph.
type store struct {
	ask      func() map[string]map[string]any            // nil without a store
	schedule func(topic, name string) ([]string, string) // nil without a store
	hostname string                                      // empty for the fact
	hosts    bool                                        // an expression reads the facts of the hosts
	facts    map[string]any                              // those facts, once they were asked for
	unread   bool                                        // the store has not answered
	chosen   map[scheduleKey]chosen                      // nil for none
}

// chosen is the answer of a schedule.
type chosen struct {
	hosts  []string
	lease  string // see Options.Scheduled
	unread bool   // there is no answer
}

// scheduleKey names a schedule of a topic.
type scheduleKey struct{ topic, name string }

// String is for the sum of a formula: neither part has a NUL.
func (k scheduleKey) String() string { return k.topic + "\x00" + k.name }

// allHosts is the topic of a schedule that does not name one.
const allHosts = "all"

// newStore returns a store before its first question.
func newStore(o *Options) *store {
	return &store{ask: o.Hosts, schedule: o.Scheduled, hostname: o.Hostname}
}

// all returns the facts of all hosts by name, with the given ones for this machine. The store is asked when an expression looks at them: most
// graphs never do.
func (s *store) all(own map[string]any) map[string]any {
	if s.facts != nil {
		return s.facts
	}
	s.facts = map[string]any{}
	if s.ask != nil {
		all := s.ask()
		s.unread = all == nil
		for name, of := range all {
			s.facts[name] = of
		}
	}
	// The own record may not be in the store yet, and its facts may be older.
	s.facts[s.self(own)] = own
	return s.facts
}

// self returns the name of this machine in the store.
func (s *store) self(own map[string]any) string {
	if s.hostname != "" {
		return s.hostname
	}
	name, _ := own["hostname"].(string)
	return name
}

// answer returns the parts of the store that were read, nil for nothing.
func (s *store) answer(own map[string]any) any {
	if !s.hosts && len(s.chosen) == 0 {
		return nil
	}
	read := []any{s.chosen}
	if s.hosts {
		read = append(read, s.all(own))
	}
	return read
}

// choice returns what a schedule has chosen. Where it was not asked before, and over forbids to ask, the error says so.
func (s *store) choice(key scheduleKey, over bool) (chosen, error) {
	c, known := s.chosen[key]
	switch {
	case known:
		return c, nil
	case over:
		return c, errNotLoaded
	}
	if s.schedule != nil {
		c.hosts, c.lease = s.schedule(key.topic, key.name)
		c.unread = c.hosts == nil
	}
	if s.chosen == nil {
		s.chosen = map[scheduleKey]chosen{}
	}
	s.chosen[key] = c
	return c, nil
}

// keyOfSchedule reads the arguments of the function scheduled.
func keyOfSchedule(args []any) (scheduleKey, error) {
	key := scheduleKey{allHosts, args[0].(string)}
	if len(args) > 1 {
		key.topic = args[1].(string)
	}
	if key.name == "" || key.topic != allHosts && !strings.HasPrefix(key.topic, "group:") && !strings.HasPrefix(key.topic, "host:") {
		return key, errors.New("scheduled takes the name of a schedule, and a topic: all, group:ROLE or host:NAME")
	}
	return key, nil
}

// Store returns the parts of the store that expressions have read, nil for nothing. It is called after Expand.
func (g *Graph) Store() any { return g.store.answer(g.ownFacts()) }

// ownFacts returns the facts of this machine.
func (g *Graph) ownFacts() map[string]any {
	facts, _ := g.names["facts"].(map[string]any)
	return facts
}
