package reactor

import (
	"math"
	"sync"
)

// pool are the goroutines that run tasks, each one task after the other while there are some, so that a wave of runs pays for few
// goroutines, few wake-ups and few grown stacks. When the graph is at rest one is left, so that a repair begins on a stack that has
// grown already.
//
// A task that is given waits for no run of another one: a worker that takes a task has the next worker woken first, if there are more
// tasks. One worker is being woken at a time. So short tasks are run by few workers, and long ones all at once.
type pool struct {
	runner  runner
	workers sync.WaitGroup // all of them
	busy    bool           // a task was given since dismiss; of the loop
	jobs    jobs           // of the loop
	given   []task         // that no worker sees yet; of the loop
	wide    bool           // see widen; of the loop

	mu     sync.Mutex // guards the rest
	tasks  []task
	taken  int // of the tasks
	idle   []chan bool
	most   int  // workers that may be idle
	waking bool // a worker was told to look for tasks, and has not looked yet
}

// giveAtOnce is how many tasks the workers get in one step: each step is a look at what the workers share.
const giveAtOnce = quickAtOnce

// assignWork has a task run, after handOver at the latest. The loop calls it.
func (p *pool) assignWork(t task) {
	if p.given = append(p.given, t); len(p.given) == giveAtOnce {
		p.handOver()
	}
}

// handOver gives the assigned tasks to the workers. The loop calls it.
func (p *pool) handOver() {
	if len(p.given) == 0 {
		return
	}
	p.busy = true
	p.mu.Lock()
	p.tasks, p.most = append(p.tasks, p.given...), math.MaxInt
	p.wakeOne()
	p.mu.Unlock()
	clear(p.given)
	p.given = p.given[:0]
}

// wakeOne has a worker look for tasks, a new one if none is idle. The caller holds mu.
func (p *pool) wakeOne() {
	if p.waking || p.taken == len(p.tasks) {
		return
	}
	p.waking = true
	if last := len(p.idle) - 1; last >= 0 {
		p.idle[last] <- true // it has room
		p.idle = p.idle[:last]
		return
	}
	p.workers.Go(p.work)
}

// work is the goroutine of a worker. A run posts its end to the loop, which may
// give the next task before the worker has come back here. A run that ends the goroutine leaves its tasks to another worker.
func (p *pool) work() {
	returned := false
	defer func() {
		if !returned {
			p.workers.Go(p.work)
		}
	}()
	look := make(chan bool, 1)
	for {
		p.mu.Lock()
		p.waking = false
		p.runAll()
		idle := len(p.idle) < p.most
		if idle {
			p.idle = append(p.idle, look)
		}
		p.mu.Unlock()
		if !idle || !<-look {
			returned = true
			return
		}
	}
}

// runAll runs tasks until there is none. The caller holds mu, which is given up meanwhile.
func (p *pool) runAll() {
	for p.taken < len(p.tasks) {
		t := p.tasks[p.taken]
		p.tasks[p.taken] = task{}
		if p.taken++; p.taken == len(p.tasks) {
			p.tasks, p.taken = p.tasks[:0], 0
		}
		p.wakeOne()
		p.mu.Unlock()
		p.runner.run(t)
		p.mu.Lock()
	}
}

// dismiss ends the idle workers but some, and those beyond that become idle before the next task. The loop calls it.
func (p *pool) dismiss(but int) {
	p.busy = false
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.most = but; len(p.idle) > but; {
		last := len(p.idle) - 1
		p.idle[last] <- false
		p.idle = p.idle[:last]
	}
}

// widen returns the bound on the runs at once, by the kind of the vertex that was started last. So at most one run of another kind
// goes beyond the bound for such kinds.
func (p *pool) widen(o *Options, v *vertex) int {
	p.wide = o.mayWiden && v.abil.quick == quickAfter
	if p.wide {
		return max(o.Parallel, quickAtOnce)
	}
	return o.Parallel
}
