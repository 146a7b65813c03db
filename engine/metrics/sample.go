package metrics

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// sampleWait is how long a scrape waits for the loop.
const sampleWait = time.Second

// Source says how things stand. It is called for each scrape, on several
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

	Notices []Notices // by receiver
	Traces  *Traces   // nil where none are sent
}

// Traces are the figures of the spans of runs.
type Traces struct{ Sent, Dropped int }

// Notices are the figures of one receiver of notices.
type Notices struct {
	Receiver                      string
	Queued, Sent, Failed, Dropped int // messages, messages, tries, events
}

// SetSource replaces the Source.
func (m *Metrics) SetSource(s Source) { m.source.Store(&s) }

// sampleFamilies asks the Source, and tells what it says.
func (m *Metrics) sampleFamilies(ctx context.Context) []*family {
	source := m.source.Load()
	if source == nil {
		return nil
	}
	ctx, cancel := clock.WithTimeout(ctx, m.clock, sampleWait, nil)
	defer cancel()
	s, err := (*source)(ctx)
	responding := gauge("mgmt_responding", "Whether the scheduler answered this scrape: 1 or 0.").add(truth(err == nil))
	if err != nil {
		return []*family{responding}
	}
	return append(s.families(), responding)
}

func (s *Sample) families() []*family {
	resources := gauge("mgmt_resources", "Resources of the graph by state at rest.")
	for state, n := range s.Counts {
		resources.add(float64(n), "state", resgraph.State(state).String())
	}
	return append(append(s.notices(), s.traces()...), []*family{
		resources,
		gauge("mgmt_waiting", "Resources that have something to do and wait: for one above them, for settle or limit, for a free slot, or for a job or lock of another program.").
			add(float64(s.Counts[resgraph.StateWaiting])),
		counter("mgmt_watch_resyncs_total", "How often file events were lost and everything was looked at again.").add(float64(s.Resyncs)),
		gauge("mgmt_watch_subscriptions", "Subscriptions of resources to files.").add(float64(s.Subscriptions)),
		gauge("mgmt_watched_directories", "Folders that the kernel watches for the engine.").add(float64(s.Watches)),
		gauge("mgmt_polled_directories", "Folders that are polled because the kernel does not watch them.").add(float64(s.Polled)),
	}...)
}

// traces returns nothing where no spans are sent.
func (s *Sample) traces() []*family {
	if s.Traces == nil {
		return nil
	}
	return []*family{
		counter("mgmt_traces_sent_spans_total", "Spans that the collector has taken.").add(float64(s.Traces.Sent)),
		counter("mgmt_traces_dropped_spans_total", "Spans that the collector did not take in time.").add(float64(s.Traces.Dropped)),
	}
}

// notices returns nothing where nobody is told of events.
func (s *Sample) notices() []*family {
	if len(s.Notices) == 0 {
		return nil
	}
	queued := gauge("mgmt_notices_queued", "Messages that wait for their receiver.")
	sent := counter("mgmt_notices_sent_total", "Messages that their receiver has taken.")
	failed := counter("mgmt_notices_failed_total", "Tries to send a message that have failed.")
	dropped := counter("mgmt_notices_dropped_events_total", "Events that a receiver was not told of.")
	for _, n := range s.Notices {
		queued.add(float64(n.Queued), "receiver", n.Receiver)
		sent.add(float64(n.Sent), "receiver", n.Receiver)
		failed.add(float64(n.Failed), "receiver", n.Receiver)
		dropped.add(float64(n.Dropped), "receiver", n.Receiver)
	}
	return []*family{queued, sent, failed, dropped}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
