package reactor

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/semaphore"
)

// semasOf returns the semaphores that vertices ask for: the ones that hosts share, or the others.
func semasOf(vs []*vertex, shared bool) (texts []string) {
	for _, v := range vs {
		texts = append(texts, semasIn(v.meta, shared)...)
	}
	return texts
}

func semasIn(m *engine.MetaParams, shared bool) (texts []string) {
	for _, text := range m.Sema {
		if _, _, is := semaphore.Shared(text); is == shared {
			texts = append(texts, text)
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
	having, end := context.WithCancelCause(whole)
	held, err := x.takePlaces(having, end, vs[0], texts)
	if err != nil {
		end(nil)
		held.release()
		for i, v := range vs {
			if slices.Contains(needs, v) {
				outs[i] = engine.Outcome{Err: err}
			}
		}
		return ctx, func() {}
	}
	for i, v := range vs {
		if v.run.job.unwanted.Load() {
			outs[i] = engine.Outcome{Err: errUnwanted} // another graph has taken effect during the wait
		}
	}
	placed, stop := x.withTimeout(having, vs[0].meta.Timeout)
	return placed, func() {
		stop()
		end(nil)
		held.release()
	}
}

// semaPlaces are the places that a run holds.
type semaPlaces struct {
	free []func()
	lost []<-chan struct{}
}

func (p *semaPlaces) release() {
	for _, free := range slices.Backward(p.free) {
		free()
	}
}

// isLost reports whether one of them is lost.
func (p *semaPlaces) isLost() bool {
	return slices.ContainsFunc(p.lost, func(lost <-chan struct{}) bool {
		select {
		case <-lost:
			return true
		default:
			return false
		}
	})
}

// takePlaces takes one after the other, in an order that is the same on all hosts, so that two runs never wait for
// each other. The run gives its slot back meanwhile. The loss of a place ends ctx by end, also during the wait for
// another one.
func (x *runner) takePlaces(ctx context.Context, end context.CancelCauseFunc, lead *vertex, texts []string) (p *semaPlaces, err error) {
	p = &semaPlaces{}
	if x.opt.Place == nil {
		return p, errNoPlace
	}
	list, err := sharedSemas(texts)
	if err != nil {
		return p, err
	}
	defer lead.wait(ctx)()
	for _, text := range list {
		name, count, _ := semaphore.Parse(text)
		topic, name, _ := semaphore.Shared(name)
		free, lost, err := x.opt.Place(ctx, topic, name, count)
		if err != nil {
			return p, err
		}
		p.free, p.lost = append(p.free, free), append(p.lost, lost)
		go func() {
			select {
			case <-lost:
				end(errPlaceLost)
			case <-ctx.Done():
			}
		}()
	}
	if p.isLost() {
		return p, errPlaceLost
	}
	return p, nil
}

// sharedSemas returns the texts of semaphores in one form, each once, in an order that is the same on all hosts. Two texts
// may name one semaphore: all/up and all/up:1.
func sharedSemas(texts []string) (list []string, err error) {
	for _, text := range texts {
		name, count, err := semaphore.Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, name+":"+strconv.Itoa(count))
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
