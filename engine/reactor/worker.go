package reactor

import (
	"context"
	"sync"
)

// worker is a goroutine that runs one task after the other while there is work,
// so that a wave of runs pays for few goroutines and few grown stacks. When the
// graph is at rest one is left, so that a repair begins on a stack that has grown
// already.
type worker struct{ tasks chan task }

// pool are the workers. The loop gives them their tasks.
type pool struct {
	l       *loop
	workers sync.WaitGroup // all of them
	idle    []*worker      // those without a task
}

// task is one run: of one vertex, or of a batch.
type task struct {
	ctx context.Context
	vs  []*vertex // at least one; the end of the first, or of its heir, frees the worker

	began int64            // by the reactor's clock
	early map[*vertex]bool // that have ended before the others; nil for none
}

// assignWork gives a task to an idle worker, or to a new one.
func (p *pool) assignWork(t task) {
	var w *worker
	if last := len(p.idle) - 1; last >= 0 {
		w, p.idle = p.idle[last], p.idle[:last]
	} else {
		w = &worker{tasks: make(chan task, 1)}
		p.workers.Go(func() { p.work(w) })
	}
	t.vs[0].run.job.worker = w
	w.tasks <- t
}

// work is the goroutine of a worker. A run posts its end to the loop, which may
// give the worker its next task before it has come back here.
func (p *pool) work(w *worker) {
	for t := range w.tasks {
		p.l.r.runner.run(t)
	}
}

// freeWorker takes back the worker of a run that has ended, unless its heir still needs it.
func (p *pool) freeWorker(v *vertex) {
	w, heir := v.run.job.worker, v.run.job.out.heir
	v.run.job.worker, v.run.job.out.heir = nil, nil
	switch {
	case w == nil:
	case heir != nil && heir.run.inRun:
		heir.run.job.worker = w
	default:
		p.idle = append(p.idle, w)
	}
}

// dismiss ends the idle workers but some.
func (p *pool) dismiss(but int) {
	for len(p.idle) > but {
		last := len(p.idle) - 1
		close(p.idle[last].tasks)
		p.idle[last] = nil
		p.idle = p.idle[:last]
	}
}
