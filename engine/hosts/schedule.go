package hosts

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The strategies of a schedule.
const (
	Sticky     = "sticky" // the hosts that have stood longest: a host that comes back does not move them
	Hash       = "hash"   // by a hash of schedule and host: schedules spread evenly, few places move
	Alpha      = "alpha"  // the first by name
	RoundRobin = "rr"     // in turn by name, beginning behind the hosts of the rr schedule before it
)

// Strategies returns the names of the strategies.
func Strategies() []string { return []string{Sticky, Hash, Alpha, RoundRobin} }

// Rule says which candidates a schedule takes.
type Rule struct {
	Strategy string `json:"strategy"` // one of Strategies
	Count    int    `json:"count"`    // how many hosts; all if there are fewer
}

// defaultRule is that of a schedule whose records can't be read.
var defaultRule = Rule{Strategy: Sticky, Count: 1}

// Check refuses a rule that no strategy can follow.
func (r Rule) Check() error {
	if !slices.Contains(Strategies(), r.Strategy) {
		return fmt.Errorf("strategy is %q, it must be one of %s", r.Strategy, strings.Join(Strategies(), ", "))
	}
	if r.Count < 1 {
		return fmt.Errorf("count is %d, it must be 1 or more", r.Count)
	}
	return nil
}

// ScheduleKey is the key under which a host stands for a schedule.
func ScheduleKey(topic, name, host string) string { return tableSchedules + join(topic, name, host) }

// SchedulePrefix is the prefix of the schedules of a topic.
func SchedulePrefix(topic string) string { return tableSchedules + join(topic) + "/" }

// candidate is a host that stands for a schedule.
type candidate struct {
	host              string
	rule              Rule // zero for a record that can't be read
	created, revision int64
	lease             string
}

// Table is the candidates of all schedules of one topic, at one revision of the store.
// The zero value is a topic without schedules. It belongs to one goroutine.
type Table struct {
	revision int64
	by       map[string]map[string]candidate // by schedule, then by host
}

// Take brings the table to the next step of Follow. It ignores keys of another form.
func (t *Table) Take(c Change) {
	if c.Whole || t.by == nil {
		t.by = map[string]map[string]candidate{}
	}
	t.revision = max(t.revision, c.Revision)
	for _, u := range c.Updates {
		parts := split(u.Key, tableSchedules, 3)
		if parts == nil {
			continue
		}
		name, host := parts[1], parts[2]
		if u.Deleted {
			delete(t.by[name], host)
			continue
		}
		x := candidate{host: host, created: u.Created, revision: u.Revision, lease: u.Lease}
		if json.Unmarshal(u.Value, &x.rule) != nil || x.rule.Check() != nil {
			x.rule = Rule{}
		}
		if t.by[name] == nil {
			t.by[name] = map[string]candidate{}
		}
		t.by[name][host] = x
	}
}

// Choice is the answer of a schedule at one revision.
type Choice struct {
	Hosts      []string // chosen, sorted by name
	Candidates []string // all that stand, sorted by name
	Rule       Rule     // by which they were chosen
	Revision   int64    // of the store
	Mine       bool     // this host is chosen, and its lease proves it; only Place sets it
	Own        Rule     // by which this host stands in the store, zero for not at all; only Place sets it
	Lease      string   // the ID of the lease under which it stands, which proves Mine; only Place sets it

	wrote int64 // the revision that wrote the record of this host; 0 for none
}

// Equal reports whether another choice says the same, at whatever revision.
func (c Choice) Equal(o Choice) bool {
	return c.Mine == o.Mine && c.Own == o.Own && c.Lease == o.Lease && c.Rule == o.Rule && slices.Equal(c.Hosts, o.Hosts) && slices.Equal(c.Candidates, o.Candidates)
}

// Choose returns the hosts of a schedule. Two tables of one revision answer the same. Where the
// candidates state different rules, the last written rule counts.
func (t *Table) Choose(name string) Choice {
	c := Choice{Rule: t.rule(name), Candidates: slices.Sorted(maps.Keys(t.by[name])), Revision: t.revision}
	n := min(c.Rule.Count, len(c.Candidates))
	switch c.Rule.Strategy {
	case Alpha:
		c.Hosts = slices.Clone(c.Candidates[:n])
	case RoundRobin:
		begin := t.turn(name)
		for i := range n {
			c.Hosts = append(c.Hosts, c.Candidates[(begin+i)%len(c.Candidates)])
		}
	case Hash:
		c.Hosts = slices.SortedFunc(slices.Values(c.Candidates), func(a, b string) int {
			return cmp.Or(cmp.Compare(score(name, b), score(name, a)), cmp.Compare(a, b))
		})[:n]
	default:
		c.Hosts = slices.SortedFunc(slices.Values(c.Candidates), func(a, b string) int {
			return cmp.Or(cmp.Compare(t.by[name][a].created, t.by[name][b].created), cmp.Compare(a, b))
		})[:n]
	}
	slices.Sort(c.Hosts)
	return c
}

// rule returns the rule that was written last.
func (t *Table) rule(name string) Rule {
	var last candidate
	for _, x := range t.by[name] {
		if x.rule != (Rule{}) && (x.revision > last.revision || x.revision == last.revision && x.host < last.host) {
			last = x
		}
	}
	return cmp.Or(last.rule, defaultRule)
}

// turn returns how many places the rr schedules before this one have taken.
func (t *Table) turn(name string) (n int) {
	for other := range t.by {
		if r := t.rule(other); other < name && r.Strategy == RoundRobin {
			n += min(r.Count, len(t.by[other]))
		}
	}
	return n
}

// score is the place of a host in the strategy hash. It is the same on all machines and in all versions.
func score(name, host string) uint64 {
	sum := sha256.Sum256([]byte(join(name, host)))
	return binary.BigEndian.Uint64(sum[:])
}
