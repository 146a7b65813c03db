package host

import (
	"context"
	"os"
	"runtime"
	"sync"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosting"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Start implements hosting.Starter.
func (h *Host) Start(ctx context.Context, c engine.Command, files []*os.File) (hosting.Process, error) {
	if err := h.commands.begin(); err != nil {
		return nil, err
	}
	c.Stdin, c.Cost, c.Alone, c.MaxOutput = nil, "", true, 1 // its lines are the caller's
	p, err := h.startKept(ctx, &c, files)
	if err != nil {
		h.commands.all.Done()
		return nil, err
	}
	go p.run()
	return p, nil
}

// startKept starts a program that goes on after the call: ctx bounds the start alone. The program ends by Stop, or with the Host.
func (h *Host) startKept(ctx context.Context, c *engine.Command, files []*os.File) (*kept, error) {
	attr, path, dir, err := prepare(c)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	r := &run{c: c, host: h, out: newOutput(c), kept: true, more: files}
	if err := r.start(ctx, path, c.Argv, attr); err != nil {
		r.close()
		return nil, err
	}
	p := &kept{r: r, done: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background()) // until Stop, or the end of the Host
	return p, nil
}

// kept is a program that goes on.
type kept struct {
	r    *run
	life context.Context
	end  context.CancelFunc
	done chan struct{}
	once sync.Once // closes the standard input
	res  *engine.Result
}

// run waits for the end of the process on a goroutine that the Host waits for.
func (p *kept) run() {
	defer p.r.host.commands.all.Done()
	defer close(p.done)
	defer p.r.close()
	_ = p.r.wait(p.life)
	p.res = p.r.result()
	p.res.Stdout, p.res.Stderr, p.res.Output, p.res.Truncated = nil, nil, nil, false // its lines were given out
}

// Pid implements hosting.Process.
func (p *kept) Pid() int { return p.r.proc.Pid }

// Done implements hosting.Process.
func (p *kept) Done() <-chan struct{} { return p.done }

// Result implements hosting.Process.
func (p *kept) Result() *engine.Result { <-p.done; return p.res }

// Limit implements hosting.Process. Of a process that has ended it is os.ErrProcessDone: its number may be another's.
func (p *kept) Limit(memory uint64) error {
	cs := &p.r.host.commands
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, runs := cs.running[p.r.proc]; !runs {
		return os.ErrProcessDone
	}
	return unix.LimitData(p.r.proc.Pid, memory)
}

// Stop implements hosting.Process.
func (p *kept) Stop(ctx context.Context) {
	p.once.Do(func() { p.r.in.Close() })
	late := clock.NewTimer(p.r.host.clock, p.r.c.Grace)
	defer late.Stop()
	select {
	case <-p.r.proc.exited:
	case <-late.C:
	case <-ctx.Done():
		p.r.proc.kill()
	}
	p.end() // the signal, the grace, and SIGKILL; nothing where it has ended
	select {
	case <-p.done:
	case <-ctx.Done():
		p.r.proc.kill()
		<-p.done
	}
}

// forks starts programs that the kernel kills when this process ends. The kernel goes by the thread that has started a
// program, so one thread that lives as long as the Host starts all of them.
type forks struct {
	mu   sync.Mutex
	work chan func() // nil before the first, and after close
}

// start is startProcess on that thread.
func (f *forks) start(ctx context.Context, clock clock.Clock, path string, argv []string, attr *os.ProcAttr) (p *os.Process, err error) {
	done := make(chan struct{})
	f.mu.Lock()
	if f.work == nil {
		f.work = make(chan func())
		go serveForks(f.work)
	}
	f.work <- func() {
		defer close(done)
		p, err = startProcess(ctx, clock, path, argv, attr)
	}
	f.mu.Unlock()
	<-done
	return p, err
}

// serveForks runs until the channel is closed. Its thread ends with it.
func serveForks(work <-chan func()) {
	runtime.LockOSThread()
	for f := range work {
		f()
	}
}

func (f *forks) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.work != nil {
		close(f.work)
		f.work = nil
	}
}
