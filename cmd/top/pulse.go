package top

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/control"
)

// pulse is how busy a resource is, by its events.
type pulse struct {
	runs     decayed // with something to tell
	restless decayed // changes, failures and holds
	took     time.Duration
}

// How long a decayed count remembers.
const (
	rateSpan     = time.Minute
	restlessSpan = time.Hour
)

// decayed is a count that forgets: what is a span ago counts about a third. Under a steady rate it is the number within the span.
type decayed struct {
	n  float64
	at time.Time
}

func (d decayed) value(now time.Time, span time.Duration) float64 {
	if d.n == 0 || now.Before(d.at) {
		return d.n
	}
	return d.n * math.Exp(-float64(now.Sub(d.at))/float64(span))
}

func (d *decayed) add(at time.Time, span time.Duration) {
	d.n, d.at = d.value(at, span)+1, at
}

// count counts an event of the resource.
func (p *pulse) count(e *control.Event) {
	if e.Run > 0 {
		p.runs.add(e.At, rateSpan)
		p.took = time.Duration(e.Seconds * float64(time.Second))
	}
	switch e.Outcome {
	case control.Changed, control.Failed, control.Held:
		p.restless.add(e.At, restlessSpan)
	}
}

// maxEvents is how many events an activity keeps.
const maxEvents = 1000

// activity is what the events tell.
type activity struct {
	pulses map[string]*pulse // by resource
	rate   decayed           // of all events
	events []*control.Event  // the newest last
}

func (a *activity) add(list []*control.Event) {
	for _, e := range list {
		a.rate.add(e.At, rateSpan)
		if e.Resource == "" {
			continue
		}
		p := a.pulses[e.Resource]
		if p == nil {
			p = &pulse{}
			a.pulses[e.Resource] = p
		}
		p.count(e)
	}
	a.events = append(a.events, list...)
	if more := len(a.events) - maxEvents; more > 0 {
		a.events = slices.Delete(a.events, 0, more)
	}
}

// keep forgets the pulses of resources that are not there.
func (a *activity) keep(there map[string]bool) {
	maps.DeleteFunc(a.pulses, func(id string, _ *pulse) bool { return !there[id] })
}
