package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactivegraph/mgmt/engine"
)

// sampleWait is how long a scrape waits for the loop.
const sampleWait = time.Second

// sampler shows a Sample: it asks for one at each scrape.
type sampler struct{ m *Metrics }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

var (
	descResponding = describe("responding", "Whether the scheduler answered this scrape: 1 or 0.")
	descResources  = describe("resources", "Resources of the graph by state.", "state")
)

// readings are what a Sample says beside its counts.
var readings = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*Sample) float64
}{
	{describe("waiting", "Resources that have something to do and wait: for one above them, for settle or limit, or for a free slot."), prometheus.GaugeValue,
		func(s *Sample) float64 { return float64(s.Counts[engine.StateWaiting]) }},
	{describe("watch_resyncs_total", "How often file events were lost and everything was looked at again."), prometheus.CounterValue,
		func(s *Sample) float64 { return float64(s.Resyncs) }},
	{describe("watch_subscriptions", "Subscriptions of resources to files."), prometheus.GaugeValue,
		func(s *Sample) float64 { return float64(s.Subscriptions) }},
	{describe("watched_directories", "Folders that the kernel watches for the engine."), prometheus.GaugeValue,
		func(s *Sample) float64 { return float64(s.Watches) }},
	{describe("polled_directories", "Folders that are polled because the kernel does not watch them."), prometheus.GaugeValue,
		func(s *Sample) float64 { return float64(s.Polled) }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (s *sampler) Describe(ch chan<- *prometheus.Desc) {
	ch <- descResponding
	ch <- descResources
	for _, r := range readings {
		ch <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (s *sampler) Collect(ch chan<- prometheus.Metric) {
	source := s.m.source.Load()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sampleWait)
	defer cancel()
	sample, err := (*source)(ctx)
	ch <- prometheus.MustNewConstMetric(descResponding, prometheus.GaugeValue, truth(err == nil))
	if err != nil {
		return
	}
	for state, n := range sample.Counts {
		ch <- prometheus.MustNewConstMetric(descResources, prometheus.GaugeValue, float64(n), engine.State(state).String())
	}
	for _, r := range readings {
		ch <- prometheus.MustNewConstMetric(r.desc, r.kind, r.of(&sample))
	}
}
