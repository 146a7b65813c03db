package metrics

import (
	"cmp"
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// MaxKinds is how many kinds are counted each for itself. Those that come later are
// counted together, as OtherKinds.
const (
	MaxKinds   = 200
	OtherKinds = "other"
)

// Options configure a Metrics. The zero value is usable.
type Options struct {
	Version string // of the program
	// Now is the wall clock, for the time of the last convergence; time.Now when nil.
	Now func() time.Time
	// Source is asked at each scrape, and nothing it tells is shown when nil.
	Source Source
}

// Source says how things stand. It is called by whoever scrapes, on several
// goroutines, and may wait until ctx ends. An error means that the loop did not
// answer, and that the Sample is not to be used.
type Source func(ctx context.Context) (Sample, error)

// Sample is how things stand at one moment.
type Sample struct {
	Counts reactor.Counts // vertices by state

	Resyncs       int64 // how often file events were lost, and everything was looked at again
	Subscriptions int64 // to files
	Watches       int64 // folders that the kernel watches
	Polled        int64 // folders that are polled because it does not
}

// Metrics counts. Its methods may be called from any goroutine unless they say
// otherwise.
type Metrics struct {
	now     func() time.Time
	own     *prometheus.Registry // what is named mgmt_
	process *prometheus.Registry // of the process and of Go

	runs, changes, errors, refreshes *prometheus.CounterVec
	duration                         *prometheus.HistogramVec
	latency                          prometheus.Histogram
	swaps, refused                   prometheus.Counter
	generation, converged, rested    prometheus.Gauge
	paused                           prometheus.Gauge
	holds                            *prometheus.CounterVec

	kinds  map[string]*kindMetrics // owned by the reactor's loop
	source atomic.Pointer[Source]
}

// kindMetrics is what is counted of one kind: the series, looked up once.
type kindMetrics struct {
	runs              [numOutcomes]prometheus.Counter
	changes           [numClasses]prometheus.Counter
	errors, refreshes prometheus.Counter
	duration          prometheus.Observer
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

	numClasses = int(reactor.Corrective) + 1
)

var outcomeWords = [numOutcomes]string{"ok", "changed", "would-change", "unknown", "held", "failed"}

// New returns a Metrics that has counted nothing.
func New(o Options) *Metrics {
	m := &Metrics{now: o.Now, own: prometheus.NewRegistry(), process: prometheus.NewRegistry(), kinds: map[string]*kindMetrics{}}
	if m.now == nil {
		m.now = time.Now
	}
	if o.Source != nil {
		m.source.Store(&o.Source)
	}
	m.makeRuns()
	m.makeGraph()
	build := gauge("build_info", "Always 1; the labels say which build this is.", "version", "goversion")
	build.WithLabelValues(cmp.Or(o.Version, "unknown"), runtime.Version()).Set(1)
	m.own.MustRegister(build, &sampler{m: m})
	m.process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// SetSource replaces the Source.
func (m *Metrics) SetSource(s Source) { m.source.Store(&s) }

func (m *Metrics) makeRuns() {
	m.runs = counters("runs_total", "Runs of resources that ended, by what came out; what failed without a run is only an error.", "kind", "outcome")
	m.changes = counters("changes_total", "Runs that changed something, by why: intended, cascade or corrective.", "kind", "class")
	m.errors = counters("errors_total", "Failures of resources: runs, and what failed without one, as a watch or a value that was refused.", "kind")
	m.refreshes = counters("refreshes_total", "Runs that answered a notification.", "kind")
	m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: prefix + "run_duration_seconds", Help: "How long runs took.", Buckets: []float64{1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600},
	}, []string{"kind"})
	m.latency = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: prefix + "event_latency_seconds", Help: "From an event to the start of the run that answers it.",
		Buckets: []float64{1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60},
	})
	m.own.MustRegister(m.runs, m.changes, m.errors, m.refreshes, m.duration, m.latency)
}

