package past

import (
	"context"
	"fmt"
	"iter"

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

// take yields what stands for a graph of the input: the pinned one, or the graph itself. It reports whether the iteration goes on.
func (s *sequence) take(d *gapi.Declared) bool {
	if s.f.k.Pinned() != nil {
		d = d.Complete()
		if p := s.f.k.pinned(d); p != nil {
			if taken, more := s.pinned(d, p); taken {
				return more
			}
		}
	}
	if s.replaced {
		d = d.Complete()
	}
	s.replaced = false
	_, more := s.pass(d, nil, nil)
	return more
}

// pinned yields the graph of a pin. Taken is false where it can't take effect.
func (s *sequence) pinned(d *gapi.Declared, p *pin) (taken, more bool) {
	g, err := s.read(p.Number)
	if err != nil {
		s.f.k.drop("it can't be read", p, "error", err)
		return false, true
	}
	g.Again, g.Origin = true, provenance.Origin{By: p.By, Path: fmt.Sprintf("graph %d of mgmt history", p.Number)}
	s.replaced = true
	out, more := s.pass(g, p, d.Done)
	if !more || out.Err == nil || out.Held {
		return true, more
	}
	s.f.k.drop("it was refused", p, "error", out.Err)
	return false, true
}

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

// pass yields a graph, and notes it where it takes effect.
func (s *sequence) pass(d *gapi.Declared, p *pin, also func(gapi.Outcome)) (out gapi.Outcome, more bool) {
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
			k.took(&effect{d: d, at: k.o.Clock.Now(), origin: d.Origin, pin: p})
		}
	}
	more = s.yield(&own, nil)
	return out, more
}
