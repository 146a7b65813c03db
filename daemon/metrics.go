package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/metrics"
	"github.com/reactivegraph/mgmt/engine/reactor"
)

// DefaultMetrics is the usual address of the metrics.
const DefaultMetrics = "127.0.0.1:9233"

// Metrics says where the metrics are served. The socket has them in any case.
type Metrics struct {
	Address  string // HOST:PORT; empty for no listener
	Remote   bool   // allows an address beyond loopback
	Textfile string // for the textfile collector of node_exporter: a path that ends in .prom; empty for none
}

// metricsPart counts events and serves the counts.
type metricsPart struct {
	Metrics
	counts   *metrics.Metrics
	log      *slog.Logger
	notices  func() []notices.Status
	traces   func() *metrics.Traces
	listener net.Listener                   // nil for none
	ended    atomic.Pointer[reactor.Counts] // how the graph stood when Run ended
	end      func()
}

// textfileEvery is how old the figures of the textfile are at most. scrapers bounds the cost of a
// reader that opens one connection after the other.
const (
	textfileEvery = 15 * time.Second
	scrapers      = 64 // connections for metrics at once
)

// Open implements Part. An address beyond loopback needs Metrics.Remote: the listener has no other guard.
func (x *metricsPart) Open(_ context.Context, d *Daemon) error {
	x.log, x.end = d.Log, func() {}
	x.notices = func() []notices.Status { return d.notices.Status() } // which is opened after this part
	x.traces = func() *metrics.Traces { return d.traces.counts() }
	x.counts = metrics.New(metrics.Options{Version: d.Version})
	d.Options.Observer = d.Options.Observer.With(mgmt.Observer{
		Swapped: x.counts.Swapped, Ran: x.counts.Ran, Paused: x.counts.Paused, Held: x.counts.Held, Converged: x.counts.Converged, Refused: x.counts.Refused,
	})
	if x.Textfile != "" {
		if err := metrics.CheckTextfile(x.Textfile); err != nil {
			return setting.Errorf("%v: %w", setting.MetricsTextfile, err)
		}
		// The first file is written now. So a folder that is missing, or that refuses us, is an error of the start.
		if err := x.counts.WriteTextfile(x.Textfile); err != nil {
			return setting.Errorf("%v: %w", setting.MetricsTextfile, err)
		}
	}
	if x.Address == "" {
		return nil
	}
	l, err := httpd.ListenTCP(x.Address, x.Remote)
	if _, ok := errors.AsType[*httpd.RemoteError](err); ok {
		return setting.Errorf("%v: other machines could read the metrics at %s: add %v if they may, or use %s", setting.MetricsAddress, x.Address, setting.MetricsRemote, DefaultMetrics)
	}
	if err != nil {
		return setting.Errorf("%v: %w", setting.MetricsAddress, err)
	}
	x.listener = l
	return nil
}

// Start implements Part. Metrics are served until Close, so that the last scrape sees how the run ended.
func (x *metricsPart) Start(ctx context.Context, e *mgmt.Engine) error {
	x.counts.SetSource(func(ctx context.Context) (metrics.Sample, error) { return x.sample(ctx, e) })
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	if x.listener != nil {
		x.log.Info("metrics are served", "address", x.listener.Addr().String())
		wg.Go(func() {
			if err := x.server().Serve(life, x.listener); err != nil {
				x.log.Error("metrics are no longer served", "error", err)
			}
		})
	}
	if x.Textfile != "" {
		wg.Go(func() { x.keepTextfile(life) })
	}
	x.end = func() {
		counts := e.Report().Counts
		x.ended.Store(&counts) // a scrape from now on gets those of the end
		end()
		wg.Wait()
	}
	return nil
}

// Close implements Part.
func (x *metricsPart) Close() error {
	x.end()
	if x.listener != nil {
		_ = x.listener.Close() // a server that ran on it has closed it already
	}
	return nil
}

// server answers everybody who reaches the address.
func (x *metricsPart) server() *httpd.Server {
	return &httpd.Server{
		Table: httpd.MustTable(httpd.Info{Title: "The metrics of a daemon"}, []httpd.Route{{
			Method: "GET", Pattern: "/metrics", Summary: "The metrics, for Prometheus.", AnyQuery: true, Types: []string{"text/plain"}, Public: true, Serve: x.counts.Handler(),
		}}),
		Limits: httpd.Limits{Connections: scrapers, Head: 5 * time.Second, Slow: 10 * time.Second, Idle: time.Minute}, Logger: x.log,
	}
}

// keepTextfile writes the textfile every textfileEvery and once at the end. A failure is logged when it begins. The file before stays until
// the next one is complete.
func (x *metricsPart) keepTextfile(ctx context.Context) {
	tick := time.NewTicker(textfileEvery)
	defer tick.Stop()
	well := true
	for more := true; more; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			more = false
		}
		err := x.counts.WriteTextfile(x.Textfile)
		if err != nil && well {
			x.log.Warn("the textfile for node_exporter", "error", err)
		}
		well = err == nil
	}
}

// sample returns the counts of now, or those of the end when the run is over.
func (x *metricsPart) sample(ctx context.Context, e *mgmt.Engine) (s metrics.Sample, err error) {
	if c := x.ended.Load(); c != nil {
		s.Counts = *c
	} else {
		now, err := e.Snapshot(ctx)
		if err != nil {
			return s, err
		}
		s.Counts = now.Rest.Counts
	}
	for _, r := range x.notices() {
		s.Notices = append(s.Notices, metrics.Notices{Receiver: r.Name, Queued: r.Messages, Sent: r.Sent, Failed: r.Failed, Dropped: r.Dropped})
	}
	s.Traces = x.traces()
	h := e.HostStats()
	s.Resyncs, s.Subscriptions, s.Watches, s.Polled = h.Resyncs, h.Subscriptions, h.Watches, h.Polled
	return s, nil
}
