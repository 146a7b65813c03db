package reactor

import (
	"context"
	"errors"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
)

// semasOf returns the semaphores that vertices ask for: those that hosts share, or the others.
func semasOf(vs []*vertex, shared bool) (texts []string) {
	for _, v := range vs {
		for _, text := range v.meta.Sema {
			if _, _, is := engine.SharedSema(text); is == shared {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// The errors of a run that needs a place of a semaphore that hosts share.
var (
	errNoPlace   = errors.New("a semaphore that hosts share needs a store that they share")
	errPlaceLost = errors.New("the place of a semaphore that hosts share is lost: the store was out of reach, and another host may have the place")
)

// place takes the places of semaphores that hosts share, for the vertices that are about to be altered. A run that finds
// all right needs none. It returns the context for the rest of the run, which ends with the loss of a place, and
// begins the timeout anew where there was a wait. Where a place cannot be had, outs gets the error.
func (x *runner) place(whole, ctx context.Context, vs []*vertex, outs []engine.Outcome) (placed context.Context, release func()) {
	var needs []*vertex
	for i, v := range vs {
		if outs[i].Err == nil && (!outs[i].OK || v.run.refresh.Load()) {
			needs = append(needs, v)
		}
	}
	texts := semasOf(needs, true)
	if len(texts) == 0 {
		return ctx, func() {}
	}
	held, err := x.takePlaces(whole, vs[0], texts)
	if err != nil {
		held.release()
		for i, v := range vs {
			if slices.Contains(needs, v) {
				outs[i] = engine.Outcome{Err: err}
			}
		}
		return ctx, func() {}
	}
	timed, stop := withTimeout(whole, vs[0].meta.Timeout)
	placed, end := context.WithCancelCause(timed)
	for _, lost := range held.lost {
		go func() {
			select {
			case <-lost:
				end(errPlaceLost)
			case <-placed.Done():
			}
		}()
	}
	return placed, func() {
		end(nil)
		stop()
		held.release()
	}
}

// semaPlaces are those that a run holds.
type semaPlaces struct {
	free []func()
	lost []<-chan struct{}
}

func (p *semaPlaces) release() {
	for _, free := range slices.Backward(p.free) {
		free()
	}
}

// takePlaces takes one after the other, in an order that is the same on all hosts, so that two runs never wait for
// each other. The run gives its slot back meanwhile.
func (x *runner) takePlaces(ctx context.Context, lead *vertex, texts []string) (p *semaPlaces, err error) {
	p = &semaPlaces{}
	if x.r.opt.Place == nil {
		return p, errNoPlace
	}
	defer lead.wait(ctx)()
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		name, count, err := engine.ParseSema(text)
		if err != nil {
			return p, err
		}
		topic, name, _ := engine.SharedSema(name)
		free, lost, err := x.r.opt.Place(ctx, topic, name, count)
		if err != nil {
			return p, err
		}
		p.free, p.lost = append(p.free, free), append(p.lost, lost)
	}
	return p, nil
}
