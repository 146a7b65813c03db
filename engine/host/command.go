package host

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/internal/unix"
)

const (
	// drainWait is how long a command that has ended is waited for while others
	// hold its output open and say nothing.
	drainWait = 100 * time.Millisecond

	// A program that was just written may be held open for writing for a moment
	// by a child that another goroutine is about to start.
	busyTries = 200
	busyWait  = 10 * time.Millisecond
)

// A commands is the commands of a process that are running.
type commands struct {
	mu      sync.Mutex
	running map[*process]struct{}
	ended   bool // no more are started
	all     sync.WaitGroup
	buffers sync.Pool
}

// Command implements engine.Host. When ctx ends, or the Host, the result is what
// the command had said until then. It panics if Stdout or Stderr of c does.
func (h *Host) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if err := h.commands.begin(); err != nil {
		return nil, err
	}
	defer h.commands.all.Done()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	attr, path, dir, err := prepare(&c)
	if err != nil {
		return nil, err
	}
	argv := c.Argv
	if c.Cost != "" {
		if err := h.waitForLeft(ctx); err != nil {
			return nil, err
		}
		path, argv = h.apart(path, argv)
	}
	r := &run{c: &c, host: h, out: newOutput(&c)}
	defer r.close()
	err = r.start(ctx, path, argv, attr)
	dir.close()
	if err != nil {
		return nil, err
	}
	if c.Newest != nil {
		c.Newest.Follow(r.tail)
		defer c.Newest.Follow(nil)
	}
	err = r.wait(ctx)
	return r.result(), err
}

func (cs *commands) begin() error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.ended {
		return ErrClosed
	}
	cs.all.Add(1)
	return nil
}

// spawn runs f on a goroutine that Close waits for.
func (cs *commands) spawn(f func()) bool {
	if cs.begin() != nil {
		return false
	}
	go func() {
		defer cs.all.Done()
		f()
	}()
	return true
}

// enter notes that p runs. If KillAll came first, p is killed.
func (cs *commands) enter(p *process) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.running == nil {
		cs.running = make(map[*process]struct{})
	}
	cs.running[p] = struct{}{}
	if cs.ended {
		p.killed = true
		p.kill()
	}
}

// leave notes that p is about to be reaped: its number may then be another's. It
// reports whether p was killed by KillAll.
func (cs *commands) leave(p *process) (killed bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.running, p)
	return p.killed
}

// KillAll kills every command that still runs, with its descendants, at once, and
// lets no other start. It does not wait for their ends. It is for those who stop
// waiting; Close does it too.
func (h *Host) KillAll() {
	h.commands.mu.Lock()
	defer h.commands.mu.Unlock()
	h.commands.ended = true
	for p := range h.commands.running {
		p.killed = p.killed || !p.over()
		p.kill()
	}
}

// A run is one command from its start to its end.
type run struct {
	c     *engine.Command
	host  *Host
	out   *output
	proc  *process
	fence *enclosure // of a command that is Alone
	kept  bool       // it goes on (Start): its input stays open
	more  []*os.File // its descriptors from 3 on; of Start
	state *os.ProcessState

	in             *os.File // to write to
	stdout, stderr *os.File // to read from
	files          []*os.File
	copies         sync.WaitGroup
	panicked       chan any
}

// start starts the process and the goroutines that carry its input and output.
func (r *run) start(ctx context.Context, path string, argv []string, attr *os.ProcAttr) error {
	if err := r.pipes(attr); err != nil {
		return err
	}
	note := newNoted(r.c, attr.Files[1])
	place := r.host.ledger.add(note)
	own := len(attr.Files)
	attr.Files = append(attr.Files, r.more...)
	p, err := r.launch(ctx, r.host.clock, path, argv, attr)
	for _, f := range attr.Files[:own] {
		f.Close()
	}
	if err != nil {
		r.host.ledger.remove(place)
		return startError(r.c, path, err)
	}
	r.proc = newProcess(p, r.host.clock)
	r.proc.fence = r.fence
	r.proc.place = place
	self, _ := readProc(p.Pid)
	note.pid, note.start = p.Pid, self.start
	r.host.ledger.set(place, note)
	r.host.commands.enter(r.proc)
	r.panicked = make(chan any, 2)
	if r.c.Cost == "" {
		r.copy(r.stdout, &r.out.stdout)
		r.copy(r.stderr, &r.out.stderr)
	}
	if r.in != nil && !r.kept {
		r.copies.Go(func() {
			_, _ = r.in.Write(r.c.Stdin) // it need not read it
			r.in.Close()
		})
	}
	return nil
}

