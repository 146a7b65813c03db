package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/metrics"
)

// defaultMetrics is where --prometheus serves, as in mgmt.
const defaultMetrics = "127.0.0.1:9233"

// metricsFlags are the flags that say who can read the metrics. Without an address and a file
// there is no reader, and the counts are kept for the API alone.
type metricsFlags struct {
	// addr is HOST:PORT, empty for no listener.
	addr string
	// remote allows an address beyond loopback.
	remote bool
	// textfile is a path that ends in .prom, as the collector of node_exporter wants it.
	textfile string
}

// flags adds the flags of the metrics.
func (f *metricsFlags) flags(cmd *cobra.Command) {
	bind(cmd, "prometheus", &f.addr)
	bind(cmd, "prometheus_remote", &f.remote)
	bind(cmd, "metrics_textfile", &f.textfile)
	_ = cmd.MarkFlagFilename("metrics-textfile", "prom")
}

// exports are the metrics of a run, and who reads them.
// The verb that has opened them closes them, after stop.
type exports struct {
	*metrics.Metrics
	listener net.Listener // nil for none
	textfile string
	ended    atomic.Pointer[mgmt.Counts] // how the graph stood when Run ended
}

// textfileEvery is how old the figures of the textfile are at most. scrapers bounds the cost of a
// reader that opens one connection after the other.
const (
	textfileEvery = 15 * time.Second
	scrapers      = 64 // connections for metrics at once
)

// open takes the address, so that an address in use is an error before anything is altered. The
// caller closes the result. An address that other machines reach needs a flag of its own, since
// the listener has no other guard. A caller over TCP is unknown, and the metrics are a public
// route.
func (f *metricsFlags) open() (*exports, error) {
	x := &exports{Metrics: metrics.New(metrics.Options{Version: version()}), textfile: f.textfile}
	if f.textfile != "" {
		if err := metrics.CheckTextfile(f.textfile); err != nil {
			return nil, fmt.Errorf("--metrics-textfile: %w", err)
		}
		// The first file is written now. So a folder that is missing, or that refuses us, is an
		// error of the start.
		if err := x.WriteTextfile(f.textfile); err != nil {
			return nil, fmt.Errorf("--metrics-textfile: %w", err)
		}
	}
	if f.addr == "" {
		return x, nil
	}
	l, err := httpd.ListenTCP(f.addr, f.remote)
	if _, ok := errors.AsType[*httpd.RemoteError](err); ok {
		return nil, fmt.Errorf("--prometheus: other machines could read the metrics at %s: add --prometheus-remote if they may, or use %s", f.addr, defaultMetrics)
	}
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	x.listener = l
	return x, nil
}

// close ends the listening.
// A server that ran on the listener has closed it already, so the error says nothing.
func (x *exports) close() {
	if x.listener != nil {
		_ = x.listener.Close()
	}
}

// observe adds the counting to the events of the engine.
// The functions run on the goroutine of the observer, and take no lock; see package metrics.
func (x *exports) observe(o mgmt.Observer) mgmt.Observer {
	return o.With(mgmt.Observer{
		Swapped: x.Swapped, Ran: x.Ran, Paused: x.Paused, Held: x.Held, Converged: x.Converged, Refused: x.Refused,
	})
}

// start serves the metrics of an engine until the returned function is called, which
// is after Run: then the textfile says how the graph stood at the end.
// The context of the server outlives that of the run, so a scraper still reads how it
// ended.
func (x *exports) start(ctx context.Context, e *mgmt.Engine, log *slog.Logger) (stop func()) {
	x.SetSource(func(ctx context.Context) (metrics.Sample, error) { return x.sample(ctx, e) })
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	if x.listener != nil {
		log.Info("metrics are served", "address", x.listener.Addr().String())
		wg.Go(func() {
			if err := x.server(log).Serve(life, x.listener); err != nil {
				log.Error("metrics are no longer served", "error", err)
			}
		})
	}
	if x.textfile != "" {
		wg.Go(func() { x.keepTextfile(life, log) })
	}
	// The counts are stored before the server ends: a scrape in between gets those of the end.
	return func() {
		counts := e.Report().Counts
		x.ended.Store(&counts)
		end()
		wg.Wait()
	}
}

// server tells the metrics to everybody who reaches it.
// The limits are times for a head, for an answer, and for a connection that is idle.
func (x *exports) server(log *slog.Logger) *httpd.Server {
	return &httpd.Server{
		Table: httpd.MustTable(httpd.Info{Title: "The metrics of a daemon"}, []httpd.Route{{
			Method: "GET", Pattern: "/metrics", Summary: "The metrics, for Prometheus.", AnyQuery: true, Types: []string{"text/plain"}, Public: true, Serve: x.Handler(),
		}}),
		Limits: httpd.Limits{Connections: scrapers, Head: 5 * time.Second, Slow: 10 * time.Second, Idle: time.Minute}, Logger: log,
	}
}

// keepTextfile writes the textfile from time to time, and once more at the end.
// A failure is logged when it begins.
// A failure that goes on is not logged again until it has worked once.
// The goroutine is that of start. A full disk costs the figures of that moment alone: the file
// before stays as it is, since it is replaced in one step.
func (x *exports) keepTextfile(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(textfileEvery)
	defer tick.Stop()
	well := true
	for more := true; more; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			more = false
		}
		err := x.WriteTextfile(x.textfile)
		if err != nil && well {
			log.Warn("the textfile for node_exporter", "error", err)
		}
		well = err == nil
	}
}

// sample says how the graph of an engine stands, or stood at the end.
// It never blocks longer than ctx allows. After the end of the run it asks the engine only for
// figures of the host.
func (x *exports) sample(ctx context.Context, e *mgmt.Engine) (s metrics.Sample, err error) {
	if c := x.ended.Load(); c != nil {
		s.Counts = *c
	} else if s.Counts, err = e.Counts(ctx); err != nil {
		return s, err
	}
	h := e.HostStats()
	s.Resyncs, s.Subscriptions, s.Watches, s.Polled = h.Resyncs, h.Subscriptions, h.Watches, h.Polled
	return s, nil
}
