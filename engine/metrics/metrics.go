package metrics

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// MaxKinds is how many kinds are counted each for itself. Later kinds are counted
// together, as OtherKinds.
const (
	MaxKinds   = 200
	OtherKinds = "other"
)

// Options configure a Metrics. The zero value is usable.
type Options struct {
	Version string // of the program
	// Clock tells the time of the last convergence, and bounds the wait for Source; that of the machine when nil.
	Clock clock.Clock
	// Source is asked at each scrape, and nothing it tells is shown when nil.
	Source Source
}

// Metrics counts. Its methods may be called from any goroutine unless they say
// otherwise.
type Metrics struct {
	clock   clock.Clock
	version string
	source  atomic.Pointer[Source]

	// kinds is what was counted, by kind. The map is never altered: a new kind makes
	// another one, on the reactor's loop.
	kinds   atomic.Pointer[map[string]*kindMetrics]
	latency histogram

	swaps, refused, generation atomic.Int64
	holds                      [len(holders)]atomic.Int64
	converged, paused          atomic.Bool
	heldGraph                  atomic.Bool  // the newest graph waits to be resumed
	rested                     atomic.Int64 // ms since 1970, 0 for never
}

// kindMetrics is what is counted of one kind.
type kindMetrics struct {
	runs              [numOutcomes]atomic.Int64
	changes           [numClasses]atomic.Int64
	errors, refreshes atomic.Int64
	duration          histogram
}

// outcome is how a run ended.
type outcome int

const (
	outcomeOK outcome = iota
	outcomeChanged
	outcomeWouldChange
	outcomeUnknown
	outcomeHeld
	outcomeFailed

	numOutcomes = iota
	numClasses  = int(reactor.Corrective) + 1
)

var (
	outcomeWords = [numOutcomes]string{"ok", "changed", "would-change", "unknown", "held", "failed"}
	holders      = [...]string{reactor.LimitBudget, reactor.LimitFlapping, reactor.LimitApproval, reactor.LimitWindow}
)

const ms = time.Millisecond

var (
	durationBounds = []time.Duration{ms / 10, ms, 10 * ms, 100 * ms, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}
	latencyBounds  = []time.Duration{ms / 100, ms / 10, ms, 10 * ms, 100 * ms, time.Second, 10 * time.Second, time.Minute}
)

// New returns a Metrics that has counted nothing.
func New(o Options) *Metrics {
	m := &Metrics{clock: clock.Or(o.Clock), version: cmp.Or(o.Version, "unknown"), latency: newHistogram(latencyBounds)}
	if o.Source != nil {
		m.source.Store(&o.Source)
	}
	m.kinds.Store(&map[string]*kindMetrics{})
	return m
}

// Listener returns the callbacks for a reactor. Its functions are called on the
// loop of one reactor.
func (m *Metrics) Listener() reactor.Listener {
	return reactor.Listener{Swapped: m.Swapped, Ran: m.Ran, Converged: m.Converged, Paused: m.Paused, Held: m.Held}
}

// Swapped counts a graph that took effect.
func (m *Metrics) Swapped(s reactor.Swap) {
	m.swaps.Add(1)
	m.heldGraph.Store(s.Held != nil)
	m.generation.Store(int64(s.Generation))
}

// Refused counts a graph that could not be used, and notes whether it waits to be resumed: then
// the error is a *reactor.RemovalsError.
func (m *Metrics) Refused(err error) {
	m.refused.Add(1)
	_, held := errors.AsType[*reactor.RemovalsError](err)
	m.heldGraph.Store(held)
}

// Converged notes that the graph came to rest, or that something has happened.
func (m *Metrics) Converged(yes bool, _ reactor.Counts) {
	m.converged.Store(yes)
	if yes {
		m.rested.Store(m.clock.Now().UnixMilli())
	}
}

// Paused notes the begin of a pause, or its end. Those of one resource show in
// mgmt_resources.
func (m *Metrics) Paused(p reactor.Pause, on bool) {
	if p.Resource == "" {
		m.paused.Store(on)
	}
}

// Held counts that a limit took hold of a resource.
func (m *Metrics) Held(_ string, h *reactor.Held) {
	if h == nil {
		return
	}
	if i := slices.Index(holders[:], h.Limit); i >= 0 {
		m.holds[i].Add(1)
	}
}

// Ran counts a run, or a failure without one as an error alone. It is called by one
// goroutine, the loop.
func (m *Metrics) Ran(r reactor.Run) {
	kind, _, _ := strings.Cut(r.Resource, "[")
	k := (*m.kinds.Load())[kind]
	if k == nil {
		k = m.kind(kind)
	}
	if r.State == resgraph.StateFailed {
		k.errors.Add(1)
	}
	if r.Duration > 0 { // else CheckApply was not called
		m.ran(k, &r)
	}
}

