package engine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/internal/semaphore"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// MetaParams are the parameters that every resource has: how the engine runs
// it. The zero value is absent metaparameters.
type MetaParams struct {
	Noop       *bool             `yaml:"noop" doc:"Only look and report, alter nothing. An explicit false wins over the flag --noop=default."`
	Retry      int               `yaml:"retry" mgmt:"min=-1" doc:"How often to try again after a failure: 0 for never, -1 for ever. If absent, mgmt tries for ever: at once when a resource above has changed, else after a time that grows from a second to ten minutes. The command of an exec that has ended with a wrong code is tried again only when a resource above has changed."`
	RetryReset bool              `yaml:"retryreset" doc:"Count retries anew after a success; without retry it is always so."`
	Delay      time.Duration     `yaml:"delay" mgmt:"unit=ms" doc:"How long to wait before a retry; without retry, before the first one. A bare integer is milliseconds."`
	DelayMax   time.Duration     `yaml:"delaymax" mgmt:"unit=ms" doc:"With it the wait before a retry doubles with each one, from delay up to this, shortened at random by up to half; 0 for the same wait each time. A bare integer is milliseconds."`
	Timeout    time.Duration     `yaml:"timeout" mgmt:"unit=ms" doc:"How long it may take to look and put right once, 0 for no limit; a bare integer is milliseconds."`
	Poll       time.Duration     `yaml:"poll" mgmt:"unit=s" doc:"Look again this long after the last look (a tenth is left to chance) instead of watching; 0 to watch. A bare integer is seconds."`
	Settle     time.Duration     `yaml:"settle" mgmt:"unit=s" doc:"How long the thing must have been quiet before its events are acted on, 0 to act at once; after ten times as long they are, quiet or not. A bare integer is seconds."`
	Limit      float64           `yaml:"limit" mgmt:"min=0" doc:"How many runs a second are allowed on average, whatever causes them; 0 for no limit. Needs burst."`
	Burst      int               `yaml:"burst" mgmt:"min=0" doc:"How many runs may come at once under limit, after a time without any."`
	Reset      bool              `yaml:"reset" doc:"When the graph declares the resource anew and differently, begin anew too: retries and limit do not carry over."`
	Sema       []string          `yaml:"sema" doc:"Semaphores to hold while running, each name or name:count; at most count (1 by default) resources hold one of that name and count at once. Those that begin with all/ or group:ROLE/ are shared by the hosts of that topic."`
	Rewatch    bool              `yaml:"rewatch" doc:"When it has failed for good, every new graph makes it try again, even a graph that declares it just the same."`
	Realize    bool              `yaml:"realize" doc:"A graph without this resource takes effect only after it has been brought about once, or has failed for good."`
	Reverse    bool              `yaml:"reverse" doc:"The same as leaving: undo."`
	Leaving    Leaving           `yaml:"leaving" mgmt:"enum=keep|undo|ask" doc:"What becomes of its work when the resource leaves the graph. With keep, as when absent, it stays; with undo, the state before its first change is brought back; with ask, the graph without it is held until mgmt resume, and then it stays."`
	AutoEdge   *bool             `yaml:"autoedge" doc:"Take part in automatic edges."`
	AutoGroup  *bool             `yaml:"autogroup" doc:"Allow to be run as a member of a group."`
	Drift      Drift             `yaml:"drift" mgmt:"enum=fix|report|ask" doc:"The action when the thing is not as declared: fix it; report: say so, and repair nothing, ever; or ask: what somebody else has altered waits for mgmt approve."`
	Backend    string            `yaml:"backend" doc:"The backend, for a kind with several ones, such as apt of pkg; absent: the backend that suits the machine."`
	Export     []string          `yaml:"export" doc:"The hosts for which to publish the resource, by name or as group:ROLE; * for all. Those that collect it apply it, too; with hidden, only those."`
	ExportFor  time.Duration     `yaml:"exportfor" mgmt:"unit=s" doc:"How long an exported resource stays exported after the daemon of this host has ended or died; 10 minutes if absent. A bare integer is seconds."`
	Labels     map[string]string `yaml:"labels" doc:"Words of your own, such as {tier: db}, by which verbs select resources: label:tier=db."`
	Unread     string            `yaml:"-"` // a frontend could not read a part of the parameters, and says which: the resource is not run, and its state is unknown
	Proofs     []world.Proof     `yaml:"-"` // a frontend has read that a lease of this host holds: without it no run begins
	Module     string            `yaml:"-"` // the instance of the module that declares it, behind those around that: web.tls; empty for the graph itself
	Rests      bool              `yaml:"-"` // it rests after its first success, as if hidden: it has brought back an earlier state, and does not keep it so
	Secret     []string          `yaml:"secret" doc:"Parameters that are not shown, though their type is plain, such as content or env.TOKEN; the whole of a list or map, or one entry. All that the resource sends is a secret then. A value that is received from a secret is a secret without this."`
	Hidden     bool              `yaml:"hidden" doc:"Keep the resource in the graph, but never validate, watch or run it."`
	Dollar     bool              `yaml:"dollar" doc:"Allow a name that begins with a dollar sign."`
}