func (m *Metrics) makeGraph() {
	one := func(name, help string) prometheus.Gauge { return gauge(name, help).WithLabelValues() }
	m.swaps = counters("graphs_total", "Graphs that took effect.").WithLabelValues()
	m.refused = counters("graphs_refused_total", "Graphs that could not be used; the last good one went on.").WithLabelValues()
	m.generation = one("graph_generation", "Number of the graph in effect, 0 before the first one.")
	m.converged = one("converged", "Whether the graph is at rest: 1 or 0.")
	m.rested = one("last_converged_timestamp_seconds", "When the graph last came to rest, 0 for never.")
	m.paused = one("paused", "Whether an operator has paused everything: 1 or 0.")
	m.holds = counters("holds_total", "How often a brake took hold of a resource.", "brake")
	for _, brake := range []string{reactor.BrakeBudget, reactor.BrakeFight} {
		m.holds.WithLabelValues(brake)
	}
	m.own.MustRegister(m.swaps, m.refused, m.generation, m.converged, m.rested, m.paused, m.holds)
}

// Listener returns what a reactor has to tell. Its functions are called on the loop
// of one reactor.
func (m *Metrics) Listener() reactor.Listener {
	return reactor.Listener{Swapped: m.Swapped, Ran: m.Ran, Converged: m.Converged, Paused: m.Paused, Held: m.Held}
}

// Swapped counts a graph that took effect.
func (m *Metrics) Swapped(s reactor.Swap) {
	m.swaps.Inc()
	m.generation.Set(float64(s.Generation))
}

// Refused counts a graph that could not be used.
func (m *Metrics) Refused() { m.refused.Inc() }

// Converged notes that the graph came to rest, or that something has happened.
func (m *Metrics) Converged(yes bool, _ reactor.Counts) {
	if !yes {
		m.converged.Set(0)
		return
	}
	m.converged.Set(1)
	m.rested.Set(float64(m.now().UnixMilli()) / 1000)
}

// Paused notes the begin of a pause, or its end. Those of one resource show in
// mgmt_resources.
func (m *Metrics) Paused(p reactor.Pause, on bool) {
	if p.Resource == "" {
		m.paused.Set(truth(on))
	}
}

// Held counts that a brake took hold of a resource.
func (m *Metrics) Held(_ string, h *reactor.Held) {
	if h != nil {
		m.holds.WithLabelValues(h.Brake).Inc()
	}
}

// Ran counts a run, or a failure without one as an error alone. It is called by one
// goroutine, the loop.
func (m *Metrics) Ran(r reactor.Run) {
	kind, _, _ := strings.Cut(r.Resource, "[")
	k := m.kinds[kind]
	if k == nil {
		k = m.kind(kind)
	}
	if r.State == engine.StateFailed {
		k.errors.Inc()
	}
	if r.Duration > 0 { // else CheckApply was not called
		m.ran(k, &r)
	}
}

func (m *Metrics) ran(k *kindMetrics, r *reactor.Run) {
	k.runs[outcomeOf(r)].Inc()
	k.duration.Observe(r.Duration.Seconds())
	if answersEvent(r) {
		m.latency.Observe(r.Waited.Seconds())
	}
	if r.Changed && int(r.Class) < numClasses {
		k.changes[r.Class].Inc()
	}
	if r.Refreshed {
		k.refreshes.Inc()
	}
}

// answersEvent reports whether an event was the first that asked for a run, so that
// Waited is its latency.
func answersEvent(r *reactor.Run) bool {
	return len(r.Triggers) > 0 && r.Triggers[0].Cause == reactor.CauseEvent
}

func outcomeOf(r *reactor.Run) outcome {
	switch {
	case r.State == engine.StateFailed:
		return outcomeFailed
	case r.Changed:
		return outcomeChanged
	case r.State == engine.StateWouldChange:
		return outcomeWouldChange
	case r.State == engine.StateUnknown:
		return outcomeUnknown
	case r.State == engine.StateHeld:
		return outcomeHeld
	default:
		return outcomeOK
	}
}

// kind returns the series of a kind that is new.
func (m *Metrics) kind(name string) *kindMetrics {
	if len(m.kinds) >= MaxKinds && name != OtherKinds {
		if k := m.kinds[OtherKinds]; k != nil {
			return k
		}
		return m.kind(OtherKinds)
	}
	k := &kindMetrics{
		errors:    m.errors.WithLabelValues(name),
		refreshes: m.refreshes.WithLabelValues(name),
		duration:  m.duration.WithLabelValues(name),
	}
	for i, word := range outcomeWords {
		k.runs[i] = m.runs.WithLabelValues(name, word)
	}
	for i := range k.changes {
		k.changes[i] = m.changes.WithLabelValues(name, reactor.Class(i).String())
	}
	m.kinds[strings.Clone(name)] = k
	return k
}

const prefix = "mgmt_"

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}