func (m *Metrics) ran(k *kindMetrics, r *reactor.Run) {
	k.runs[outcomeOf(r)].Add(1)
	k.duration.observe(r.Duration)
	if answersEvent(r) {
		m.latency.observe(r.Waited)
	}
	if r.Changed && int(r.Class) < numClasses {
		k.changes[r.Class].Add(1)
	}
	if r.Refreshed {
		k.refreshes.Add(1)
	}
}

// answersEvent reports whether an event was the first that asked for a run, so that
// Waited is its latency.
func answersEvent(r *reactor.Run) bool {
	return len(r.Triggers) > 0 && r.Triggers[0].Cause == reactor.CauseEvent
}

func outcomeOf(r *reactor.Run) outcome {
	switch {
	case r.State == resgraph.StateFailed:
		return outcomeFailed
	case r.Changed:
		return outcomeChanged
	case r.State == resgraph.StateWouldChange:
		return outcomeWouldChange
	case r.State == resgraph.StateUnknown:
		return outcomeUnknown
	case r.State == resgraph.StateHeld:
		return outcomeHeld
	default:
		return outcomeOK
	}
}

// kind makes place for a kind that is new. It is called on the loop.
func (m *Metrics) kind(name string) *kindMetrics {
	kinds := *m.kinds.Load()
	if len(kinds) >= MaxKinds || !utf8.ValidString(name) { // the format is UTF-8
		name = OtherKinds
		if k := kinds[name]; k != nil {
			return k
		}
	}
	k := &kindMetrics{duration: newHistogram(durationBounds)}
	kinds = maps.Clone(kinds)
	kinds[strings.Clone(name)] = k
	m.kinds.Store(&kinds)
	return k
}

// families tells all that is named mgmt_.
func (m *Metrics) families(ctx context.Context) []*family {
	return slices.Concat(m.graphFamilies(), m.runFamilies(), m.sampleFamilies(ctx))
}

func (m *Metrics) graphFamilies() []*family {
	holds := counter("mgmt_holds_total", "How often a limit took hold of a resource.")
	for i, limit := range holders {
		holds.count(&m.holds[i], "limit", limit)
	}
	return []*family{
		holds,
		gauge("mgmt_build_info", "Always 1; the labels say which build this is.").add(1, "goversion", runtime.Version(), "version", m.version),
		counter("mgmt_graphs_total", "Graphs that took effect.").count(&m.swaps),
		counter("mgmt_graphs_refused_total", "Graphs that could not be used; the last good one went on.").count(&m.refused),
		gauge("mgmt_graph_held", "Whether the newest graph waits for mgmt resume, since it removes too many resources: 1 or 0.").add(truth(m.heldGraph.Load())),
		gauge("mgmt_graph_generation", "Number of the graph in effect, 0 before the first one.").count(&m.generation),
		gauge("mgmt_converged", "Whether the graph is at rest: 1 or 0.").add(truth(m.converged.Load())),
		gauge("mgmt_last_converged_timestamp_seconds", "When the graph last came to rest, 0 for never.").add(float64(m.rested.Load()) / 1000),
		gauge("mgmt_paused", "Whether an operator has paused everything: 1 or 0.").add(truth(m.paused.Load())),
	}
}

func (m *Metrics) runFamilies() []*family {
	runs := counter("mgmt_runs_total", "Runs of resources that ended, by what came out; what failed without a run is only an error.")
	changes := counter("mgmt_changes_total", "Runs that changed something, by why: intended, cascade or corrective.")
	errs := counter("mgmt_errors_total", "Failures of resources: runs, and what failed without one, as a watch or a value that was refused.")
	refreshes := counter("mgmt_refreshes_total", "Runs that answered a notification.")
	duration := &family{name: "mgmt_run_duration_seconds", help: "How long runs took.", typ: "histogram"}
	latency := &family{name: "mgmt_event_latency_seconds", help: "From an event to the start of the run that answers it.", typ: "histogram"}
	for kind, k := range *m.kinds.Load() {
		for i, word := range outcomeWords {
			runs.count(&k.runs[i], "kind", kind, "outcome", word)
		}
		for i := range k.changes {
			changes.count(&k.changes[i], "class", reactor.Class(i).String(), "kind", kind)
		}
		errs.count(&k.errors, "kind", kind)
		refreshes.count(&k.refreshes, "kind", kind)
		duration.addPoints(k.duration.points(), "kind", kind)
	}
	return []*family{runs, changes, errs, refreshes, duration, latency.addPoints(m.latency.points())}
}