// Drift says what is done with a thing that is not as declared.
type Drift string

// The policies of drift. The empty one means DriftFix.
const (
	DriftFix    Drift = "fix"
	DriftReport Drift = "report" // look and say, alter nothing
	DriftAsk    Drift = "ask"    // alter what somebody else has altered only when a person has approved it
)

// Leaving says what becomes of the work of a resource that leaves the graph.
type Leaving string

// The policies of leaving. The empty one means LeavingKeep.
const (
	LeavingKeep Leaving = "keep"
	LeavingUndo Leaving = "undo" // the state before the first change comes back
	LeavingAsk  Leaving = "ask"  // the graph without it waits for an operator
)

// Leave has a policy count where the resource says nothing of what becomes of its work.
func (m *MetaParams) Leave(policy Leaving) {
	if m.Leaving == "" && !m.Reverse {
		m.Leaving = policy
	}
}

// Undoes reports whether the state before the first change is kept, and brought back when the resource leaves.
func (m *MetaParams) Undoes() bool { return m.Reverse || m.Leaving == LeavingUndo }

// The values of MetaParams.Retry that do not count tries. A graph says never by
// retry: 0, which DecodeMeta tells from a graph that says nothing.
const (
	RetryDefault = 0 // nothing is said: for ever, with a growing delay, but for an error marked by failure.Verdict or failure.Permanent
	RetryForever = -1
	RetryNever   = math.MinInt32
)

// DecodeMeta fills metaparameters from what a graph declares; nil declares nothing.
func DecodeMeta(n *schema.Node, m *MetaParams) schema.Diagnostics {
	if n == nil {
		return nil
	}
	ds := schema.Decode(n, m)
	if n.Get("retry") != nil && m.Retry == 0 {
		m.Retry = RetryNever
	}
	return ds
}

// Outlives returns how long an export outlives its daemon. Ten minutes, where ExportFor says nothing, are enough for a
// restart, an upgrade, or a reboot.
func (m *MetaParams) Outlives() time.Duration { return cmp.Or(m.ExportFor, 10*time.Minute) }

// Outright returns metaparameters with every meaning written out: absent values
// with a meaning are set. It is what the reference shows as defaults.
func (m *MetaParams) Outright() *MetaParams {
	c := *m
	c.AutoEdge, c.AutoGroup = new(m.AutoEdges()), new(m.AutoGroups())
	if c.Drift == "" {
		c.Drift = DriftFix
	}
	c.ExportFor = m.Outlives()
	return &c
}

// AutoEdges reports whether the resource takes part in automatic edges.
func (m *MetaParams) AutoEdges() bool { return m.AutoEdge == nil || *m.AutoEdge }

// AutoGroups reports whether the resource may become a member of a group.
func (m *MetaParams) AutoGroups() bool { return m.AutoGroup == nil || *m.AutoGroup }

