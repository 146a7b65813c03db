package past

import (
	"context"
	"fmt"
	"iter"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Beside returns a frontend whose graphs are kept when they take effect, and give way to a rollback. The options are those by which kept
// graphs are read.
func (k *Keeper) Beside(front gapi.Frontend, o func() yaml.Options) gapi.Frontend {
	return &frontend{front, k, o}
}

type frontend struct {
	gapi.Frontend
	k       *Keeper
	options func() yaml.Options
}

// Graphs implements gapi.Frontend.
func (f *frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		s := &sequence{f: f, env: env, yield: yield}
		for d, err := range f.Frontend.Graphs(ctx, env) {
			if err != nil && !yield(nil, err) || err == nil && !s.take(d) {
				return
			}
		}
	}
}

// sequence is one iteration.
type sequence struct {
	f        *frontend
	env      gapi.Env
	yield    func(*gapi.Declared, error) bool
	replaced bool // the graph that was yielded last is not the one of the input
}

// take yields what stands for a graph of the input: the pinned one, with what was undone, or the graph itself. It reports whether the iteration
// goes on.
func (s *sequence) take(d *gapi.Declared) bool {
	if k := s.f.k; k.stands() {
		d = d.Complete()
		if p, held := k.over(d); p != nil || len(held) > 0 {
			if taken, more := s.over(d, p, held); taken {
				return more
			}
		}
	}
	if s.replaced {
		d = d.Complete()
	}
	s.replaced = false
	_, more := s.pass(d, d, nil, nil)
	return more
}

// over yields the graph of a pin, or that of the input, with what was undone. Taken is false where it can't take effect.
func (s *sequence) over(d *gapi.Declared, p *pin, held []Held) (taken, more bool) {
	k, base, done := s.f.k, d, func(gapi.Outcome) {}
	if p != nil {
		g, err := s.read(p.Number)
		if err != nil {
			k.drop("the graph can't be read", "error", err)
			return false, true
		}
		g.Origin = provenance.Origin{By: p.By, Path: fmt.Sprintf("graph %d of mgmt history", p.Number)}
		base = g
		if d.Done != nil {
			done = d.Done
		}
	}
	whole := base
	if len(held) > 0 {
		whole = k.undone(base, held, s.kinds())
	}
	own := *whole
	own.Again = true
	s.replaced = true
	out, more := s.pass(&own, base, p, done)
	if !more || out.Err == nil || out.Held {
		return true, more
	}
	k.drop("the graph with it was refused", "error", out.Err)
	return false, true
}

// kinds returns those of the next graph.
func (s *sequence) kinds() *engine.Registry { return s.with().Registry() }

func (s *sequence) read(number int) (*gapi.Declared, error) {
	doc, err := s.f.k.load(number)
	if err != nil {
		return nil, err
	}
	return doc.read(fmt.Sprintf("graph %d", number), s.with())
}

// with returns the options for this machine.
func (s *sequence) with() yaml.Options {
	o := s.f.options()
	if s.env.Registry != nil {
		o.Registry = s.env.Registry
	}
	if s.env.Host != nil {
		o.Facts = func() map[string]any { return s.env.Host.Facts().Map() }
	}
	return o
}

// pass yields a graph, and notes its base where it takes effect.
func (s *sequence) pass(d, base *gapi.Declared, p *pin, also func(gapi.Outcome)) (out gapi.Outcome, more bool) {
	k, done := s.f.k, d.Done
	own := *d
	own.Done = func(o gapi.Outcome) {
		out = o
		for _, f := range []func(gapi.Outcome){done, also} {
			if f != nil {
				f(o)
			}
		}
		if o.Err == nil {
			k.took(&effect{d: base, at: k.o.Clock.Now(), origin: d.Origin, pin: p})
		}
	}
	more = s.yield(&own, nil)
	return out, more
}
