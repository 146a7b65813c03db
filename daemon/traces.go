package daemon

import (
	"cmp"
	"context"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/traces"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/metrics"
)

// tracesPart sends a span for each run to a collector. Without an endpoint it hears of no run.
type tracesPart struct {
	*traces.Exporter // nil for none
	d                *Daemon
}

// Open implements Part.
func (p *tracesPart) Open(_ context.Context, d *Daemon) error {
	p.d = d
	if d.Traces.Endpoint == "" {
		return nil
	}
	o := d.Traces
	o.Service, o.Host, o.Version, o.Clock, o.Log = cmp.Or(o.Service, d.Program), d.Host, d.Version, clock.System{}, d.Log
	p.Exporter = traces.New(o)
	d.Options.Observer = d.Options.Observer.With(mgmt.Observer{Ran: p.Ran})
	return nil
}

// Start implements Part.
func (p *tracesPart) Start(context.Context, *mgmt.Engine) error {
	if p.Exporter != nil {
		p.d.Go(p.Run)
	}
	return nil
}

// counts returns the figures; nil where no spans are sent.
func (p *tracesPart) counts() *metrics.Traces {
	if p.Exporter == nil {
		return nil
	}
	sent, dropped := p.Counts()
	return &metrics.Traces{Sent: sent, Dropped: dropped}
}

// Close implements Part.
func (p *tracesPart) Close() error { return nil }