// launch starts the process, in an enclosure where the command leaves nothing behind. A kernel or a container may know
// control groups, and still refuse to start a process in one.
func (r *run) launch(ctx context.Context, clock clock.Clock, path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	start := startProcess
	if r.kept {
		unix.DieWithParent(attr.Sys)
		start = r.host.forks.start
	}
	if !r.c.Alone {
		return start(ctx, clock, path, argv, attr)
	}
	r.host.swept.Do(func() {
		for _, root := range r.host.groups {
			if own := ownGroup(root); own != "" {
				sweepGroups(own, clock.Now())
			}
		}
	})
	r.fence = enclose(r.host.groups, attr)
	p, err := start(ctx, clock, path, argv, attr)
	if r.fence.dir == nil || !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.EBUSY) {
		return p, err
	}
	r.fence.close(r.host.clock)
	unix.StartIn(attr.Sys, -1)
	r.fence = enclose(nil, attr)
	return start(ctx, clock, path, argv, attr)
}

func startProcess(ctx context.Context, c clock.Clock, path string, argv []string, attr *os.ProcAttr) (p *os.Process, err error) {
	for range busyTries {
		p, err = os.StartProcess(path, argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) {
			break
		}
		if err := clock.Sleep(ctx, c, busyWait); err != nil {
			return nil, err
		}
	}
	return p, err
}

// pipes makes the ends of the pipes: the child's into attr, ours into r.
func (r *run) pipes(attr *os.ProcAttr) (err error) {
	defer func() {
		if err != nil {
			for _, f := range attr.Files {
				f.Close()
			}
		}
	}()
	var in *os.File
	if len(r.c.Stdin) == 0 && !r.kept {
		in, err = os.Open(os.DevNull)
	} else if in, r.in, err = os.Pipe(); err == nil {
		r.files = append(r.files, r.in)
	}
	if err != nil {
		return err
	}
	attr.Files = append(attr.Files, in)
	open := os.Pipe
	if r.c.Cost != "" {
		open = memfile
	}
	for _, ours := range []**os.File{&r.stdout, &r.stderr} {
		read, write, err := open()
		if err != nil {
			return err
		}
		*ours = read
		r.files = append(r.files, read)
		attr.Files = append(attr.Files, write)
	}
	return nil
}

// carry is deferred on a goroutine of a command. It hands a panic of a callback to Command, which
// panics with it on the goroutine of its caller.
func (r *run) carry() {
	if v := recover(); v != nil {
		r.panicked <- v
	}
}

// copy starts to carry one stream. A panic of a callback is kept for Command.
func (r *run) copy(from *os.File, to *stream) {
	r.copies.Go(func() {
		defer r.carry()
		b, _ := r.host.commands.buffers.Get().(*[readSize]byte)
		if b == nil {
			b = new([readSize]byte)
		}
		defer r.host.commands.buffers.Put(b)
		to.copy(from, b[:], r.proc.exited)
		r.out.flush(to)
	})
}

// wait waits for the end of the process and of its output, and ends it when the
// context or the Host ends.
func (r *run) wait(ctx context.Context) error {
	panicked, err := r.exit(ctx)
	r.drain()
	r.reread()
	if killed := r.host.commands.leave(r.proc); killed && err == nil {
		err = ended(ctx)
	}
	r.host.ledger.remove(r.proc.place)
	state, werr := r.proc.Wait()
	r.state = state
	if panicked == nil && len(r.panicked) > 0 {
		panicked = <-r.panicked
	}
	if panicked != nil {
		panic(panicked)
	}
	if err == nil {
		err = werr
	}
	return err
}

// exit waits until the process has ended by itself or been ended.
func (r *run) exit(ctx context.Context) (panicked any, err error) {
	if r.c.Cost != "" {
		<-r.proc.exited // by itself, or by KillAll
		return nil, nil
	}
	select {
	case <-r.proc.exited:
	case <-ctx.Done():
		if !r.proc.over() {
			err = context.Cause(ctx)
			r.proc.end(unix.SignalNum(r.c.Signal), r.c.Grace, r.host.ctx.Done())
		}
	case <-r.host.ctx.Done():
		if !r.proc.over() {
			err = ended(ctx)
			r.proc.kill()
		}
	case panicked = <-r.panicked:
		r.proc.kill()
	}
	<-r.proc.exited
	if r.c.Alone {
		r.proc.kill()
	}
	return panicked, err
}

// ended says why a command was killed when the Host ended.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrClosed
}

// drain waits for the end of the output, but not long for other processes that
// hold it open.
func (r *run) drain() {
	soon := time.Now().Add(drainWait)
	r.stdout.SetReadDeadline(soon)
	r.stderr.SetReadDeadline(soon)
	if r.in != nil {
		r.in.Close()
	}
	r.copies.Wait()
}

func (r *run) close() {
	r.fence.close(r.host.clock)
	for _, f := range r.files {
		f.Close()
	}
}

func (r *run) result() *engine.Result {
	res := r.out.result()
	if ws, ok := r.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.ExitCode, res.Signal = -1, unix.SignalName(ws.Signal())
	} else {
		res.ExitCode = r.state.ExitCode()
	}
	return res
}