// Validate returns everything that is wrong with the metaparameters as
// schema.Diagnostics, each with its path. A finding about two
// keys that do not fit has the path of the set key.
func (m *MetaParams) Validate() error {
	var ds schema.Diagnostics
	bad := func(path, format string, args ...any) {
		ds = append(ds, schema.Diagnostic{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if m.Retry < RetryForever && m.Retry != RetryNever {
		bad("retry", "retry is %d, it must be -1 (for ever) or more", m.Retry)
	}
	m.validateTimes(bad)
	m.validateLimit(bad)
	m.validateSema(bad)
	switch m.Drift {
	case "", DriftFix, DriftReport, DriftAsk:
	default:
		bad("drift", "drift is %q, it must be fix, report or ask", m.Drift)
	}
	switch m.Leaving {
	case "", LeavingKeep, LeavingUndo, LeavingAsk:
	default:
		bad("leaving", "leaving is %q, it must be keep, undo or ask", m.Leaving)
	}
	if _, nameless := m.Labels[""]; nameless {
		bad("labels", "labels has a label without a name, write labels: {tier: db}")
	}
	for i, host := range m.Export {
		if host == "" {
			bad(fmt.Sprintf("export[%d]", i), "export names a host without a name, write the name of a host, or * for all")
		}
	}
	return ds.Err()
}

// The longest time. Sums and multiples of it fit into the counters of the engine,
// which else would begin anew below zero and not wait at all.
const (
	maxMetaTime = 10 * 365 * 24 * time.Hour
	minLimit    = 1e-8 // one run in three years
)

// minPoll is the least poll: more looks than that would keep a core busy.
const minPoll = 100 * time.Millisecond

// complain reports what is wrong at a path.
type complain func(path, format string, args ...any)

func (m *MetaParams) validateTimes(bad complain) {
	for _, d := range []struct {
		key string
		val time.Duration
	}{
		{"delay", m.Delay}, {"delaymax", m.DelayMax}, {"timeout", m.Timeout}, {"poll", m.Poll}, {"settle", m.Settle}, {"exportfor", m.ExportFor},
	} {
		if d.val < 0 {
			bad(d.key, "%s is %s, it must not be negative", d.key, d.val)
		}
		if d.val > maxMetaTime {
			bad(d.key, "%s is %s, it must be at most %s, which is ten years", d.key, d.val, maxMetaTime)
		}
	}
	if m.Poll > 0 && m.Poll < minPoll {
		bad("poll", "poll is %s, it must be at least %s, or 0 to watch", m.Poll, minPoll)
	}
	switch {
	case m.DelayMax > 0 && m.Delay <= 0:
		bad("delaymax", "delaymax is %s without a delay to begin with, set delay too", m.DelayMax)
	case m.DelayMax > 0 && m.DelayMax < m.Delay:
		bad("delaymax", "delaymax is %s, it must not be below delay, which is %s", m.DelayMax, m.Delay)
	}
}

// validateLimit checks limit and burst, which have a sense only together.
func (m *MetaParams) validateLimit(bad complain) {
	switch {
	case math.IsNaN(m.Limit) || math.IsInf(m.Limit, 0) || m.Limit < 0:
		bad("limit", "limit is %v, it must be a number of runs a second, 0 for no limit", m.Limit)
	case m.Limit > 0 && m.Limit < minLimit:
		bad("limit", "limit is %v, it must be at least %v runs a second, or 0 for no limit", m.Limit, minLimit)
	case m.Burst < 0:
		bad("burst", "burst is %d, it must not be negative", m.Burst)
	case m.Limit > 0 && m.Burst == 0:
		bad("limit", "limit is %v without a burst, which allows no run at all, set burst to 1 or more", m.Limit)
	case m.Limit == 0 && m.Burst > 0:
		bad("burst", "burst is %d without a limit, set limit too", m.Burst)
	}
}

func (m *MetaParams) validateSema(bad complain) {
	type sema struct {
		name  string
		count int
	}
	first := map[sema]string{}
	for i, s := range m.Sema {
		path := fmt.Sprintf("sema[%d]", i)
		name, count, err := semaphore.Parse(s)
		if err != nil {
			bad(path, "%s", err)
			continue
		}
		if before, twice := first[sema{name, count}]; twice {
			bad(path, "semaphore %q is named twice, it stands there as %q already", s, before)
			continue
		}
		first[sema{name, count}] = s
	}
}

// Cmp returns nil if both say the same, else an error that names a difference.
func (m *MetaParams) Cmp(o *MetaParams) error {
	t, err := schema.OfType(reflect.TypeFor[MetaParams]())
	if err != nil {
		return err
	}
	for _, d := range schema.Diff(t, m, o) {
		return fmt.Errorf("meta.%s differs", d.Path)
	}
	return nil
}

// Equal reports whether both say the same. It is Cmp for those who ask for a
// hundred thousand of them.
func (m *MetaParams) Equal(o *MetaParams) bool {
	return m == o ||
		m.Retry == o.Retry && m.RetryReset == o.RetryReset && m.Delay == o.Delay && m.DelayMax == o.DelayMax &&
			m.Timeout == o.Timeout && m.Poll == o.Poll && m.Settle == o.Settle && m.Limit == o.Limit && m.Burst == o.Burst &&
			m.Reset == o.Reset && m.Rewatch == o.Rewatch && m.Realize == o.Realize && m.Reverse == o.Reverse && m.Leaving == o.Leaving &&
			m.Drift == o.Drift && m.Backend == o.Backend && m.Hidden == o.Hidden && m.Dollar == o.Dollar && m.Unread == o.Unread &&
			equalPointers(m.Noop, o.Noop) && equalPointers(m.AutoEdge, o.AutoEdge) && equalPointers(m.AutoGroup, o.AutoGroup) &&
			slices.Equal(m.Sema, o.Sema) && slices.Equal(m.Secret, o.Secret) && slices.Equal(m.Export, o.Export) && m.ExportFor == o.ExportFor && slices.Equal(m.Proofs, o.Proofs) &&
			m.Module == o.Module && m.Rests == o.Rests && maps.Equal(m.Labels, o.Labels)
}

func equalPointers[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
