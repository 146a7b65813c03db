package expand

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// # The store in expressions
//
// hosts has the facts of all hosts that share the store. scheduled('NAME') has the hosts that a schedule has chosen. Both are known when the graph
// is made, so they may stand in conditions and names. The frontend makes a new graph when one of them is another one.

// stored has the parts of the store that expressions have read. Store gives them to the frontend, which compares them with those of the next reading.
type stored struct {
	hosts  bool                // the facts of the hosts
	known  map[string]any      // those facts, once they were asked for
	chosen map[string][]string // by topic and name, with a NUL between them
}

// allHosts is the topic of a schedule that does not name one.
const allHosts = "all"

// hosts returns the facts of all hosts, as a map of maps. The store is asked when an expression looks at them: most graphs never do.
func (g *Graph) hosts() any {
	g = g.root()
	if g.stored.known != nil {
		return g.stored.known
	}
	all := map[string]any{}
	if g.opts.Hosts != nil {
		for name, of := range g.opts.Hosts() {
			all[name] = of
		}
	}
	// The own record may not be in the store yet, and its facts may be older. Without a store this machine is the only host, so that a graph can be
	// validated and rendered anywhere.
	all[g.hostname()] = g.names["facts"]
	g.stored.known = all
	return all
}

// hostname returns the name of this machine in the store.
func (g *Graph) hostname() string {
	if g.opts.Hostname != "" {
		return g.opts.Hostname
	}
	facts, _ := g.root().names["facts"].(map[string]any)
	name, _ := facts["hostname"].(string)
	return name
}

// Store returns the parts of the store that expressions have read, nil for nothing. It is called after Expand.
func (g *Graph) Store() any {
	if !g.stored.hosts && len(g.stored.chosen) == 0 {
		return nil
	}
	read := []any{g.stored.chosen}
	if g.stored.hosts {
		read = append(read, g.hosts())
	}
	return read
}

// scheduled is the function of expressions. It is asked once for each schedule in a computation, so that all expressions see one choice.
func (g *Graph) scheduled(args []any) (any, error) {
	name, topic := args[0].(string), allHosts
	if len(args) > 1 {
		topic = args[1].(string)
	}
	if name == "" || topic != allHosts && !strings.HasPrefix(topic, "group:") && !strings.HasPrefix(topic, "host:") {
		return nil, errors.New("scheduled takes the name of a schedule, and a topic: all, group:ROLE or host:NAME")
	}
	g = g.root()
	key := topic + "\x00" + name
	chosen, known := g.stored.chosen[key]
	switch {
	case known:
	case g.late.over:
		return nil, errNotLoaded
	default:
		if g.opts.Scheduled != nil {
			chosen = g.opts.Scheduled(topic, name)
		}
		if g.stored.chosen == nil {
			g.stored.chosen = map[string][]string{}
		}
		g.stored.chosen[key] = chosen
	}
	list := make([]any, len(chosen))
	for i, host := range chosen {
		list[i] = host
	}
	b, err := json.Marshal(list)
	g.noteRead("scheduled "+key, b)
	return list, err
}

// isScheduled reports whether an expression is a call of scheduled alone. As a condition it asks whether this machine is chosen.
func isScheduled(p *expr.Program) bool { return p != nil && p.IsCallOf("scheduled") }

// chosen computes a condition that is a call of scheduled alone: whether this machine is one of the hosts.
func (f *frame) chosen(n *schema.Node, t *text) (wanted, ok bool) {
	v, wrong := f.value(n, t)
	if wrong != nil {
		return false, false
	}
	list, _ := v.([]any)
	return slices.Contains(list, any(f.g.hostname())), true
}
