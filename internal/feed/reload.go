package feed

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/internal/install"
)

// ErrNoMore is the error of a reload that comes after the last graph.
var ErrNoMore = errors.New("the input of this graph has ended, and can't be read again")

// reloading asks the frontend to read again, and tells the askers the outcome.
// The frontend takes a question only between two graphs: so its next graph was read
// after the question.
type reloading struct {
	ask      chan struct{}        // the frontend's; unbuffered
	verdicts chan install.Verdict // one for each yielded graph
	over     chan struct{}        // closed when there will be no more graphs
}

func newReloading() *reloading {
	return &reloading{ask: make(chan struct{}), verdicts: make(chan install.Verdict), over: make(chan struct{})}
}

// run carries questions until ctx ends: those of Asks, and those of Reload, which want no answer.
func (r *reloading) run(ctx context.Context, asks <-chan chan install.Verdict, plain <-chan struct{}) {
	var waiting, taken []chan install.Verdict // before and after the frontend has taken the question
	var ask chan<- struct{}
	over := r.over
	for {
		select {
		case <-plain:
			ask = r.ask
		case answer := <-asks:
			waiting, ask = append(waiting, answer), r.ask
		case ask <- struct{}{}:
			taken, waiting, ask = append(taken, waiting...), nil, nil
		case v := <-r.verdicts:
			tellAll(taken, v)
			taken = nil
		case <-over:
			over = nil
		case <-ctx.Done():
			return
		}
		if over == nil {
			tellAll(append(taken, waiting...), install.Verdict{Refused: ErrNoMore})
			taken, waiting, ask = nil, nil, nil
		}
	}
}

func tellAll(list []chan install.Verdict, v install.Verdict) {
	for _, answer := range list {
		answer <- v // it has room for one
	}
}

// judged tells what became of a graph that the frontend has yielded.
func (d *Feed) judged(ctx context.Context, v install.Verdict) {
	select {
	case d.reloading.verdicts <- v:
	case <-ctx.Done():
	}
}
